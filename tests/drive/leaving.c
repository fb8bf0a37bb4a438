/* A driver with a thread and a symbolic link. With LEAVES_A_THREAD it is unloaded when the thread
   is about to end, not when it has ended; with LEAVES_A_LINK its link stays; with LEAVES_BYTES it
   returns more bytes of a read than it sets; with CALLS_NOTHING its read calls a function that is
   not defined. */
#include <irp/file.h>
#include <irp/wdm.h>

static WCHAR Path[] = u"\\Device\\Leaving", LinkPath[] = u"\\DosDevices\\Leaving";
static UNICODE_STRING Name = {sizeof Path - sizeof Path[0], sizeof Path, Path};
static UNICODE_STRING Link = {sizeof LinkPath - sizeof LinkPath[0], sizeof LinkPath, LinkPath};

typedef struct {
    KEVENT Stop, Stopped;
    PVOID Thread;
    LONG Ended;
} LEAVING;

static NTSTATUS Succeed(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    UNREFERENCED_PARAMETER(DeviceObject);
    Irp->IoStatus.Status = STATUS_SUCCESS;
    Irp->IoStatus.Information = 0;
    IoCompleteRequest(Irp, IO_NO_INCREMENT);
    return STATUS_SUCCESS;
}

static NTSTATUS Read(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    UNREFERENCED_PARAMETER(DeviceObject);
#ifdef CALLS_NOTHING
    extern void UndefinedFunction(void);
    UndefinedFunction();
#endif
    *(UCHAR*)Irp->AssociatedIrp.SystemBuffer = 1;
    Irp->IoStatus.Status = STATUS_SUCCESS;
#ifdef LEAVES_BYTES
    Irp->IoStatus.Information = IoGetCurrentIrpStackLocation(Irp)->Parameters.Read.Length;
#else
    Irp->IoStatus.Information = 1;
#endif
    IoCompleteRequest(Irp, IO_NO_INCREMENT);
    return STATUS_SUCCESS;
}

static void Work(PVOID Context) {
    LEAVING* leaving = Context;
    KeWaitForSingleObject(&leaving->Stop, Executive, KernelMode, FALSE, NULL);
    KeSetEvent(&leaving->Stopped, IO_NO_INCREMENT, FALSE);
    InterlockedIncrement(&leaving->Ended);
}

static void Unload(PDRIVER_OBJECT DriverObject) {
    LEAVING* leaving = DriverObject->DeviceObject->DeviceExtension;
    KeSetEvent(&leaving->Stop, IO_NO_INCREMENT, FALSE);
#ifdef LEAVES_A_THREAD
    KeWaitForSingleObject(&leaving->Stopped, Executive, KernelMode, FALSE, NULL);
#else
    KeWaitForSingleObject(leaving->Thread, Executive, KernelMode, FALSE, NULL);
#endif
    ObDereferenceObject(leaving->Thread);
#ifndef LEAVES_A_LINK
    IoDeleteSymbolicLink(&Link);
#endif
    IoDeleteDevice(DriverObject->DeviceObject);
}

static NTSTATUS StartThread(LEAVING* Leaving) {
    HANDLE thread;
    NTSTATUS status = PsCreateSystemThread(&thread, 0, NULL, NULL, NULL, Work, Leaving);
    if (!NT_SUCCESS(status)) return status;
    status = ObReferenceObjectByHandle(thread, 0, NULL, KernelMode, &Leaving->Thread, NULL);
    ZwClose(thread);
    return status;
}

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath) {
    PDRIVER_DISPATCH* major = DriverObject->MajorFunction;
    PDEVICE_OBJECT device;
    LEAVING* leaving;
    NTSTATUS status = IoCreateDevice(DriverObject, sizeof(LEAVING), &Name, FILE_DEVICE_UNKNOWN, 0,
                                     FALSE, &device);
    UNREFERENCED_PARAMETER(RegistryPath);
    if (!NT_SUCCESS(status)) return status;
    leaving = device->DeviceExtension;
    KeInitializeEvent(&leaving->Stop, NotificationEvent, FALSE);
    KeInitializeEvent(&leaving->Stopped, NotificationEvent, FALSE);
    status = IoCreateSymbolicLink(&Link, &Name);
    if (NT_SUCCESS(status)) status = StartThread(leaving);
    if (!NT_SUCCESS(status)) {
        IoDeleteDevice(device);
        return status;
    }
    device->Flags |= DO_BUFFERED_IO;
    major[IRP_MJ_READ] = Read;
    major[IRP_MJ_CREATE] = major[IRP_MJ_CLEANUP] = major[IRP_MJ_CLOSE] = Succeed;
    DriverObject->DriverUnload = Unload;
    return STATUS_SUCCESS;
}
