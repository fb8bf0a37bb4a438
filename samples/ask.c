/* The C sample of README.md, which quotes its beginning, as a program: the caller receives its
   result from a driver that completes at once, and from one that pends. */
#include <irp/wdm.h>

static NTSTATUS Complete(PDEVICE_OBJECT Device, PIRP Irp) { /* a driver: one dispatch routine */
    UNREFERENCED_PARAMETER(Device);
    Irp->IoStatus.Status = STATUS_SUCCESS;
    Irp->IoStatus.Information = 42;
    IoCompleteRequest(Irp, IO_NO_INCREMENT);
    return STATUS_SUCCESS;
}
static NTSTATUS Done(PDEVICE_OBJECT Device, PIRP Irp, PVOID Event) {
    UNREFERENCED_PARAMETER(Device);
    UNREFERENCED_PARAMETER(Irp);
    KeSetEvent((PKEVENT)Event, IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED; /* the IRP is the caller's again */
}
NTSTATUS Ask(PDEVICE_OBJECT Device, ULONG_PTR* Result) { /* a caller, at PASSIVE_LEVEL */
    KEVENT done;
    NTSTATUS status;
    PIRP irp = IoAllocateIrp(Device->StackSize, FALSE);
    if (irp == NULL) return STATUS_INSUFFICIENT_RESOURCES;
    KeInitializeEvent(&done, NotificationEvent, FALSE);
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    IoSetCompletionRoutine(irp, Done, &done, TRUE, TRUE, TRUE);
    IoCallDriver(Device, irp); /* completes before it returns, or later: STATUS_PENDING */
    KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, NULL);
    status = irp->IoStatus.Status;
    *Result = irp->IoStatus.Information;
    IoFreeIrp(irp);
    return status;
}

static KDPC laterDpc;

static void CompleteLater(PKDPC Dpc, PVOID Context, PVOID Irp, PVOID Unused) {
    UNREFERENCED_PARAMETER(Dpc);
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Unused);
    Complete(NULL, (PIRP)Irp);
}
static NTSTATUS DispatchPending(PDEVICE_OBJECT Device, PIRP Irp) {
    UNREFERENCED_PARAMETER(Device);
    IoMarkIrpPending(Irp);
    KeInsertQueueDpc(&laterDpc, Irp, NULL);
    return STATUS_PENDING;
}

static int ResultArrives(PDRIVER_DISPATCH Dispatch) {
    DRIVER_OBJECT driver = {0};
    PDEVICE_OBJECT device;
    ULONG_PTR result = 0;
    NTSTATUS status;
    driver.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = Dispatch;
    if (!NT_SUCCESS(IoCreateDevice(&driver, 0, NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &device)))
        return 0;
    device->Flags &= ~(ULONG)DO_DEVICE_INITIALIZING;
    status = Ask(device, &result);
    IoDeleteDevice(device);
    return status == STATUS_SUCCESS && result == 42;
}

int main(void) {
    KeInitializeDpc(&laterDpc, CompleteLater, NULL);
    return ResultArrives(Complete) && ResultArrives(DispatchPending) ? 0 : 1;
}
