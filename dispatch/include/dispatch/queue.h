/* KQUEUE: a queue of list entries that threads wait on; NT's completion port is built on it. */
#ifndef IRPVERBS_DISPATCH_QUEUE_H
#define IRPVERBS_DISPATCH_QUEUE_H

#include <dispatch/wait.h>

NT_EXTERN_C_BEGIN

typedef struct _KQUEUE {
    DISPATCHER_HEADER Header; /* SignalState: entries queued */
    LIST_ENTRY EntryListHead;
    ULONG CurrentCount; /* threads that took an entry and have not come back */
    ULONG MaximumCount;
    LIST_ENTRY ThreadListHead;
} KQUEUE, *PKQUEUE, *PRKQUEUE;

/* Prepares an empty queue that lets Count threads (0: one a processor) work at a time.
   IRQL: PASSIVE_LEVEL. Source: WDK KeInitializeQueue. */
NT_API void KeInitializeQueue(PRKQUEUE Queue, ULONG Count);

/* Adds at the tail (head) and gives back the old number of entries. Ownership: the entry is the
   queue's until removed. IRQL: <= DISPATCH_LEVEL. Source: WDK KeInsertQueue, KeInsertHeadQueue. */
NT_API LONG KeInsertQueue(PRKQUEUE Queue, PLIST_ENTRY Entry);
NT_API LONG KeInsertHeadQueue(PRKQUEUE Queue, PLIST_ENTRY Entry);

/* Takes the oldest entry, waiting for one; (PLIST_ENTRY)(LONG_PTR)STATUS_TIMEOUT when none came,
   STATUS_ABANDONED_WAIT_0 likewise after KeRundownQueue. IRQL: <= APC_LEVEL; <= DISPATCH_LEVEL when
   *Timeout is 0. Source: WDK KeRemoveQueue. */
NT_API PLIST_ENTRY KeRemoveQueue(PRKQUEUE Queue, KPROCESSOR_MODE WaitMode, PLARGE_INTEGER Timeout);

/* Takes up to Count entries, waiting for the first; gives back how many, 0 on time-out or rundown.
   IRQL as KeRemoveQueue. Source: WDK KeRemoveQueueEx. */
NT_API ULONG KeRemoveQueueEx(PRKQUEUE Queue, KPROCESSOR_MODE WaitMode, BOOLEAN Alertable,
                             PLARGE_INTEGER Timeout, PLIST_ENTRY* EntryArray, ULONG Count);

/* Number of entries queued. IRQL: <= DISPATCH_LEVEL. Source: WDK KeReadStateQueue. */
NT_API LONG KeReadStateQueue(PRKQUEUE Queue);

/* Ends all waits, for good, and gives back what is left as a ring without a head, NULL when empty.
   Needed before the queue's memory is freed: threads that served it refer to it. What is inserted
   later is for the next call. IRQL: <= DISPATCH_LEVEL.
   Source: WDK KeRundownQueue. */
NT_API PLIST_ENTRY KeRundownQueue(PRKQUEUE Queue);

NT_EXTERN_C_END

#endif
