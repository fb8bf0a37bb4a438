/* Ten thousand requests and one completion port: a driver completes them in a threaded DPC, in an
   order of its own; the caller removes many packets at a time. */
#include <irp/wdm.h>

#include <stdio.h>

enum { REQUESTS = 10000, BATCH = 64 };

typedef struct {
    KSPIN_LOCK Lock;
    LIST_ENTRY Waiting;
    KDPC Dpc;
} EXTENSION;

/* Completes the waiting requests, the newest first, each with the square of its number. */
static void CompleteWaiting(PKDPC Dpc, PVOID Context, PVOID Argument1, PVOID Argument2) {
    EXTENSION* extension = Context;
    UNREFERENCED_PARAMETER(Dpc);
    UNREFERENCED_PARAMETER(Argument1);
    UNREFERENCED_PARAMETER(Argument2);
    for (;;) {
        PLIST_ENTRY entry = NULL;
        PIRP irp;
        ULONG_PTR number;
        KIRQL old; /* a threaded DPC may run at PASSIVE_LEVEL */
        KeAcquireSpinLock(&extension->Lock, &old);
        if (!IsListEmpty(&extension->Waiting)) entry = RemoveTailList(&extension->Waiting);
        KeReleaseSpinLock(&extension->Lock, old);
        if (entry == NULL) return;
        irp = CONTAINING_RECORD(entry, IRP, Tail.Overlay.ListEntry);
        number = IoGetCurrentIrpStackLocation(irp)->Parameters.DeviceIoControl.IoControlCode;
        irp->IoStatus.Status = STATUS_SUCCESS;
        irp->IoStatus.Information = number * number;
        IoCompleteRequest(irp, IO_NO_INCREMENT);
    }
}

static NTSTATUS Dispatch(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    EXTENSION* extension = DeviceObject->DeviceExtension;
    KIRQL old;
    IoMarkIrpPending(Irp);
    KeAcquireSpinLock(&extension->Lock, &old);
    InsertTailList(&extension->Waiting, &Irp->Tail.Overlay.ListEntry);
    KeReleaseSpinLock(&extension->Lock, old);
    KeInsertQueueDpc(&extension->Dpc, NULL, NULL);
    return STATUS_PENDING;
}

static int Send(PDEVICE_OBJECT Device, ULONG Number) {
    PIRP irp = IoAllocateIrp(Device->StackSize, FALSE);
    if (irp == NULL) return 0;
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    IoGetNextIrpStackLocation(irp)->Parameters.DeviceIoControl.IoControlCode = Number;
    IoSetCompletionContext(irp, Device->CompletionContext, irp);
    IoCallDriver(Device, irp);
    return 1;
}

/* Removes all packets, and returns the sum of their results. */
static ULONG64 RemoveAll(PVOID Port, ULONG* Wakeups) {
    FILE_IO_COMPLETION_INFORMATION packets[BATCH];
    ULONG64 sum = 0;
    ULONG removed = 0;
    while (removed < REQUESTS) {
        ULONG count = 0;
        ULONG i;
        if (IoRemoveIoCompletionEx(Port, packets, BATCH, &count, NULL, FALSE) != STATUS_SUCCESS)
            return 0;
        for (i = 0; i < count; ++i) {
            sum += packets[i].IoStatusBlock.Information;
            IoFreeIrp(packets[i].ApcContext); /* the caller owns the IRP again */
        }
        removed += count;
        ++*Wakeups;
    }
    return sum;
}

int main(void) {
    static DRIVER_OBJECT driver;
    PDEVICE_OBJECT device;
    EXTENSION* extension;
    PVOID port;
    ULONG number;
    ULONG wakeups = 0;
    ULONG64 expected = 0;
    ULONG64 sum;

    driver.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = Dispatch;
    if (!NT_SUCCESS(IoCreateDevice(&driver, sizeof(EXTENSION), NULL, FILE_DEVICE_UNKNOWN, 0, FALSE,
                                   &device)))
        return 1;
    extension = device->DeviceExtension;
    KeInitializeSpinLock(&extension->Lock);
    InitializeListHead(&extension->Waiting);
    KeInitializeThreadedDpc(&extension->Dpc, CompleteWaiting, extension);
    if (!NT_SUCCESS(IoCreateIoCompletion(&port, 0))) return 1;
    if (!NT_SUCCESS(IoAssociateDevice(device, port, device))) return 1;

    for (number = 1; number <= REQUESTS; ++number) {
        if (!Send(device, number)) return 1;
        expected += (ULONG64)number * number;
    }
    sum = RemoveAll(port, &wakeups);
    printf("%d requests, removed in %u batches, sum of squares %llu\n", REQUESTS, wakeups,
           (unsigned long long)sum);

    KeFlushQueuedDpcs();
    IoDeleteDevice(device);
    IoCloseIoCompletion(port);
    return sum == expected ? 0 : 1;
}
