/* KQUEUE: a queue of list entries that threads wait for. NT's completion port is built on it. */
#ifndef IRPVERBS_DISPATCH_QUEUE_H
#define IRPVERBS_DISPATCH_QUEUE_H

#include <dispatch/wait.h>

NT_EXTERN_C_BEGIN

typedef struct _KQUEUE {
    DISPATCHER_HEADER Header; /* SignalState: entries queued */
    LIST_ENTRY EntryListHead;
    ULONG CurrentCount; /* threads that removed an entry and have not returned for another */
    ULONG MaximumCount;
    LIST_ENTRY ThreadListHead;
} KQUEUE, *PKQUEUE, *PRKQUEUE;

/* Initializes an empty queue that lets Count threads work at a time (0: one a processor). IRQL:
   PASSIVE_LEVEL. Source: WDK KeInitializeQueue. */
NT_API void KeInitializeQueue(PRKQUEUE Queue, ULONG Count);

/* Insert an entry at the tail or the head and return the former number of entries. Ownership: the
   entry is the queue's until it is removed. IRQL: <= DISPATCH_LEVEL. Source: WDK KeInsertQueue,
   KeInsertHeadQueue. */
NT_API LONG KeInsertQueue(PRKQUEUE Queue, PLIST_ENTRY Entry);
NT_API LONG KeInsertHeadQueue(PRKQUEUE Queue, PLIST_ENTRY Entry);

/* Removes the oldest entry and waits for one when the queue is empty. Returns
   (PLIST_ENTRY)(LONG_PTR)STATUS_TIMEOUT when the time-out elapses,
   (PLIST_ENTRY)(LONG_PTR)STATUS_ABANDONED_WAIT_0 after KeRundownQueue. IRQL: <= APC_LEVEL; <=
   DISPATCH_LEVEL when the time-out is 0. Source: WDK KeRemoveQueue. */
NT_API PLIST_ENTRY KeRemoveQueue(PRKQUEUE Queue, KPROCESSOR_MODE WaitMode, PLARGE_INTEGER Timeout);

/* Removes up to Count entries and waits for the first when the queue is empty. Returns the number
   of entries removed: 0 after a time-out or a rundown. IRQL: <= APC_LEVEL; <= DISPATCH_LEVEL when
   the time-out is 0. Source: WDK KeRemoveQueueEx. */
NT_API ULONG KeRemoveQueueEx(PRKQUEUE Queue, KPROCESSOR_MODE WaitMode, BOOLEAN Alertable,
                             PLARGE_INTEGER Timeout, PLIST_ENTRY* EntryArray, ULONG Count);

/* Returns the number of queued entries. IRQL: <= DISPATCH_LEVEL. Source: WDK KeReadStateQueue. */
NT_API LONG KeReadStateQueue(PRKQUEUE Queue);

/* Ends all present and later waits. Returns the entries that are left as a ring without a head, or
   NULL when the queue is empty. The next call of KeRundownQueue returns the entries that are
   inserted later. The owner must call this before it frees the queue's memory, since the threads
   that served the queue refer to it. IRQL: <= DISPATCH_LEVEL. Source: WDK KeRundownQueue. */
NT_API PLIST_ENTRY KeRundownQueue(PRKQUEUE Queue);

NT_EXTERN_C_END

#endif
