/* Work items: a thread of the machine's pool runs a routine once at PASSIVE_LEVEL. */
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
    LIST_ENTRY List; /* List.Flink is NULL: not queued */
    PWORKER_THREAD_ROUTINE WorkerRoutine;
    PVOID Parameter;
} WORK_QUEUE_ITEM, *PWORK_QUEUE_ITEM;

/* Initializes a work item. Ownership: the caller keeps the memory until WorkerRoutine has been
   entered. IRQL: <= DISPATCH_LEVEL. Source: WDK ExInitializeWorkItem. */
NT_API void ExInitializeWorkItem(PWORK_QUEUE_ITEM Item, PWORKER_THREAD_ROUTINE Routine,
                                 PVOID Context);

/* Queues the item. Critical items run before delayed ones. Bug check 0x96 for an item that is
   queued already. IRQL: <= DISPATCH_LEVEL. Source: WDK ExQueueWorkItem. */
NT_API void ExQueueWorkItem(PWORK_QUEUE_ITEM WorkItem, WORK_QUEUE_TYPE QueueType);

NT_EXTERN_C_END

#endif
