/* Work items of a device: a routine runs once at PASSIVE_LEVEL, and the device is referenced until
   it returns. */
#ifndef IRPVERBS_IRP_WORK_ITEM_H
#define IRPVERBS_IRP_WORK_ITEM_H

#include <irp/device.h>

NT_EXTERN_C_BEGIN

struct _IO_WORKITEM; /* opaque */
typedef struct _IO_WORKITEM IO_WORKITEM, *PIO_WORKITEM;

/* The device is referenced until the routine has returned. The routine may queue the item again, or
   free it. */
typedef void (*PIO_WORKITEM_ROUTINE)(PDEVICE_OBJECT DeviceObject, PVOID Context);
typedef void (*PIO_WORKITEM_ROUTINE_EX)(PVOID IoObject, PVOID Context, PIO_WORKITEM IoWorkItem);

/* Allocates a work item; NULL without memory. Ownership: the caller's; IoFreeWorkItem. IRQL: <=
   DISPATCH_LEVEL. Source: WDK IoAllocateWorkItem. */
NT_API PIO_WORKITEM IoAllocateWorkItem(PDEVICE_OBJECT DeviceObject);

/* Frees an item of IoAllocateWorkItem. Bug check 0xC4 while it is queued. IRQL: <= DISPATCH_LEVEL.
   Source: WDK IoFreeWorkItem. */
NT_API void IoFreeWorkItem(PIO_WORKITEM IoWorkItem);

/* Queues the item. Bug check 0x96 when it is already queued. IRQL: <= DISPATCH_LEVEL. Source: WDK
   IoQueueWorkItem, IoQueueWorkItemEx. */
NT_API void IoQueueWorkItem(PIO_WORKITEM IoWorkItem, PIO_WORKITEM_ROUTINE WorkerRoutine,
                            WORK_QUEUE_TYPE QueueType, PVOID Context);
NT_API void IoQueueWorkItemEx(PIO_WORKITEM IoWorkItem, PIO_WORKITEM_ROUTINE_EX WorkerRoutine,
                              WORK_QUEUE_TYPE QueueType, PVOID Context);

/* Size in bytes of a work item that the caller allocates. IRQL: any. Source: WDK
   IoSizeofWorkItem. */
NT_API ULONG IoSizeofWorkItem(void);

/* Initialise memory of the caller as a work item, and end its use. IoObject is the device or driver
   that is referenced and passed to the routine; bug check 0x18 for any other object, 0xC4 while the
   item is queued. IRQL: <= DISPATCH_LEVEL. Source: WDK IoInitializeWorkItem,
   IoUninitializeWorkItem. */
NT_API void IoInitializeWorkItem(PVOID IoObject, PIO_WORKITEM IoWorkItem);
NT_API void IoUninitializeWorkItem(PIO_WORKITEM IoWorkItem);

NT_EXTERN_C_END

#endif
