/* A driver as its author writes it for Windows: a setting in the registry, a device interface, an
   interrupt line. A read waits for the next interrupt and returns the count of interrupts. */
#include <initguid.h>

#include <ntddk.h>

DEFINE_GUID(GUID_DEVINTERFACE_SENSOR, 0x5c9c1f54, 0x6f8d, 0x4a0c, 0x9c, 0x33, 0x0d, 0x2c, 0x1a,
            0x7e, 0x4b, 0x10);

typedef struct _SENSOR_EXTENSION {
    PDEVICE_OBJECT LowerDevice;
    PDEVICE_OBJECT PhysicalDevice;
    UNICODE_STRING InterfaceName;
    IO_REMOVE_LOCK RemoveLock;
    IO_CSQ Queue;
    LIST_ENTRY Reads; /* guarded by QueueLock */
    BOOLEAN Started;  /* guarded by QueueLock */
    KSPIN_LOCK QueueLock;
    PKINTERRUPT Interrupt;
    ULONG Count;    /* guarded by the interrupt's lock */
    BOOLEAN Silent; /* guarded by the interrupt's lock */
} SENSOR_EXTENSION, *PSENSOR_EXTENSION;

static ULONG Scale = 1;

DRIVER_INITIALIZE DriverEntry;
DRIVER_ADD_DEVICE SensorAddDevice;
DRIVER_UNLOAD SensorUnload;
_Dispatch_type_(IRP_MJ_CREATE) _Dispatch_type_(IRP_MJ_CLOSE) DRIVER_DISPATCH SensorOpenClose;
_Dispatch_type_(IRP_MJ_READ) DRIVER_DISPATCH SensorRead;
_Dispatch_type_(IRP_MJ_PNP) DRIVER_DISPATCH SensorPnp;
KSERVICE_ROUTINE SensorIsr;
KSYNCHRONIZE_ROUTINE SensorTakeCount;
KSYNCHRONIZE_ROUTINE SensorSilence;
IO_DPC_ROUTINE SensorDpc;

static NTSTATUS SensorInsert(PIO_CSQ Csq, PIRP Irp, PVOID Context) {
    PSENSOR_EXTENSION sensor = CONTAINING_RECORD(Csq, SENSOR_EXTENSION, Queue);
    UNREFERENCED_PARAMETER(Context);
    if (!sensor->Started) return STATUS_DEVICE_NOT_READY;
    InsertTailList(&sensor->Reads, &Irp->Tail.Overlay.ListEntry);
    return STATUS_SUCCESS;
}

static VOID SensorRemove(PIO_CSQ Csq, PIRP Irp) {
    UNREFERENCED_PARAMETER(Csq);
    RemoveEntryList(&Irp->Tail.Overlay.ListEntry);
}

static PIRP SensorPeek(PIO_CSQ Csq, PIRP Irp, PVOID Context) {
    PSENSOR_EXTENSION sensor = CONTAINING_RECORD(Csq, SENSOR_EXTENSION, Queue);
    PLIST_ENTRY next = Irp == NULL ? sensor->Reads.Flink : Irp->Tail.Overlay.ListEntry.Flink;
    UNREFERENCED_PARAMETER(Context);
    return next == &sensor->Reads ? NULL : CONTAINING_RECORD(next, IRP, Tail.Overlay.ListEntry);
}

static VOID SensorAcquire(PIO_CSQ Csq, PKIRQL Irql) {
    KeAcquireSpinLock(&CONTAINING_RECORD(Csq, SENSOR_EXTENSION, Queue)->QueueLock, Irql);
}

static VOID SensorRelease(PIO_CSQ Csq, KIRQL Irql) {
    KeReleaseSpinLock(&CONTAINING_RECORD(Csq, SENSOR_EXTENSION, Queue)->QueueLock, Irql);
}

static NTSTATUS SensorComplete(PIRP Irp, NTSTATUS Status, ULONG_PTR Information) {
    Irp->IoStatus.Status = Status;
    Irp->IoStatus.Information = Information;
    IoCompleteRequest(Irp, IO_NO_INCREMENT);
    return Status;
}

