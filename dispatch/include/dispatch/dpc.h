/* Deferred procedure calls: a routine is queued to a virtual processor and runs there at
   DISPATCH_LEVEL. */
#ifndef IRPVERBS_DISPATCH_DPC_H
#define IRPVERBS_DISPATCH_DPC_H

#include <dispatch/irql.h>

NT_EXTERN_C_BEGIN

struct _KDPC;

/* Runs at DISPATCH_LEVEL (a threaded DPC: at PASSIVE_LEVEL), once for each successful insertion.
   The routine may insert the KDPC again, or free it. */
typedef void (*PKDEFERRED_ROUTINE)(struct _KDPC* Dpc, PVOID DeferredContext, PVOID SystemArgument1,
                                   PVOID SystemArgument2);

typedef enum _KDPC_IMPORTANCE {
    LowImportance,
    MediumImportance,
    HighImportance,
    MediumHighImportance
} KDPC_IMPORTANCE;

/* The fields are the library's; only the size is public. */
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
    PVOID DpcData; /* the queue that holds it; NULL: not queued */
} KDPC, *PKDPC, *PRKDPC;

/* Initializes a DPC. Ownership: the caller keeps the memory and must not free it while the DPC may
   be queued. IRQL: any. Source: WDK KeInitializeDpc. */
NT_API void KeInitializeDpc(PRKDPC Dpc, PKDEFERRED_ROUTINE DeferredRoutine, PVOID DeferredContext);

/* Initializes a DPC whose routine runs at PASSIVE_LEVEL on the processor's own thread. IRQL: any.
   Source: WDK KeInitializeThreadedDpc. */
NT_API void KeInitializeThreadedDpc(PRKDPC Dpc, PKDEFERRED_ROUTINE DeferredRoutine,
                                    PVOID DeferredContext);

/* Queues the DPC to its target processor, or to the caller's processor when it has no target. On
   the caller's processor the DPC runs before this call returns if the caller is below
   DISPATCH_LEVEL. FALSE: the DPC was queued already, and the arguments are dropped. IRQL: any.
   Source: WDK KeInsertQueueDpc. */
NT_API BOOLEAN KeInsertQueueDpc(PRKDPC Dpc, PVOID SystemArgument1, PVOID SystemArgument2);

/* Removes the DPC from its queue. FALSE: the DPC was not queued (it may be running). IRQL: any.
   Source: WDK KeRemoveQueueDpc. */
NT_API BOOLEAN KeRemoveQueueDpc(PRKDPC Dpc);

/* Directs later insertions to processor Number, which is below KeQueryActiveProcessorCount. IRQL:
   any. Source: WDK KeSetTargetProcessorDpc. */
NT_API void KeSetTargetProcessorDpc(PRKDPC Dpc, CCHAR Number);

/* Sets the target processor as KeSetTargetProcessorDpc does, but without a bug check:
   STATUS_SUCCESS, or STATUS_INVALID_PARAMETER for a processor that is not active. IRQL: any.
   Source: WDK KeSetTargetProcessorDpcEx. */
NT_API NTSTATUS KeSetTargetProcessorDpcEx(PKDPC Dpc, PPROCESSOR_NUMBER ProcNumber);

/* Sets the importance. HighImportance inserts the DPC at the head of the queue; LowImportance
   leaves it to an active processor. IRQL: any. Source: WDK KeSetImportanceDpc. */
NT_API void KeSetImportanceDpc(PRKDPC Dpc, KDPC_IMPORTANCE Importance);

/* Waits until every DPC queued before the call, on any processor of the machine, has returned.
   IRQL: PASSIVE_LEVEL. Source: WDK KeFlushQueuedDpcs. */
NT_API void KeFlushQueuedDpcs(void);

NT_EXTERN_C_END

#endif
