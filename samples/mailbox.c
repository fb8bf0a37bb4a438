/* A WDM driver and its user: a mailbox for one letter. A write leaves it, a read receives it or
   waits for it, and a control code counts the letters so far. */
#include <irp/file.h>
#include <irp/testing/driver.h>
#include <irp/wdm.h>

#include <stdio.h>
#include <string.h>

#define IOCTL_COUNT CTL_CODE(FILE_DEVICE_UNKNOWN, 0x800, METHOD_BUFFERED, FILE_READ_ACCESS)

static WCHAR Path[] = u"\\Device\\Mailbox";
static UNICODE_STRING Name = {sizeof Path - sizeof Path[0], sizeof Path, Path};

typedef struct {
    CHAR Letter[64]; /* guarded by the cancel spin lock, as all below */
    ULONG Length;    /* 0: no letter */
    ULONG Count;
    PIRP Reader; /* waits for a letter */
} MAILBOX;

static NTSTATUS Complete(PIRP Irp, NTSTATUS Status, ULONG_PTR Information) {
    Irp->IoStatus.Status = Status;
    Irp->IoStatus.Information = Information;
    IoCompleteRequest(Irp, IO_NO_INCREMENT);
    return Status;
}

static NTSTATUS Succeed(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    UNREFERENCED_PARAMETER(DeviceObject);
    return Complete(Irp, STATUS_SUCCESS, 0);
}

static void CancelRead(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    ((MAILBOX*)DeviceObject->DeviceExtension)->Reader = NULL;
    IoReleaseCancelSpinLock(Irp->CancelIrql);
    Complete(Irp, STATUS_CANCELLED, 0);
}

/* Moves the letter to a reader; its length. */
static ULONG Deliver(MAILBOX* Mailbox, PIRP Reader) {
    ULONG room = IoGetCurrentIrpStackLocation(Reader)->Parameters.Read.Length;
    ULONG length = Mailbox->Length < room ? Mailbox->Length : room;
    memcpy(Reader->AssociatedIrp.SystemBuffer, Mailbox->Letter, length);
    Mailbox->Length = 0;
    return length;
}

static NTSTATUS Read(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    MAILBOX* mailbox = DeviceObject->DeviceExtension;
    NTSTATUS status = STATUS_SUCCESS;
    ULONG length = 0;
    KIRQL irql;
    IoAcquireCancelSpinLock(&irql);
    if (mailbox->Length != 0) {
        length = Deliver(mailbox, Irp);
    } else if (Irp->Cancel || mailbox->Reader != NULL) {
        status = Irp->Cancel ? STATUS_CANCELLED : STATUS_DEVICE_BUSY;
    } else {
        IoMarkIrpPending(Irp);
        IoSetCancelRoutine(Irp, CancelRead);
        mailbox->Reader = Irp;
        status = STATUS_PENDING;
    }
    IoReleaseCancelSpinLock(irql);
    return status == STATUS_PENDING ? status : Complete(Irp, status, length);
}

static NTSTATUS Write(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    MAILBOX* mailbox = DeviceObject->DeviceExtension;
    ULONG length = IoGetCurrentIrpStackLocation(Irp)->Parameters.Write.Length, delivered = 0;
    PIRP reader;
    KIRQL irql;
    if (length > sizeof mailbox->Letter) return Complete(Irp, STATUS_INVALID_PARAMETER, 0);
    IoAcquireCancelSpinLock(&irql);
    memcpy(mailbox->Letter, Irp->AssociatedIrp.SystemBuffer, length);
    mailbox->Length = length;
    ++mailbox->Count;
    reader = mailbox->Reader;
    if (reader != NULL && IoSetCancelRoutine(reader, NULL) != NULL) {
        mailbox->Reader = NULL;
        delivered = Deliver(mailbox, reader);
    } else {
        reader = NULL; /* its cancel routine waits for the lock */
    }
    IoReleaseCancelSpinLock(irql);
    if (reader != NULL) Complete(reader, STATUS_SUCCESS, delivered);
    return Complete(Irp, STATUS_SUCCESS, length);
}

static NTSTATUS Control(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    PIO_STACK_LOCATION stack = IoGetCurrentIrpStackLocation(Irp);
    if (stack->Parameters.DeviceIoControl.IoControlCode != IOCTL_COUNT ||
        stack->Parameters.DeviceIoControl.OutputBufferLength < sizeof(ULONG))
        return Complete(Irp, STATUS_INVALID_DEVICE_REQUEST, 0);
    *(ULONG*)Irp->AssociatedIrp.SystemBuffer = ((MAILBOX*)DeviceObject->DeviceExtension)->Count;
    return Complete(Irp, STATUS_SUCCESS, sizeof(ULONG));
}

static void Unload(PDRIVER_OBJECT DriverObject) { IoDeleteDevice(DriverObject->DeviceObject); }

static NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath) {
    PDRIVER_DISPATCH* major = DriverObject->MajorFunction;
    PDEVICE_OBJECT device;
    NTSTATUS status = IoCreateDevice(DriverObject, sizeof(MAILBOX), &Name, FILE_DEVICE_UNKNOWN, 0,
                                     FALSE, &device);
    UNREFERENCED_PARAMETER(RegistryPath);
    if (!NT_SUCCESS(status)) return status;
    device->Flags |= DO_BUFFERED_IO;
    major[IRP_MJ_CREATE] = major[IRP_MJ_CLEANUP] = major[IRP_MJ_CLOSE] = Succeed;
    major[IRP_MJ_READ] = Read;
    major[IRP_MJ_WRITE] = Write;
    major[IRP_MJ_DEVICE_CONTROL] = Control;
    DriverObject->DriverUnload = Unload;
    return STATUS_SUCCESS;
}

int main(void) {
    static char letter[] = "a letter", text[64];
    OBJECT_ATTRIBUTES attributes;
    IO_STATUS_BLOCK done, reading;
    LARGE_INTEGER start = {{0, 0}};
    PDRIVER_OBJECT driver;
    ULONG count = 0;
    HANDLE file;

    InitializeObjectAttributes(&attributes, &Name, OBJ_CASE_INSENSITIVE, NULL, NULL);
    if (!NT_SUCCESS(IrpLoadDriver(DriverEntry, &Name, &driver)) ||
        !NT_SUCCESS(NtOpenFile(&file, GENERIC_READ | GENERIC_WRITE, &attributes, &done, 0, 0)))
        return 1;
    NtWriteFile(file, NULL, NULL, NULL, &done, letter, sizeof letter, &start, NULL);
    NtReadFile(file, NULL, NULL, NULL, &done, text, sizeof text, &start, NULL);
    NtDeviceIoControlFile(file, NULL, NULL, NULL, &done, IOCTL_COUNT, NULL, 0, &count, 4);
    printf("read \"%s\", letter %lu\n", text, (unsigned long)count);

    NtReadFile(file, NULL, NULL, NULL, &reading, text, sizeof text, &start, NULL); /* pends */
    NtCancelIoFileEx(file, &reading, &done);
    printf("read again: %s\n", NtStatusName(reading.Status));
    NtClose(file);
    return strcmp(text, letter) != 0 || count != 1 || reading.Status != STATUS_CANCELLED ||
           !NT_SUCCESS(IrpUnloadDriver(driver));
}