static VOID SensorFinishRead(PSENSOR_EXTENSION Sensor, PIRP Irp, NTSTATUS Status, ULONG Count) {
    ULONG_PTR bytes = 0;
    if (NT_SUCCESS(Status)) {
        *(PULONG)Irp->AssociatedIrp.SystemBuffer = Count;
        bytes = sizeof(ULONG);
    }
    SensorComplete(Irp, Status, bytes);
    IoReleaseRemoveLock(&Sensor->RemoveLock, Irp);
}

static VOID SensorCancel(PIO_CSQ Csq, PIRP Irp) {
    SensorFinishRead(CONTAINING_RECORD(Csq, SENSOR_EXTENSION, Queue), Irp, STATUS_CANCELLED, 0);
}

BOOLEAN SensorIsr(PKINTERRUPT Interrupt, PVOID Context) {
    PDEVICE_OBJECT device = Context;
    PSENSOR_EXTENSION sensor = device->DeviceExtension;
    UNREFERENCED_PARAMETER(Interrupt);
    if (sensor->Silent) return FALSE;
    sensor->Count++;
    IoRequestDpc(device, NULL, sensor);
    return TRUE;
}

BOOLEAN SensorTakeCount(PVOID Context) {
    PSENSOR_EXTENSION sensor = ((PVOID*)Context)[0];
    *(PULONG)((PVOID*)Context)[1] = sensor->Count;
    return TRUE;
}

/* Stands for the register that disables the device's interrupt. */
BOOLEAN SensorSilence(PVOID Context) {
    ((PSENSOR_EXTENSION)Context)->Silent = TRUE;
    return TRUE;
}

VOID SensorDpc(PKDPC Dpc, PDEVICE_OBJECT DeviceObject, PIRP Unused, PVOID Context) {
    PSENSOR_EXTENSION sensor = Context;
    ULONG count = 0;
    PVOID arguments[2];
    PIRP irp;
    UNREFERENCED_PARAMETER(Dpc);
    UNREFERENCED_PARAMETER(DeviceObject);
    UNREFERENCED_PARAMETER(Unused);
    irp = IoCsqRemoveNextIrp(&sensor->Queue, NULL);
    if (irp == NULL) return;
    arguments[0] = sensor;
    arguments[1] = &count;
    KeSynchronizeExecution(sensor->Interrupt, SensorTakeCount, arguments);
    SensorFinishRead(sensor, irp, STATUS_SUCCESS, count * Scale);
}

NTSTATUS SensorOpenClose(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    UNREFERENCED_PARAMETER(DeviceObject);
    return SensorComplete(Irp, STATUS_SUCCESS, 0);
}

NTSTATUS SensorRead(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    PSENSOR_EXTENSION sensor = DeviceObject->DeviceExtension;
    NTSTATUS status = IoAcquireRemoveLock(&sensor->RemoveLock, Irp);
    if (!NT_SUCCESS(status)) return SensorComplete(Irp, status, 0);
    if (IoGetCurrentIrpStackLocation(Irp)->Parameters.Read.Length < sizeof(ULONG)) {
        SensorFinishRead(sensor, Irp, STATUS_BUFFER_TOO_SMALL, 0);
        return STATUS_BUFFER_TOO_SMALL;
    }
    status = IoCsqInsertIrpEx(&sensor->Queue, Irp, NULL, NULL);
    if (NT_SUCCESS(status)) return STATUS_PENDING;
    SensorFinishRead(sensor, Irp, status, 0);
    return status;
}

static VOID SensorSetStarted(PSENSOR_EXTENSION Sensor, BOOLEAN Started) {
    KIRQL irql;
    KeAcquireSpinLock(&Sensor->QueueLock, &irql);
    Sensor->Started = Started;
    KeReleaseSpinLock(&Sensor->QueueLock, irql);
}

