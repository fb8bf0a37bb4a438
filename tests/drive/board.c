/* A driver that takes its interrupt line, its ports and its registers from the resources of
   IRP_MN_START_DEVICE. The service routine counts in a register, which a read returns. */
#include <ntddk.h>

typedef struct _BOARD_EXTENSION {
    PDEVICE_OBJECT LowerDevice;
    PULONG Registers;
    ULONG RegisterBytes;
    PUCHAR Ports;
    PKINTERRUPT Interrupt;
} BOARD_EXTENSION, *PBOARD_EXTENSION;

static NTSTATUS BoardComplete(PIRP Irp, NTSTATUS Status, ULONG_PTR Information) {
    Irp->IoStatus.Status = Status;
    Irp->IoStatus.Information = Information;
    IoCompleteRequest(Irp, IO_NO_INCREMENT);
    return Status;
}

static BOOLEAN BoardIsr(PKINTERRUPT Interrupt, PVOID Context) {
    PBOARD_EXTENSION board = Context;
    UNREFERENCED_PARAMETER(Interrupt);
    WRITE_REGISTER_ULONG(board->Registers, READ_REGISTER_ULONG(board->Registers) + 1);
    return TRUE;
}

static NTSTATUS BoardConnect(PBOARD_EXTENSION board,
                             const CM_PARTIAL_RESOURCE_DESCRIPTOR* interrupt) {
    return IoConnectInterrupt(&board->Interrupt, BoardIsr, board, NULL,
                              interrupt->u.Interrupt.Vector, (KIRQL)interrupt->u.Interrupt.Level,
                              (KIRQL)interrupt->u.Interrupt.Level, LevelSensitive, TRUE,
                              interrupt->u.Interrupt.Affinity, FALSE);
}

static NTSTATUS BoardStart(PBOARD_EXTENSION board, PCM_RESOURCE_LIST resources) {
    const CM_PARTIAL_RESOURCE_LIST* list;
    const CM_PARTIAL_RESOURCE_DESCRIPTOR* interrupt = NULL;
    ULONG i;
    if (resources == NULL) return STATUS_DEVICE_CONFIGURATION_ERROR;
    list = &resources->List[0].PartialResourceList;
    for (i = 0; i < list->Count; ++i) {
        const CM_PARTIAL_RESOURCE_DESCRIPTOR* each = &list->PartialDescriptors[i];
        switch (each->Type) {
        case CmResourceTypeInterrupt:
            interrupt = each;
            break;
        case CmResourceTypePort:
            board->Ports = (PUCHAR)(ULONG_PTR)each->u.Port.Start.QuadPart;
            break;
        case CmResourceTypeMemory:
            board->RegisterBytes = each->u.Memory.Length;
            board->Registers =
                MmMapIoSpace(each->u.Memory.Start, each->u.Memory.Length, MmNonCached);
            break;
        }
    }
    if (interrupt == NULL || board->Registers == NULL || board->Ports == NULL ||
        READ_PORT_UCHAR(board->Ports) != 0xff)
        return STATUS_DEVICE_CONFIGURATION_ERROR;
    DbgPrint("board: %u bytes of registers\n", board->RegisterBytes);
    return BoardConnect(board, interrupt);
}

static VOID BoardStop(PBOARD_EXTENSION board) {
#ifndef KEEPS_THE_INTERRUPT
    if (board->Interrupt != NULL) IoDisconnectInterrupt(board->Interrupt);
#endif
    board->Interrupt = NULL;
    if (board->Registers != NULL) MmUnmapIoSpace(board->Registers, board->RegisterBytes);
    board->Registers = NULL;
}

