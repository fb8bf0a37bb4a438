/* A driver with a METHOD_NEITHER request: the input is a count and as many bytes, the output their
   sum. */
#include <ntddk.h>

#define ADDING_SUM CTL_CODE(FILE_DEVICE_UNKNOWN, 0x800, METHOD_NEITHER, FILE_ANY_ACCESS)

static NTSTATUS AddingComplete(PIRP Irp, NTSTATUS Status, ULONG_PTR Information) {
    Irp->IoStatus.Status = Status;
    Irp->IoStatus.Information = Information;
    IoCompleteRequest(Irp, IO_NO_INCREMENT);
    return Status;
}

static NTSTATUS AddingSum(PIO_STACK_LOCATION stack, PUCHAR output) {
    const volatile UCHAR* input = stack->Parameters.DeviceIoControl.Type3InputBuffer;
    const ULONG inputLength = stack->Parameters.DeviceIoControl.InputBufferLength;
    PUCHAR copy;
    UCHAR count;
    UCHAR sum = 0;
    UCHAR i;
    if (inputLength == 0 || stack->Parameters.DeviceIoControl.OutputBufferLength == 0)
        return STATUS_BUFFER_TOO_SMALL;
    ProbeForRead(input, inputLength, 1);
    ProbeForWrite(output, 1, 1);
    count = input[0];
    if (count == 0 || count >= inputLength) return STATUS_INVALID_PARAMETER;
    copy = ExAllocatePoolWithTag(PagedPool, count, 'ddA ');
    if (copy == NULL) return STATUS_INSUFFICIENT_RESOURCES;
#ifdef LOADS_TWICE
    count = input[0];
#endif
    for (i = 0; i < count; ++i)
        copy[i] = input[i + 1];
    for (i = 0; i < count; ++i)
        sum += copy[i];
    ExFreePoolWithTag(copy, 'ddA ');
    *output = sum;
    return STATUS_SUCCESS;
}

static NTSTATUS AddingControl(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    PUCHAR output = Irp->UserBuffer;
    NTSTATUS status = STATUS_INVALID_DEVICE_REQUEST;
    PIO_STACK_LOCATION stack = IoGetCurrentIrpStackLocation(Irp);
    UNREFERENCED_PARAMETER(DeviceObject);
    if (stack->Parameters.DeviceIoControl.IoControlCode == ADDING_SUM)
        status = AddingSum(stack, output);
#ifdef WRITES_LATE
    {
        static PUCHAR earlier;
        if (earlier != NULL) *earlier = 0; /* of a request that was completed */
        earlier = output;
    }
#endif
    return AddingComplete(Irp, status, NT_SUCCESS(status) ? 1 : 0);
}

static NTSTATUS AddingOpenClose(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    UNREFERENCED_PARAMETER(DeviceObject);
    return AddingComplete(Irp, STATUS_SUCCESS, 0);
}

static PVOID Table;

static VOID AddingUnload(PDRIVER_OBJECT DriverObject) {
    ExFreePoolWithTag(Table, 'ddA ');
    IoDeleteDevice(DriverObject->DeviceObject);
}

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath) {
    UNICODE_STRING name = RTL_CONSTANT_STRING(L"\\Device\\Adding");
    PDEVICE_OBJECT device;
    NTSTATUS status;
    UNREFERENCED_PARAMETER(RegistryPath);
    Table = ExAllocatePoolWithTag(NonPagedPool, 64, 'ddA ');
    if (Table == NULL) return STATUS_INSUFFICIENT_RESOURCES;
    status = IoCreateDevice(DriverObject, 0, &name, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
    if (!NT_SUCCESS(status)) {
#ifndef LEAVES_ITS_TABLE
        ExFreePoolWithTag(Table, 'ddA ');
#endif
        return status;
    }
    device->Flags &= ~DO_DEVICE_INITIALIZING;
    DriverObject->MajorFunction[IRP_MJ_CREATE] = AddingOpenClose;
    DriverObject->MajorFunction[IRP_MJ_CLOSE] = AddingOpenClose;
    DriverObject->MajorFunction[IRP_MJ_DEVICE_CONTROL] = AddingControl;
    DriverObject->DriverUnload = AddingUnload;
    return STATUS_SUCCESS;
}
