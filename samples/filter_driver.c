/* A filter driver: it passes every request down, and counts the completions. */
#include <irp/wdm.h>

#include <stdio.h>

typedef struct {
    PDEVICE_OBJECT Lower;
    LONG Succeeded;
    LONG Failed;
} FILTER_EXTENSION;

/* The lower device completes a request with twice its number, and refuses zero. */
static NTSTATUS BottomDispatch(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    ULONG number = IoGetCurrentIrpStackLocation(Irp)->Parameters.DeviceIoControl.IoControlCode;
    NTSTATUS status = number != 0 ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
    UNREFERENCED_PARAMETER(DeviceObject);
    Irp->IoStatus.Status = status;
    Irp->IoStatus.Information = 2 * (ULONG_PTR)number;
    IoCompleteRequest(Irp, IO_NO_INCREMENT);
    return status;
}

static NTSTATUS FilterCompletion(PDEVICE_OBJECT DeviceObject, PIRP Irp, PVOID Context) {
    FILTER_EXTENSION* extension = Context;
    UNREFERENCED_PARAMETER(DeviceObject);
    if (Irp->PendingReturned) IoMarkIrpPending(Irp);
    InterlockedIncrement(NT_SUCCESS(Irp->IoStatus.Status) ? &extension->Succeeded
                                                          : &extension->Failed);
    return STATUS_CONTINUE_COMPLETION;
}

static NTSTATUS FilterDispatch(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    FILTER_EXTENSION* extension = DeviceObject->DeviceExtension;
    IoCopyCurrentIrpStackLocationToNext(Irp);
    IoSetCompletionRoutine(Irp, FilterCompletion, extension, TRUE, TRUE, TRUE);
    return IoCallDriver(extension->Lower, Irp);
}

/* The caller allocated the request, so it stops the completion here. */
static NTSTATUS Done(PDEVICE_OBJECT DeviceObject, PIRP Irp, PVOID Context) {
    UNREFERENCED_PARAMETER(DeviceObject);
    UNREFERENCED_PARAMETER(Irp);
    KeSetEvent((PKEVENT)Context, IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

static NTSTATUS Ask(PDEVICE_OBJECT Device, ULONG Number, ULONG_PTR* Result) {
    KEVENT done;
    NTSTATUS status;
    PIRP irp = IoAllocateIrp(Device->StackSize, FALSE);
    if (irp == NULL) return STATUS_INSUFFICIENT_RESOURCES;
    KeInitializeEvent(&done, NotificationEvent, FALSE);
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    IoGetNextIrpStackLocation(irp)->Parameters.DeviceIoControl.IoControlCode = Number;
    IoSetCompletionRoutine(irp, Done, &done, TRUE, TRUE, TRUE);
    IoCallDriver(Device, irp);
    KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, NULL);
    status = irp->IoStatus.Status;
    *Result = irp->IoStatus.Information;
    IoFreeIrp(irp);
    return status;
}

int main(void) {
    static DRIVER_OBJECT bottomDriver;
    static DRIVER_OBJECT filterDriver;
    PDEVICE_OBJECT bottom;
    PDEVICE_OBJECT filter;
    FILTER_EXTENSION* extension;
    ULONG_PTR result = 0;
    int good;

    bottomDriver.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = BottomDispatch;
    filterDriver.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = FilterDispatch;
    if (!NT_SUCCESS(IoCreateDevice(&bottomDriver, 0, NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &bottom)))
        return 1;
    if (!NT_SUCCESS(IoCreateDevice(&filterDriver, sizeof(FILTER_EXTENSION), NULL,
                                   FILE_DEVICE_UNKNOWN, 0, FALSE, &filter)))
        return 1;
    extension = filter->DeviceExtension;
    extension->Lower = IoAttachDeviceToDeviceStack(filter, bottom);

    good = Ask(filter, 21, &result) == STATUS_SUCCESS && result == 42;
    printf("twice 21 is %lu\n", (unsigned long)result);
    good = good && Ask(filter, 0, &result) == STATUS_INVALID_PARAMETER;
    printf("the filter saw %d succeed and %d fail\n", (int)extension->Succeeded,
           (int)extension->Failed);
    good = good && extension->Succeeded == 1 && extension->Failed == 1;

    IoDetachDevice(bottom);
    IoDeleteDevice(filter);
    IoDeleteDevice(bottom);
    return good ? 0 : 1;
}
