/* A driver that pends: requests wait in a cancel-safe queue, a timer serves one at a time, and any
   request may be cancelled while it waits. */
#include <irp/wdm.h>

#include <stdio.h>

typedef struct {
    IO_CSQ Queue;
    LIST_ENTRY Waiting;
    KSPIN_LOCK Lock;
    KTIMER Timer;
    KDPC Dpc;
    ULONG Served;
} EXTENSION;

static EXTENSION* ExtensionOf(PIO_CSQ Csq) { return CONTAINING_RECORD(Csq, EXTENSION, Queue); }

static void Insert(PIO_CSQ Csq, PIRP Irp) {
    InsertTailList(&ExtensionOf(Csq)->Waiting, &Irp->Tail.Overlay.ListEntry);
}

static void Remove(PIO_CSQ Csq, PIRP Irp) {
    UNREFERENCED_PARAMETER(Csq);
    RemoveEntryList(&Irp->Tail.Overlay.ListEntry);
}

static PIRP PeekNext(PIO_CSQ Csq, PIRP Irp, PVOID Context) {
    PLIST_ENTRY head = &ExtensionOf(Csq)->Waiting;
    PLIST_ENTRY next = Irp != NULL ? Irp->Tail.Overlay.ListEntry.Flink : head->Flink;
    UNREFERENCED_PARAMETER(Context);
    return next != head ? CONTAINING_RECORD(next, IRP, Tail.Overlay.ListEntry) : NULL;
}

static void Acquire(PIO_CSQ Csq, PKIRQL Irql) { KeAcquireSpinLock(&ExtensionOf(Csq)->Lock, Irql); }
static void Release(PIO_CSQ Csq, KIRQL Irql) { KeReleaseSpinLock(&ExtensionOf(Csq)->Lock, Irql); }

static void Complete(PIRP Irp, NTSTATUS Status, ULONG_PTR Information) {
    Irp->IoStatus.Status = Status;
    Irp->IoStatus.Information = Information;
    IoCompleteRequest(Irp, IO_NO_INCREMENT);
}

static void CompleteCancelled(PIO_CSQ Csq, PIRP Irp) {
    UNREFERENCED_PARAMETER(Csq);
    Complete(Irp, STATUS_CANCELLED, 0);
}

static void Serve(PKDPC Dpc, PVOID Context, PVOID Argument1, PVOID Argument2) {
    EXTENSION* extension = Context;
    PIRP irp = IoCsqRemoveNextIrp(&extension->Queue, NULL);
    UNREFERENCED_PARAMETER(Dpc);
    UNREFERENCED_PARAMETER(Argument1);
    UNREFERENCED_PARAMETER(Argument2);
    if (irp != NULL) Complete(irp, STATUS_SUCCESS, ++extension->Served);
}

static NTSTATUS Dispatch(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    EXTENSION* extension = DeviceObject->DeviceExtension;
    IoCsqInsertIrp(&extension->Queue, Irp, NULL); /* marks it pending; it may complete at once */
    return STATUS_PENDING;
}

static NTSTATUS Done(PDEVICE_OBJECT DeviceObject, PIRP Irp, PVOID Context) {
    UNREFERENCED_PARAMETER(DeviceObject);
    UNREFERENCED_PARAMETER(Irp);
    KeSetEvent((PKEVENT)Context, IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

static void Prepare(EXTENSION* Extension) {
    InitializeListHead(&Extension->Waiting);
    KeInitializeSpinLock(&Extension->Lock);
    KeInitializeTimer(&Extension->Timer);
    KeInitializeDpc(&Extension->Dpc, Serve, Extension);
    IoCsqInitialize(&Extension->Queue, Insert, Remove, PeekNext, Acquire, Release,
                    CompleteCancelled);
}

int main(void) {
    static DRIVER_OBJECT driver;
    enum { REQUESTS = 3 };
    PDEVICE_OBJECT device;
    EXTENSION* extension;
    PIRP irps[REQUESTS];
    KEVENT done[REQUESTS];
    LARGE_INTEGER due;
    int i, good = 1;

    driver.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = Dispatch;
    if (!NT_SUCCESS(IoCreateDevice(&driver, sizeof(EXTENSION), NULL, FILE_DEVICE_UNKNOWN, 0, FALSE,
                                   &device)))
        return 1;
    extension = device->DeviceExtension;
    Prepare(extension);

    for (i = 0; i < REQUESTS; ++i) {
        KeInitializeEvent(&done[i], NotificationEvent, FALSE);
        irps[i] = IoAllocateIrp(device->StackSize, FALSE);
        IoGetNextIrpStackLocation(irps[i])->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
        IoSetCompletionRoutine(irps[i], Done, &done[i], TRUE, TRUE, TRUE);
        good = good && IoCallDriver(device, irps[i]) == STATUS_PENDING;
    }
    IoCancelIrp(irps[1]);
    due.QuadPart = -10000; /* after 1 ms, then every millisecond */
    KeSetTimerEx(&extension->Timer, due, 1, &extension->Dpc);

    for (i = 0; i < REQUESTS; ++i) {
        KeWaitForSingleObject(&done[i], Executive, KernelMode, FALSE, NULL);
        printf("request %d: %s, %lu\n", i, NtStatusName(irps[i]->IoStatus.Status),
               (unsigned long)irps[i]->IoStatus.Information);
        good = good && (irps[i]->IoStatus.Status == STATUS_CANCELLED) == (i == 1);
        IoFreeIrp(irps[i]);
    }
    KeCancelTimer(&extension->Timer);
    KeFlushQueuedDpcs();
    good = good && extension->Served == 2;
    IoDeleteDevice(device);
    return good ? 0 : 1;
}