static NTSTATUS SensorStart(PDEVICE_OBJECT DeviceObject) {
    PSENSOR_EXTENSION sensor = DeviceObject->DeviceExtension;
    IO_CONNECT_INTERRUPT_PARAMETERS parameters;
    NTSTATUS status;
    sensor->Silent = FALSE;
    RtlZeroMemory(&parameters, sizeof parameters);
    parameters.Version = CONNECT_LINE_BASED;
    parameters.LineBased.PhysicalDeviceObject = sensor->PhysicalDevice;
    parameters.LineBased.InterruptObject = &sensor->Interrupt;
    parameters.LineBased.ServiceRoutine = SensorIsr;
    parameters.LineBased.ServiceContext = DeviceObject;
    status = IoConnectInterruptEx(&parameters);
    if (!NT_SUCCESS(status)) return status;
    SensorSetStarted(sensor, TRUE);
    return IoSetDeviceInterfaceState(&sensor->InterfaceName, TRUE);
}

/* After this no interrupt, no DPC and no read is left. */
static VOID SensorStop(PSENSOR_EXTENSION Sensor) {
    IO_DISCONNECT_INTERRUPT_PARAMETERS parameters;
    PIRP irp;
    if (Sensor->Interrupt == NULL) return;
    IoSetDeviceInterfaceState(&Sensor->InterfaceName, FALSE);
    SensorSetStarted(Sensor, FALSE);
    KeSynchronizeExecution(Sensor->Interrupt, SensorSilence, Sensor);
#ifndef WITHOUT_THE_FLUSH
    KeFlushQueuedDpcs(); /* they use the interrupt */
#endif
    parameters.Version = CONNECT_LINE_BASED;
    parameters.ConnectionContext.InterruptObject = Sensor->Interrupt;
    IoDisconnectInterruptEx(&parameters);
    Sensor->Interrupt = NULL;
    while ((irp = IoCsqRemoveNextIrp(&Sensor->Queue, NULL)) != NULL)
        SensorFinishRead(Sensor, irp, STATUS_DEVICE_NOT_READY, 0);
}

NTSTATUS SensorPnp(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    PSENSOR_EXTENSION sensor = DeviceObject->DeviceExtension;
    NTSTATUS status = IoAcquireRemoveLock(&sensor->RemoveLock, Irp);
    if (!NT_SUCCESS(status)) return SensorComplete(Irp, status, 0);
    switch (IoGetCurrentIrpStackLocation(Irp)->MinorFunction) {
    case IRP_MN_START_DEVICE:
        if (IoForwardIrpSynchronously(sensor->LowerDevice, Irp))
            status = Irp->IoStatus.Status;
        else
            status = STATUS_UNSUCCESSFUL;
        if (NT_SUCCESS(status)) status = SensorStart(DeviceObject);
        SensorComplete(Irp, status, 0);
        break;
    case IRP_MN_REMOVE_DEVICE:
        SensorStop(sensor);
        Irp->IoStatus.Status = STATUS_SUCCESS;
        IoSkipCurrentIrpStackLocation(Irp);
        status = IoCallDriver(sensor->LowerDevice, Irp);
        IoReleaseRemoveLockAndWait(&sensor->RemoveLock, Irp);
        RtlFreeUnicodeString(&sensor->InterfaceName);
        IoDetachDevice(sensor->LowerDevice);
        IoDeleteDevice(DeviceObject);
        return status;
    case IRP_MN_SURPRISE_REMOVAL:
    case IRP_MN_STOP_DEVICE:
        SensorStop(sensor);
        /* fall through */
    case IRP_MN_QUERY_STOP_DEVICE:
    case IRP_MN_QUERY_REMOVE_DEVICE:
    case IRP_MN_CANCEL_STOP_DEVICE:
    case IRP_MN_CANCEL_REMOVE_DEVICE:
        Irp->IoStatus.Status = STATUS_SUCCESS;
        /* fall through */
    default:
        IoSkipCurrentIrpStackLocation(Irp);
        status = IoCallDriver(sensor->LowerDevice, Irp);
        break;
    }
    IoReleaseRemoveLock(&sensor->RemoveLock, Irp);
    return status;
}

