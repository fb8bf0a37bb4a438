/* A WDM driver: a read waits for a write, which hands its text over; a control code counts the
   writes. docs/test-your-driver.md tests it, also with WITH_A_MISTAKE: then a read does not look
   whether it was cancelled before it waits. */
#include "pipe.h"

#include <string.h>

static WCHAR Path[] = u"\\Device\\Pipe";
static UNICODE_STRING Name = {sizeof Path - sizeof Path[0], sizeof Path, Path};

typedef struct {
    PIRP Reader; /* guarded by the cancel spin lock */
    LONG Count;
} PIPE;

static NTSTATUS Complete(PIRP Irp, NTSTATUS Status, ULONG_PTR Information) {
    Irp->IoStatus.Status = Status;
    Irp->IoStatus.Information = Information;
    IoCompleteRequest(Irp, IO_NO_INCREMENT);
    return Status;
}

static NTSTATUS Succeed(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    UNREFERENCED_PARAMETER(DeviceObject);
    return Complete(Irp, STATUS_SUCCESS, 0);
}

static void CancelRead(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    ((PIPE*)DeviceObject->DeviceExtension)->Reader = NULL;
    IoReleaseCancelSpinLock(Irp->CancelIrql);
    Complete(Irp, STATUS_CANCELLED, 0);
}

static NTSTATUS Read(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    PIPE* pipe = DeviceObject->DeviceExtension;
    NTSTATUS status;
    KIRQL irql;
    IoAcquireCancelSpinLock(&irql);
    status = pipe->Reader ? STATUS_DEVICE_BUSY : STATUS_PENDING;
#ifndef WITH_A_MISTAKE
    if (Irp->Cancel) status = STATUS_CANCELLED;
#endif
    if (status == STATUS_PENDING) {
        IoMarkIrpPending(Irp);
        IoSetCancelRoutine(Irp, CancelRead);
        pipe->Reader = Irp;
    }
    IoReleaseCancelSpinLock(irql);
    return status == STATUS_PENDING ? status : Complete(Irp, status, 0);
}

/* Removes the reader; NULL: none waits, or its cancel routine has it. */
static PIRP RemoveReader(PIPE* Pipe) {
    PIRP reader;
    KIRQL irql;
    IoAcquireCancelSpinLock(&irql);
    reader = Pipe->Reader;
    if (reader != NULL && IoSetCancelRoutine(reader, NULL) == NULL) reader = NULL;
    if (reader != NULL) Pipe->Reader = NULL;
    IoReleaseCancelSpinLock(irql);
    return reader;
}

static NTSTATUS Write(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    PIPE* pipe = DeviceObject->DeviceExtension;
    ULONG length = IoGetCurrentIrpStackLocation(Irp)->Parameters.Write.Length, room;
    PIRP reader = RemoveReader(pipe);
    if (reader == NULL) return Complete(Irp, STATUS_DEVICE_NOT_READY, 0);
    room = IoGetCurrentIrpStackLocation(reader)->Parameters.Read.Length;
    if (length > room) length = room;
    memcpy(reader->AssociatedIrp.SystemBuffer, Irp->AssociatedIrp.SystemBuffer, length);
    InterlockedIncrement(&pipe->Count);
    Complete(reader, STATUS_SUCCESS, length);
    return Complete(Irp, STATUS_SUCCESS, length);
}

static NTSTATUS Control(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    PIO_STACK_LOCATION stack = IoGetCurrentIrpStackLocation(Irp);
    if (stack->Parameters.DeviceIoControl.IoControlCode != IOCTL_COUNT ||
        stack->Parameters.DeviceIoControl.OutputBufferLength < sizeof(ULONG))
        return Complete(Irp, STATUS_INVALID_DEVICE_REQUEST, 0);
    *(ULONG*)Irp->AssociatedIrp.SystemBuffer = (ULONG)((PIPE*)DeviceObject->DeviceExtension)->Count;
    return Complete(Irp, STATUS_SUCCESS, sizeof(ULONG));
}

static void Unload(PDRIVER_OBJECT DriverObject) { IoDeleteDevice(DriverObject->DeviceObject); }

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath) {
    PDRIVER_DISPATCH* major = DriverObject->MajorFunction;
    PDEVICE_OBJECT device;
    NTSTATUS status =
        IoCreateDevice(DriverObject, sizeof(PIPE), &Name, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
    UNREFERENCED_PARAMETER(RegistryPath);
    if (!NT_SUCCESS(status)) return status;
    device->Flags |= DO_BUFFERED_IO;
    major[IRP_MJ_CREATE] = major[IRP_MJ_CLEANUP] = major[IRP_MJ_CLOSE] = Succeed;
    major[IRP_MJ_READ] = Read;
    major[IRP_MJ_WRITE] = Write;
    major[IRP_MJ_DEVICE_CONTROL] = Control;
    DriverObject->DriverUnload = Unload;
    return STATUS_SUCCESS;
}