static NTSTATUS BoardPnp(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    PBOARD_EXTENSION board = DeviceObject->DeviceExtension;
    PIO_STACK_LOCATION stack = IoGetCurrentIrpStackLocation(Irp);
    NTSTATUS status;
    switch (stack->MinorFunction) {
    case IRP_MN_START_DEVICE:
        status = IoForwardIrpSynchronously(board->LowerDevice, Irp) ? Irp->IoStatus.Status
                                                                    : STATUS_UNSUCCESSFUL;
        if (NT_SUCCESS(status))
            status = BoardStart(board, stack->Parameters.StartDevice.AllocatedResourcesTranslated);
        return BoardComplete(Irp, status, 0);
    case IRP_MN_REMOVE_DEVICE:
        BoardStop(board);
        Irp->IoStatus.Status = STATUS_SUCCESS;
        IoSkipCurrentIrpStackLocation(Irp);
        status = IoCallDriver(board->LowerDevice, Irp);
        IoDetachDevice(board->LowerDevice);
        IoDeleteDevice(DeviceObject);
        return status;
    case IRP_MN_SURPRISE_REMOVAL:
    case IRP_MN_QUERY_REMOVE_DEVICE:
    case IRP_MN_CANCEL_REMOVE_DEVICE:
        Irp->IoStatus.Status = STATUS_SUCCESS;
        break;
    }
    IoSkipCurrentIrpStackLocation(Irp);
    return IoCallDriver(board->LowerDevice, Irp);
}

static NTSTATUS BoardRead(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    PBOARD_EXTENSION board = DeviceObject->DeviceExtension;
    if (IoGetCurrentIrpStackLocation(Irp)->Parameters.Read.Length < sizeof(ULONG))
        return BoardComplete(Irp, STATUS_BUFFER_TOO_SMALL, 0);
    *(PULONG)Irp->AssociatedIrp.SystemBuffer = READ_REGISTER_ULONG(board->Registers);
    if (READ_REGISTER_ULONG(board->Registers) == 0)
        return BoardComplete(Irp, STATUS_NO_MORE_ENTRIES, 0);
    return BoardComplete(Irp, STATUS_SUCCESS, sizeof(ULONG));
}

static NTSTATUS BoardOpenClose(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    UNREFERENCED_PARAMETER(DeviceObject);
    return BoardComplete(Irp, STATUS_SUCCESS, 0);
}

static NTSTATUS BoardAddDevice(PDRIVER_OBJECT DriverObject, PDEVICE_OBJECT PhysicalDevice) {
    UNICODE_STRING name = RTL_CONSTANT_STRING(L"\\Device\\Board");
    PDEVICE_OBJECT device;
    PBOARD_EXTENSION board;
    NTSTATUS status = IoCreateDevice(DriverObject, sizeof(BOARD_EXTENSION), &name,
                                     FILE_DEVICE_UNKNOWN, FILE_DEVICE_SECURE_OPEN, FALSE, &device);
    if (!NT_SUCCESS(status)) return status;
    board = device->DeviceExtension;
    board->LowerDevice = IoAttachDeviceToDeviceStack(device, PhysicalDevice);
    if (board->LowerDevice == NULL) {
        IoDeleteDevice(device);
        return STATUS_NO_SUCH_DEVICE;
    }
    device->Flags |= DO_BUFFERED_IO;
    device->Flags &= ~DO_DEVICE_INITIALIZING;
    return STATUS_SUCCESS;
}

static VOID BoardUnload(PDRIVER_OBJECT DriverObject) { UNREFERENCED_PARAMETER(DriverObject); }

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath) {
    UNREFERENCED_PARAMETER(RegistryPath);
    DriverObject->MajorFunction[IRP_MJ_CREATE] = BoardOpenClose;
    DriverObject->MajorFunction[IRP_MJ_CLOSE] = BoardOpenClose;
    DriverObject->MajorFunction[IRP_MJ_READ] = BoardRead;
    DriverObject->MajorFunction[IRP_MJ_PNP] = BoardPnp;
    DriverObject->DriverExtension->AddDevice = BoardAddDevice;
    DriverObject->DriverUnload = BoardUnload;
    return STATUS_SUCCESS;
}
