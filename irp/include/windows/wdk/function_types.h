/* Function types by which drivers declare their routines: DRIVER_DISPATCH MyDispatch; The pointer
   types of the same routines are those of the library's own headers. */
#ifndef IRPVERBS_WINDOWS_FUNCTION_TYPES_H
#define IRPVERBS_WINDOWS_FUNCTION_TYPES_H

#include <irp/wdm.h>
#include <windows/wdk/types.h>

typedef NTSTATUS DRIVER_INITIALIZE(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath);
typedef void DRIVER_REINITIALIZE(PDRIVER_OBJECT DriverObject, PVOID Context, ULONG Count);
typedef DRIVER_REINITIALIZE* PDRIVER_REINITIALIZE;
typedef void DRIVER_UNLOAD(PDRIVER_OBJECT DriverObject);
typedef NTSTATUS DRIVER_ADD_DEVICE(PDRIVER_OBJECT DriverObject,
                                   PDEVICE_OBJECT PhysicalDeviceObject);
typedef NTSTATUS DRIVER_DISPATCH(PDEVICE_OBJECT DeviceObject, PIRP Irp);
typedef DRIVER_DISPATCH DRIVER_DISPATCH_RAISED, DRIVER_DISPATCH_PAGED;
typedef void DRIVER_STARTIO(PDEVICE_OBJECT DeviceObject, PIRP Irp);
typedef void DRIVER_CANCEL(PDEVICE_OBJECT DeviceObject, PIRP Irp);
typedef NTSTATUS IO_COMPLETION_ROUTINE(PDEVICE_OBJECT DeviceObject, PIRP Irp, PVOID Context);
typedef void IO_DPC_ROUTINE(PKDPC Dpc, PDEVICE_OBJECT DeviceObject, PIRP Irp, PVOID Context);
typedef IO_DPC_ROUTINE* PIO_DPC_ROUTINE;
typedef void IO_WORKITEM_ROUTINE(PDEVICE_OBJECT DeviceObject, PVOID Context);
typedef void IO_WORKITEM_ROUTINE_EX(PVOID IoObject, PVOID Context, PIO_WORKITEM IoWorkItem);
typedef void KDEFERRED_ROUTINE(PKDPC Dpc, PVOID DeferredContext, PVOID SystemArgument1,
                               PVOID SystemArgument2);
typedef void KSTART_ROUTINE(PVOID StartContext);
typedef void WORKER_THREAD_ROUTINE(PVOID Parameter);
typedef PVOID ALLOCATE_FUNCTION(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag);
typedef ALLOCATE_FUNCTION* PALLOCATE_FUNCTION;
typedef void FREE_FUNCTION(PVOID Buffer);
typedef FREE_FUNCTION* PFREE_FUNCTION;

typedef void IO_CSQ_INSERT_IRP(struct _IO_CSQ* Csq, PIRP Irp);
typedef NTSTATUS IO_CSQ_INSERT_IRP_EX(struct _IO_CSQ* Csq, PIRP Irp, PVOID InsertContext);
typedef void IO_CSQ_REMOVE_IRP(struct _IO_CSQ* Csq, PIRP Irp);
typedef PIRP IO_CSQ_PEEK_NEXT_IRP(struct _IO_CSQ* Csq, PIRP Irp, PVOID PeekContext);
typedef void IO_CSQ_ACQUIRE_LOCK(struct _IO_CSQ* Csq, PKIRQL Irql);
typedef void IO_CSQ_RELEASE_LOCK(struct _IO_CSQ* Csq, KIRQL Irql);
typedef void IO_CSQ_COMPLETE_CANCELED_IRP(struct _IO_CSQ* Csq, PIRP Irp);

typedef enum _IO_ALLOCATION_ACTION {
    KeepObject = 1,
    DeallocateObject,
    DeallocateObjectKeepRegisters
} IO_ALLOCATION_ACTION,
    *PIO_ALLOCATION_ACTION;
typedef IO_ALLOCATION_ACTION DRIVER_CONTROL(PDEVICE_OBJECT DeviceObject, PIRP Irp,
                                            PVOID MapRegisterBase, PVOID Context);
typedef DRIVER_CONTROL* PDRIVER_CONTROL;

#endif
