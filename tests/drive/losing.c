/* A driver whose write completes the read that waits; with LOSES_A_READ it leaves it waiting. */
#include <irp/wdm.h>

static WCHAR Path[] = u"\\Device\\Losing";
static UNICODE_STRING Name = {sizeof Path - sizeof Path[0], sizeof Path, Path};

static PIRP Waiting; /* guarded by the cancel spin lock */

static NTSTATUS Complete(PIRP Irp, NTSTATUS Status) {
    Irp->IoStatus.Status = Status;
    Irp->IoStatus.Information = 0;
    IoCompleteRequest(Irp, IO_NO_INCREMENT);
    return Status;
}

static NTSTATUS Succeed(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    UNREFERENCED_PARAMETER(DeviceObject);
    return Complete(Irp, STATUS_SUCCESS);
}

static void Cancel(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    UNREFERENCED_PARAMETER(DeviceObject);
    Waiting = NULL;
    IoReleaseCancelSpinLock(Irp->CancelIrql);
    Complete(Irp, STATUS_CANCELLED);
}

static NTSTATUS Read(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    KIRQL irql;
    BOOLEAN cancelled;
    UNREFERENCED_PARAMETER(DeviceObject);
    IoAcquireCancelSpinLock(&irql);
    cancelled = Irp->Cancel;
    if (!cancelled) {
        IoMarkIrpPending(Irp);
        IoSetCancelRoutine(Irp, Cancel);
        Waiting = Irp;
    }
    IoReleaseCancelSpinLock(irql);
    return cancelled ? Complete(Irp, STATUS_CANCELLED) : STATUS_PENDING;
}

static NTSTATUS Write(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    PIRP read;
    KIRQL irql;
    UNREFERENCED_PARAMETER(DeviceObject);
    IoAcquireCancelSpinLock(&irql);
    read = Waiting;
#ifndef LOSES_A_READ
    Waiting = NULL;
    if (read != NULL && IoSetCancelRoutine(read, NULL) == NULL) read = NULL;
#endif
    IoReleaseCancelSpinLock(irql);
    if (read == NULL) return Complete(Irp, STATUS_DEVICE_NOT_READY);
#ifndef LOSES_A_READ
    Complete(read, STATUS_SUCCESS);
#endif
    return Complete(Irp, STATUS_SUCCESS);
}

static void Unload(PDRIVER_OBJECT DriverObject) { IoDeleteDevice(DriverObject->DeviceObject); }

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath) {
    PDRIVER_DISPATCH* major = DriverObject->MajorFunction;
    PDEVICE_OBJECT device;
    UNREFERENCED_PARAMETER(RegistryPath);
    major[IRP_MJ_CREATE] = major[IRP_MJ_CLEANUP] = major[IRP_MJ_CLOSE] = Succeed;
    major[IRP_MJ_READ] = Read;
    major[IRP_MJ_WRITE] = Write;
    DriverObject->DriverUnload = Unload;
    return IoCreateDevice(DriverObject, 0, &Name, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
}
