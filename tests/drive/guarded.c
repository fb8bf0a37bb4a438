/* A clock that administrators may set, and services: a read returns the seconds since it was set by
   a write. */
#include <irp/wdm.h>

static WCHAR Path[] = u"\\Device\\Guarded";
static UNICODE_STRING Name = {sizeof Path - sizeof Path[0], sizeof Path, Path};
static WCHAR Descriptor[] = u"D:P(A;;GA;;;BA)(A;;GRGW;;;LS)(A;;GR;;;WD)";
static UNICODE_STRING Security = {sizeof Descriptor - sizeof Descriptor[0], sizeof Descriptor,
                                  Descriptor};

typedef struct {
    LONG Seconds;
} CLOCK;

static CLOCK* ExtensionOf(PDEVICE_OBJECT DeviceObject) { return DeviceObject->DeviceExtension; }

static NTSTATUS Complete(PIRP Irp, NTSTATUS Status, ULONG Information) {
    Irp->IoStatus.Status = Status;
    Irp->IoStatus.Information = Information;
    IoCompleteRequest(Irp, IO_NO_INCREMENT);
    return Status;
}

static NTSTATUS Succeed(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    UNREFERENCED_PARAMETER(DeviceObject);
    return Complete(Irp, STATUS_SUCCESS, 0);
}

static NTSTATUS Read(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    LONG seconds = InterlockedCompareExchange(&ExtensionOf(DeviceObject)->Seconds, 0, 0);
    if (IoGetCurrentIrpStackLocation(Irp)->Parameters.Read.Length < 1)
        return Complete(Irp, STATUS_BUFFER_TOO_SMALL, 0);
    *(CHAR*)Irp->AssociatedIrp.SystemBuffer = (CHAR)('0' + seconds);
    return Complete(Irp, seconds == 0 ? STATUS_DEVICE_NOT_READY : STATUS_SUCCESS,
                    seconds == 0 ? 0 : 1);
}

static NTSTATUS Write(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    InterlockedExchange(&ExtensionOf(DeviceObject)->Seconds, 0);
    IoStartTimer(DeviceObject);
    return Complete(Irp, STATUS_SUCCESS,
                    IoGetCurrentIrpStackLocation(Irp)->Parameters.Write.Length);
}

static void Tick(PDEVICE_OBJECT DeviceObject, PVOID Context) {
    UNREFERENCED_PARAMETER(Context);
    InterlockedIncrement(&ExtensionOf(DeviceObject)->Seconds);
}

static void Unload(PDRIVER_OBJECT DriverObject) { IoDeleteDevice(DriverObject->DeviceObject); }

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath);
NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath) {
    PDEVICE_OBJECT device;
    NTSTATUS status;
    UNREFERENCED_PARAMETER(RegistryPath);
    DriverObject->MajorFunction[IRP_MJ_CREATE] = Succeed;
    DriverObject->MajorFunction[IRP_MJ_CLEANUP] = Succeed;
    DriverObject->MajorFunction[IRP_MJ_CLOSE] = Succeed;
    DriverObject->MajorFunction[IRP_MJ_READ] = Read;
    DriverObject->MajorFunction[IRP_MJ_WRITE] = Write;
    DriverObject->DriverUnload = Unload;
    status = IoCreateDeviceSecure(DriverObject, sizeof(CLOCK), &Name, FILE_DEVICE_UNKNOWN,
                                  FILE_DEVICE_SECURE_OPEN, FALSE, &Security, NULL, &device);
    if (!NT_SUCCESS(status)) return status;
    device->Flags |= DO_BUFFERED_IO;
    status = IoInitializeTimer(device, Tick, NULL);
    if (!NT_SUCCESS(status)) IoDeleteDevice(device);
    return status;
}
