#include <ntddk.h>

#include <ntstrsafe.h>

#include "small_driver.h"

#define SMALL_NAME L"\\Device\\Small"
#define SMALL_TAG 'llmS'

typedef struct _SMALL_EXTENSION {
    UNICODE_STRING Name;
    KSPIN_LOCK Lock;
    _Guarded_by_(Lock) ULONG Requests;
} SMALL_EXTENSION, *PSMALL_EXTENSION;

DRIVER_UNLOAD SmallUnload;
_Dispatch_type_(IRP_MJ_DEVICE_CONTROL) DRIVER_DISPATCH SmallControl;

#ifdef ALLOC_PRAGMA
#pragma alloc_text(INIT, DriverEntry)
#pragma alloc_text(PAGE, SmallUnload)
#endif

NTSTATUS DriverEntry(_In_ PDRIVER_OBJECT DriverObject, _In_ PUNICODE_STRING RegistryPath) {
    PDEVICE_OBJECT device;
    PSMALL_EXTENSION extension;
    NTSTATUS status;
    DECLARE_CONST_UNICODE_STRING(name, SMALL_NAME);

    UNREFERENCED_PARAMETER(RegistryPath);
    status = IoCreateDevice(DriverObject, sizeof(SMALL_EXTENSION), (PUNICODE_STRING)&name,
                            FILE_DEVICE_UNKNOWN, FILE_DEVICE_SECURE_OPEN, FALSE, &device);
    if (!NT_SUCCESS(status)) return status;
    extension = device->DeviceExtension;
    KeInitializeSpinLock(&extension->Lock);
    status = RtlDuplicateUnicodeString(RTL_DUPLICATE_UNICODE_STRING_NULL_TERMINATE, &name,
                                       &extension->Name);
    if (!NT_SUCCESS(status)) {
        IoDeleteDevice(device);
        return status;
    }
    DriverObject->MajorFunction[IRP_MJ_DEVICE_CONTROL] = SmallControl;
    DriverObject->DriverUnload = SmallUnload;
    device->Flags |= DO_BUFFERED_IO;
    device->Flags &= ~DO_DEVICE_INITIALIZING;
    return STATUS_SUCCESS;
}

NTSTATUS SmallControl(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    PIO_STACK_LOCATION stack = IoGetCurrentIrpStackLocation(Irp);
    PSMALL_EXTENSION extension = DeviceObject->DeviceExtension;
    ULONG length = stack->Parameters.DeviceIoControl.InputBufferLength / sizeof(WCHAR);
    PWCHAR text = Irp->AssociatedIrp.SystemBuffer;
    NTSTATUS status = STATUS_INVALID_DEVICE_REQUEST;
    KIRQL irql;
    ULONG i;

    __try {
        if (stack->Parameters.DeviceIoControl.IoControlCode != IOCTL_SMALL_REVERSE) __leave;
        for (i = 0; i < length / 2; i++) {
            WCHAR swapped = text[i];
            text[i] = text[length - 1 - i];
            text[length - 1 - i] = swapped;
        }
        __try {
            Irp->IoStatus.Information = length * sizeof(WCHAR);
            status = STATUS_SUCCESS;
        } __except (EXCEPTION_EXECUTE_HANDLER) {
            status = GetExceptionCode();
        }
    } __finally {
        KeAcquireSpinLock(&extension->Lock, &irql);
        extension->Requests++;
        KeReleaseSpinLock(&extension->Lock, irql);
    }
    Irp->IoStatus.Status = status;
    IoCompleteRequest(Irp, IO_NO_INCREMENT);
    return status;
}

VOID SmallUnload(PDRIVER_OBJECT DriverObject) {
    PSMALL_EXTENSION extension = DriverObject->DeviceObject->DeviceExtension;

    PAGED_CODE();
    NT_ASSERT(wcscmp(extension->Name.Buffer, SMALL_NAME) == 0);
    RtlFreeUnicodeString(&extension->Name);
    IoDeleteDevice(DriverObject->DeviceObject);
}
