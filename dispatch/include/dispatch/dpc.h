/* Deferred procedure calls: a routine queued to a virtual processor, run there at DISPATCH_LEVEL.
 */
#ifndef IRPVERBS_DISPATCH_DPC_H
#define IRPVERBS_DISPATCH_DPC_H

#include <dispatch/irql.h>

NT_EXTERN_C_BEGIN

struct _KDPC;

/* Runs at DISPATCH_LEVEL (threaded: PASSIVE_LEVEL), once for each successful insertion. The KDPC
   may be inserted again, or freed, from inside. */
typedef void (*PKDEFERRED_ROUTINE)(struct _KDPC* Dpc, PVOID DeferredContext, PVOID SystemArgument1,
                                   PVOID SystemArgument2);

typedef enum _KDPC_IMPORTANCE {
    LowImportance,
    MediumImportance,
    HighImportance,
    MediumHighImportance
} KDPC_IMPORTANCE;

/* Opaque but for its size. */
typedef struct _KDPC {
    UCHAR Type;
    UCHAR Importance;
    SHORT Target; /* processor number + 1; 0: the processor that inserts */
    ULONG Reserved;
    LIST_ENTRY DpcListEntry;
    PKDEFERRED_ROUTINE DeferredRoutine;
    PVOID DeferredContext;
    PVOID SystemArgument1;
    PVOID SystemArgument2;
    PVOID DpcData; /* the queue it is in; NULL: not queued */
} KDPC, *PKDPC, *PRKDPC;

/* Prepares a DPC; Ownership: the caller keeps the memory, resident while it may be queued. IRQL:
   any. Source: WDK KeInitializeDpc. */
NT_API void KeInitializeDpc(PRKDPC Dpc, PKDEFERRED_ROUTINE DeferredRoutine, PVOID DeferredContext);

/* The same for a routine that runs at PASSIVE_LEVEL on the processor's own thread. IRQL: any.
   Source: WDK KeInitializeThreadedDpc. */
NT_API void KeInitializeThreadedDpc(PRKDPC Dpc, PKDEFERRED_ROUTINE DeferredRoutine,
                                    PVOID DeferredContext);

/* Queues the DPC to its target, or to the caller's processor: there it runs before this returns
   when the caller is below DISPATCH_LEVEL. FALSE: it was queued already, and the arguments are
   dropped. IRQL: any. Source: WDK KeInsertQueueDpc. */
NT_API BOOLEAN KeInsertQueueDpc(PRKDPC Dpc, PVOID SystemArgument1, PVOID SystemArgument2);

/* Takes the DPC out of its queue. FALSE: it was not queued (it may be running). IRQL: any.
   Source: WDK KeRemoveQueueDpc. */
NT_API BOOLEAN KeRemoveQueueDpc(PRKDPC Dpc);

/* Sends later insertions to processor Number, below KeQueryActiveProcessorCount. IRQL: any.
   Source: WDK KeSetTargetProcessorDpc. */
NT_API void KeSetTargetProcessorDpc(PRKDPC Dpc, CCHAR Number);

/* The same, and no bug check: STATUS_SUCCESS, or STATUS_INVALID_PARAMETER for a processor that does
   not stand ready. IRQL: any. Source: WDK KeSetTargetProcessorDpcEx. */
NT_API NTSTATUS KeSetTargetProcessorDpcEx(PKDPC Dpc, PPROCESSOR_NUMBER ProcNumber);

/* High: to the head of the queue. Low: left to a processor that stands ready. IRQL: any. Source:
   WDK KeSetImportanceDpc. */
NT_API void KeSetImportanceDpc(PRKDPC Dpc, KDPC_IMPORTANCE Importance);

/* Waits until every DPC queued before the call, on any processor of the machine, has returned.
   IRQL: PASSIVE_LEVEL. Source: WDK KeFlushQueuedDpcs. */
NT_API void KeFlushQueuedDpcs(void);

NT_EXTERN_C_END

#endif
