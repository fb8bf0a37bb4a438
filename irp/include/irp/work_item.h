/* Work items of a device: a routine run once at PASSIVE_LEVEL, while which the device stays. */
#ifndef IRPVERBS_IRP_WORK_ITEM_H
#define IRPVERBS_IRP_WORK_ITEM_H

#include <irp/device.h>

NT_EXTERN_C_BEGIN

struct _IO_WORKITEM; /* opaque */
typedef struct _IO_WORKITEM IO_WORKITEM, *PIO_WORKITEM;

/* The device is referenced until the routine has returned. The item may be queued again, or freed,
   from inside. */
typedef void (*PIO_WORKITEM_ROUTINE)(PDEVICE_OBJECT DeviceObject, PVOID Context);
typedef void (*PIO_WORKITEM_ROUTINE_EX)(PVOID IoObject, PVOID Context, PIO_WORKITEM IoWorkItem);

/* A work item, or NULL. Ownership: the caller's; IoFreeWorkItem. IRQL: <= DISPATCH_LEVEL.
   Source: WDK IoAllocateWorkItem. */
NT_API PIO_WORKITEM IoAllocateWorkItem(PDEVICE_OBJECT DeviceObject);

/* Frees an item of IoAllocateWorkItem. Bug check 0xC4 while it is queued. IRQL: <= DISPATCH_LEVEL.
   Source: WDK IoFreeWorkItem. */
NT_API void IoFreeWorkItem(PIO_WORKITEM IoWorkItem);

/* Queues the item. Bug check 0x96 when it is queued already. IRQL: <= DISPATCH_LEVEL. Source: WDK
   IoQueueWorkItem, IoQueueWorkItemEx. */
NT_API void IoQueueWorkItem(PIO_WORKITEM IoWorkItem, PIO_WORKITEM_ROUTINE WorkerRoutine,
                            WORK_QUEUE_TYPE QueueType, PVOID Context);
NT_API void IoQueueWorkItemEx(PIO_WORKITEM IoWorkItem, PIO_WORKITEM_ROUTINE_EX WorkerRoutine,
                              WORK_QUEUE_TYPE QueueType, PVOID Context);

/* Bytes of a work item, for memory of the caller's own. IRQL: any. Source: WDK IoSizeofWorkItem. */
NT_API ULONG IoSizeofWorkItem(void);

/* Prepares such memory, and ends its use: bug check 0xC4 while the item is queued. IoObject is the
   device or driver that is referenced and passed to the routine; bug check 0x18 for anything else.
   IRQL: <= DISPATCH_LEVEL. Source: WDK IoInitializeWorkItem, IoUninitializeWorkItem. */
NT_API void IoInitializeWorkItem(PVOID IoObject, PIO_WORKITEM IoWorkItem);
NT_API void IoUninitializeWorkItem(PIO_WORKITEM IoWorkItem);

NT_EXTERN_C_END

#endif
