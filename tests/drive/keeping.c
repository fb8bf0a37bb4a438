/* A driver with one of each object that a driver must end or release before it is unloaded. The
   value Keeps of its registry key is the number of the one that it keeps; 0: none. */
#include <ntifs.h>

enum {
    KEEPS_NOTHING,
    KEEPS_TIMER,
    KEEPS_WORK_ITEM,
    KEEPS_LOOKASIDE_LIST,
    KEEPS_RESOURCE,
    KEEPS_THREAD,
    KEEPS_IO_WORK_ITEM,
    KEEPS_THREAD_HANDLE,
    KEEPS_KEY,
    KEEPS_THREAD_REFERENCE,
    KEEPS_DEVICE_REFERENCE,
    KEEPS_FILE_REFERENCE,
};

static ULONG Keeps;
static KTIMER Timer;
static KDPC TimerDpc;
static WORK_QUEUE_ITEM WorkItem;
static LOOKASIDE_LIST_EX Lookaside;
static ERESOURCE Resource;
static KEVENT Stop;
static PVOID Thread;
static PIO_WORKITEM IoWorkItem;
static HANDLE Key;
static PFILE_OBJECT UsedFile;

static UNICODE_STRING Name = RTL_CONSTANT_STRING(L"\\Device\\Keeping");

DRIVER_INITIALIZE DriverEntry;

static NTSTATUS Succeed(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    UNREFERENCED_PARAMETER(DeviceObject);
    Irp->IoStatus.Status = STATUS_SUCCESS;
    Irp->IoStatus.Information = 0;
    IoCompleteRequest(Irp, IO_NO_INCREMENT);
    return STATUS_SUCCESS;
}

/* A read references the file, until the end of its use, and the process, which is never freed. */
static NTSTATUS Read(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    UsedFile = IoGetCurrentIrpStackLocation(Irp)->FileObject;
    ObReferenceObject(UsedFile);
    if (Keeps != KEEPS_FILE_REFERENCE) ObDereferenceObject(UsedFile);
    ObReferenceObject(PsGetCurrentProcess());
    ObDereferenceObject(PsGetCurrentProcess());
    return Succeed(DeviceObject, Irp);
}

static VOID Tick(PKDPC Dpc, PVOID Context, PVOID Argument1, PVOID Argument2) {
    UNREFERENCED_PARAMETER(Dpc);
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Argument1);
    UNREFERENCED_PARAMETER(Argument2);
}

static VOID Work(PVOID Context) { KeSetEvent(Context, IO_NO_INCREMENT, FALSE); }

static VOID ThreadMain(PVOID Context) {
    UNREFERENCED_PARAMETER(Context);
    KeWaitForSingleObject(&Stop, Executive, KernelMode, FALSE, NULL);
    PsTerminateSystemThread(STATUS_SUCCESS);
}

static VOID UseWorkItem(VOID) {
    KEVENT done;
    KeInitializeEvent(&done, NotificationEvent, FALSE);
    ExInitializeWorkItem(&WorkItem, Work, Keeps == KEEPS_WORK_ITEM ? &Stop : &done);
    ExQueueWorkItem(&WorkItem, DelayedWorkQueue);
    if (Keeps != KEEPS_WORK_ITEM) KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, NULL);
}

static VOID EndThread(VOID) {
    KeSetEvent(&Stop, IO_NO_INCREMENT, FALSE);
    if (Keeps != KEEPS_THREAD) KeWaitForSingleObject(Thread, Executive, KernelMode, FALSE, NULL);
    if (Keeps != KEEPS_THREAD_REFERENCE) ObDereferenceObject(Thread);
}

static VOID Unload(PDRIVER_OBJECT DriverObject) {
    if (Keeps != KEEPS_TIMER) KeCancelTimer(&Timer);
    KeFlushQueuedDpcs();
    EndThread();
    if (Keeps != KEEPS_LOOKASIDE_LIST) ExDeleteLookasideListEx(&Lookaside);
    if (Keeps != KEEPS_RESOURCE) ExDeleteResourceLite(&Resource);
    if (Keeps != KEEPS_IO_WORK_ITEM) IoFreeWorkItem(IoWorkItem);
    if (Keeps != KEEPS_KEY) ZwClose(Key);
    if (Keeps != KEEPS_DEVICE_REFERENCE) ObDereferenceObject(DriverObject->DeviceObject);
    IoDeleteDevice(DriverObject->DeviceObject);
    UseWorkItem();
}

static NTSTATUS StartThread(VOID) {
    HANDLE handle;
    NTSTATUS status =
        PsCreateSystemThread(&handle, THREAD_ALL_ACCESS, NULL, NULL, NULL, ThreadMain, NULL);
    if (!NT_SUCCESS(status)) return status;
    status = ObReferenceObjectByHandle(handle, THREAD_ALL_ACCESS, *PsThreadType, KernelMode,
                                       &Thread, NULL);
    if (Keeps != KEEPS_THREAD_HANDLE) ZwClose(handle);
    return status;
}

static NTSTATUS OpenKey(PUNICODE_STRING Path) {
    OBJECT_ATTRIBUTES attributes;
    InitializeObjectAttributes(&attributes, Path, OBJ_CASE_INSENSITIVE | OBJ_KERNEL_HANDLE, NULL,
                               NULL);
    return ZwOpenKey(&Key, KEY_READ, &attributes);
}

static VOID ReadSetting(PUNICODE_STRING Path) {
    RTL_QUERY_REGISTRY_TABLE table[2];
    RtlZeroMemory(table, sizeof table);
    table[0].Flags = RTL_QUERY_REGISTRY_DIRECT;
    table[0].Name = L"Keeps";
    table[0].EntryContext = &Keeps;
    RtlQueryRegistryValues(RTL_REGISTRY_ABSOLUTE, Path->Buffer, table, NULL, NULL);
}

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath) {
    PDEVICE_OBJECT device;
    LARGE_INTEGER due;
    NTSTATUS status =
        IoCreateDevice(DriverObject, 0, &Name, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
    if (!NT_SUCCESS(status)) return status;
    ReadSetting(RegistryPath);
    KeInitializeEvent(&Stop, NotificationEvent, FALSE);
    status = StartThread();
    if (NT_SUCCESS(status)) status = OpenKey(RegistryPath);
    if (!NT_SUCCESS(status)) {
        IoDeleteDevice(device);
        return status;
    }
    ObReferenceObject(device);
    IoWorkItem = IoAllocateWorkItem(device);
    ExInitializeLookasideListEx(&Lookaside, NULL, NULL, NonPagedPoolNx, 0, 32, 'peeK', 0);
    ExInitializeResourceLite(&Resource);
    KeInitializeTimer(&Timer);
    KeInitializeDpc(&TimerDpc, Tick, NULL);
    due.QuadPart = -10000000;
    KeSetTimerEx(&Timer, due, 1000, &TimerDpc);
    DriverObject->MajorFunction[IRP_MJ_READ] = Read;
    DriverObject->MajorFunction[IRP_MJ_CREATE] = Succeed;
    DriverObject->MajorFunction[IRP_MJ_CLEANUP] = Succeed;
    DriverObject->MajorFunction[IRP_MJ_CLOSE] = Succeed;
    DriverObject->DriverUnload = Unload;
    return STATUS_SUCCESS;
}
