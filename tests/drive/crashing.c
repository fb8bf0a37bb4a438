/* A driver that writes through a null pointer, if a write comes before a read. */
#include <irp/wdm.h>

static WCHAR Path[] = u"\\Device\\Pipe";
static UNICODE_STRING Name = {sizeof Path - sizeof Path[0], sizeof Path, Path};
static LONG* volatile LastRead;
static LONG Reads;

static NTSTATUS Serve(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    UNREFERENCED_PARAMETER(DeviceObject);
    switch (IoGetCurrentIrpStackLocation(Irp)->MajorFunction) {
    case IRP_MJ_READ:
        LastRead = &Reads;
        break;
    case IRP_MJ_WRITE:
        *LastRead = 1;
        break;
    }
    Irp->IoStatus.Status = STATUS_SUCCESS;
    Irp->IoStatus.Information = 0;
    IoCompleteRequest(Irp, IO_NO_INCREMENT);
    return STATUS_SUCCESS;
}

static void Unload(PDRIVER_OBJECT DriverObject) { IoDeleteDevice(DriverObject->DeviceObject); }

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath) {
    PDEVICE_OBJECT device;
    int i;
    UNREFERENCED_PARAMETER(RegistryPath);
    for (i = 0; i <= IRP_MJ_MAXIMUM_FUNCTION; ++i)
        DriverObject->MajorFunction[i] = Serve;
    DriverObject->DriverUnload = Unload;
    return IoCreateDevice(DriverObject, 0, &Name, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
}