NTSTATUS SensorAddDevice(PDRIVER_OBJECT DriverObject, PDEVICE_OBJECT PhysicalDeviceObject) {
    PSENSOR_EXTENSION sensor;
    PDEVICE_OBJECT device;
    NTSTATUS status;
    PAGED_CODE();
    status = IoCreateDevice(DriverObject, sizeof(SENSOR_EXTENSION), NULL, FILE_DEVICE_UNKNOWN,
                            FILE_DEVICE_SECURE_OPEN, FALSE, &device);
    if (!NT_SUCCESS(status)) return status;
    sensor = device->DeviceExtension;
    sensor->PhysicalDevice = PhysicalDeviceObject;
    status = IoRegisterDeviceInterface(PhysicalDeviceObject, &GUID_DEVINTERFACE_SENSOR, NULL,
                                       &sensor->InterfaceName);
    if (!NT_SUCCESS(status)) {
        IoDeleteDevice(device);
        return status;
    }
    IoInitializeRemoveLock(&sensor->RemoveLock, 'snSR', 0, 0);
    IoInitializeDpcRequest(device, SensorDpc);
    InitializeListHead(&sensor->Reads);
    KeInitializeSpinLock(&sensor->QueueLock);
    IoCsqInitializeEx(&sensor->Queue, SensorInsert, SensorRemove, SensorPeek, SensorAcquire,
                      SensorRelease, SensorCancel);
    sensor->LowerDevice = IoAttachDeviceToDeviceStack(device, PhysicalDeviceObject);
    device->Flags |= DO_BUFFERED_IO;
    device->Flags &= ~DO_DEVICE_INITIALIZING;
    return STATUS_SUCCESS;
}

VOID SensorUnload(PDRIVER_OBJECT DriverObject) { UNREFERENCED_PARAMETER(DriverObject); }

/* Parameters\Scale below the driver's key; without it the default. */
static NTSTATUS SensorReadSettings(PUNICODE_STRING RegistryPath) {
    UCHAR buffer[FIELD_OFFSET(KEY_VALUE_PARTIAL_INFORMATION, Data) + sizeof(ULONG)];
    PKEY_VALUE_PARTIAL_INFORMATION value = (PKEY_VALUE_PARTIAL_INFORMATION)buffer;
    UNICODE_STRING parameters = RTL_CONSTANT_STRING(L"Parameters");
    UNICODE_STRING name = RTL_CONSTANT_STRING(L"Scale");
    OBJECT_ATTRIBUTES attributes;
    HANDLE driver;
    HANDLE key;
    ULONG length;
    NTSTATUS status;
    InitializeObjectAttributes(&attributes, RegistryPath, OBJ_CASE_INSENSITIVE | OBJ_KERNEL_HANDLE,
                               NULL, NULL);
    status = ZwOpenKey(&driver, KEY_READ, &attributes);
    if (!NT_SUCCESS(status)) return status;
    InitializeObjectAttributes(&attributes, &parameters, OBJ_CASE_INSENSITIVE | OBJ_KERNEL_HANDLE,
                               driver, NULL);
    status = ZwOpenKey(&key, KEY_READ, &attributes);
    ZwClose(driver);
    if (status == STATUS_OBJECT_NAME_NOT_FOUND) return STATUS_SUCCESS;
    if (!NT_SUCCESS(status)) return status;
    status = ZwQueryValueKey(key, &name, KeyValuePartialInformation, value, sizeof buffer, &length);
    if (NT_SUCCESS(status) && value->Type == REG_DWORD) Scale = *(PULONG)value->Data;
    ZwClose(key);
    return Scale == 0 ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS;
}

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath) {
    NTSTATUS status = SensorReadSettings(RegistryPath);
    if (!NT_SUCCESS(status)) return status;
    DriverObject->MajorFunction[IRP_MJ_CREATE] = SensorOpenClose;
    DriverObject->MajorFunction[IRP_MJ_CLEANUP] = SensorOpenClose;
    DriverObject->MajorFunction[IRP_MJ_CLOSE] = SensorOpenClose;
    DriverObject->MajorFunction[IRP_MJ_READ] = SensorRead;
    DriverObject->MajorFunction[IRP_MJ_PNP] = SensorPnp;
    DriverObject->DriverExtension->AddDevice = SensorAddDevice;
    DriverObject->DriverUnload = SensorUnload;
    return STATUS_SUCCESS;
}
