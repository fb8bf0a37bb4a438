/* A Plug and Play driver: a read holds the remove lock, and fails while the device is not started.
   With SUCCEEDS_ALWAYS it also sets the status of requests that it does not know. */
#include <irp/wdm.h>

static WCHAR Path[] = u"\\Device\\Plugged";
static UNICODE_STRING Name = {sizeof Path - sizeof Path[0], sizeof Path, Path};

typedef struct {
    PDEVICE_OBJECT Lower;
    IO_REMOVE_LOCK Removal;
    LONG Started;
} PLUGGED;

static PLUGGED* ExtensionOf(PDEVICE_OBJECT DeviceObject) { return DeviceObject->DeviceExtension; }

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

static NTSTATUS Read(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    PLUGGED* plugged = ExtensionOf(DeviceObject);
    NTSTATUS status = IoAcquireRemoveLock(&plugged->Removal, Irp);
    if (!NT_SUCCESS(status)) return Complete(Irp, status);
    if (InterlockedCompareExchange(&plugged->Started, 0, 0) == 0) status = STATUS_DEVICE_NOT_READY;
    Complete(Irp, status);
    IoReleaseRemoveLock(&plugged->Removal, Irp);
    return status;
}

static int IsKnown(UCHAR Minor) {
#ifdef SUCCEEDS_ALWAYS
    UNREFERENCED_PARAMETER(Minor);
    return 1;
#else
    return Minor <= IRP_MN_CANCEL_STOP_DEVICE || Minor == IRP_MN_SURPRISE_REMOVAL;
#endif
}

static NTSTATUS Plug(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    PLUGGED* plugged = ExtensionOf(DeviceObject);
    UCHAR minor = IoGetCurrentIrpStackLocation(Irp)->MinorFunction;
    NTSTATUS status = IoAcquireRemoveLock(&plugged->Removal, Irp);
    if (!NT_SUCCESS(status)) return Complete(Irp, status);
    if (IsKnown(minor)) {
        InterlockedExchange(&plugged->Started, minor == IRP_MN_START_DEVICE);
        Irp->IoStatus.Status = STATUS_SUCCESS;
    }
    IoSkipCurrentIrpStackLocation(Irp);
    status = IoCallDriver(plugged->Lower, Irp);
    if (minor != IRP_MN_REMOVE_DEVICE) {
        IoReleaseRemoveLock(&plugged->Removal, Irp);
        return status;
    }
    IoReleaseRemoveLockAndWait(&plugged->Removal, Irp);
    IoDetachDevice(plugged->Lower);
    IoDeleteDevice(DeviceObject);
    return status;
}

static NTSTATUS AddDevice(PDRIVER_OBJECT DriverObject, PDEVICE_OBJECT PhysicalDevice) {
    PDEVICE_OBJECT device;
    NTSTATUS status = IoCreateDevice(DriverObject, sizeof(PLUGGED), &Name, FILE_DEVICE_UNKNOWN, 0,
                                     FALSE, &device);
    if (!NT_SUCCESS(status)) return status;
    IoInitializeRemoveLock(&ExtensionOf(device)->Removal, 0, 0, 0);
    ExtensionOf(device)->Lower = IoAttachDeviceToDeviceStack(device, PhysicalDevice);
    device->Flags &= ~(ULONG)DO_DEVICE_INITIALIZING;
    return STATUS_SUCCESS;
}

static void Unload(PDRIVER_OBJECT DriverObject) { UNREFERENCED_PARAMETER(DriverObject); }

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath) {
    PDRIVER_DISPATCH* major = DriverObject->MajorFunction;
    UNREFERENCED_PARAMETER(RegistryPath);
    major[IRP_MJ_CREATE] = major[IRP_MJ_CLEANUP] = major[IRP_MJ_CLOSE] = Succeed;
    major[IRP_MJ_READ] = Read;
    major[IRP_MJ_PNP] = Plug;
    DriverObject->DriverExtension->AddDevice = AddDevice;
    DriverObject->DriverUnload = Unload;
    return STATUS_SUCCESS;
}
