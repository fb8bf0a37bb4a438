/* Work items: a routine run once at PASSIVE_LEVEL by a thread of the machine's pool. */
#ifndef IRPVERBS_DISPATCH_WORK_ITEM_H
#define IRPVERBS_DISPATCH_WORK_ITEM_H

#include <dispatch/irql.h>

NT_EXTERN_C_BEGIN

typedef void (*PWORKER_THREAD_ROUTINE)(PVOID Parameter);
typedef enum _WORK_QUEUE_TYPE {
    CriticalWorkQueue,
    DelayedWorkQueue,
    HyperCriticalWorkQueue,
    NormalWorkQueue
} WORK_QUEUE_TYPE;

typedef struct _WORK_QUEUE_ITEM {
    LIST_ENTRY List; /* List.Flink NULL: not queued */
    PWORKER_THREAD_ROUTINE WorkerRoutine;
    PVOID Parameter;
} WORK_QUEUE_ITEM, *PWORK_QUEUE_ITEM;

/* Prepares an item. Ownership: the caller keeps the memory until WorkerRoutine has been entered.
   IRQL: <= DISPATCH_LEVEL. Source: WDK ExInitializeWorkItem. */
NT_API void ExInitializeWorkItem(PWORK_QUEUE_ITEM Item, PWORKER_THREAD_ROUTINE Routine,
                                 PVOID Context);

/* Queues the item; critical ones overtake delayed ones. An item that is queued already: bug check
   0x96. IRQL: <= DISPATCH_LEVEL. Source: WDK ExQueueWorkItem. */
NT_API void ExQueueWorkItem(PWORK_QUEUE_ITEM WorkItem, WORK_QUEUE_TYPE QueueType);

NT_EXTERN_C_END

#endif
