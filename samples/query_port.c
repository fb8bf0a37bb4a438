/* Opens each HCA of the built-in software fabric and shows its first port. */
#include <ci/ci.h>
#include <hca/hca.h>

#include <stdio.h>

#define MAX_HCAS 16

typedef union {
    IB_PORT_ATTR Attr;
    UCHAR Bytes[1024];
} PORT_BLOCK;

/* The caller owns the IRP again; its result is still valid. */
static NTSTATUS Done(PDEVICE_OBJECT DeviceObject, PIRP Irp, PVOID Context) {
    UNREFERENCED_PARAMETER(DeviceObject);
    UNREFERENCED_PARAMETER(Irp);
    KeSetEvent((PKEVENT)Context, IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

/* Prepares the IRP for a verb that the caller waits for. */
static PIRP Prepare(PIRP Irp, PKEVENT Completed) {
    IoReuseIrp(Irp, STATUS_SUCCESS);
    KeInitializeEvent(Completed, NotificationEvent, FALSE);
    IoSetCompletionRoutine(Irp, Done, Completed, TRUE, TRUE, TRUE);
    return Irp;
}

static NTSTATUS Await(PIRP Irp, PKEVENT Completed) {
    KeWaitForSingleObject(Completed, Executive, KernelMode, FALSE, NULL);
    return Irp->IoStatus.Status;
}

static void Show(ib_guid_t Guid, const IB_PORT_ATTR* Port) {
    static const char* const states[] = {"?", "Down", "Init", "Armed", "Active"};
    const ib_gid_t* gid = IbPortGid(Port, 0);
    printf("%016llx port %u: %-6s LID %u, GID %016llx:%016llx, P_Key 0x%04x\n",
           (unsigned long long)Guid, Port->PortNumber,
           states[Port->State <= IB_PORT_ACTIVE ? Port->State : 0], Port->Lid,
           (unsigned long long)gid->gid_prefix, (unsigned long long)gid->gid_guid,
           IbPortPKey(Port, 0));
}

static NTSTATUS QueryPort(ib_guid_t Guid) {
    static PORT_BLOCK block;
    KEVENT completed;
    NTSTATUS status;
    IB_CA* ca;
    PIRP irp = IoAllocateIrp(1, FALSE);
    if (irp == NULL) return STATUS_INSUFFICIENT_RESOURCES;

    CiOpenCa(HcaFromGuid(Guid), NULL, NULL, NULL, Prepare(irp, &completed));
    status = Await(irp, &completed);
    if (NT_SUCCESS(status)) {
        ca = (IB_CA*)irp->IoStatus.Information;
        CiQueryPort(ca, 1, sizeof(block), &block.Attr, Prepare(irp, &completed));
        status = Await(irp, &completed);
        if (status == STATUS_SUCCESS) Show(Guid, &block.Attr);
        CiCloseCa(ca, NULL, Prepare(irp, &completed));
        Await(irp, &completed);
    }
    IoFreeIrp(irp);
    return status;
}

int main(void) {
    ib_guid_t guids[MAX_HCAS];
    ULONG count = MAX_HCAS;
    ULONG i;
    NTSTATUS status = HcaAttach("software:", NULL);
    if (NT_SUCCESS(status)) status = HcaEnumerate(guids, &count);
    for (i = 0; i < count && NT_SUCCESS(status); ++i)
        status = QueryPort(guids[i]);
    if (!NT_SUCCESS(status)) fprintf(stderr, "query_port: %s\n", NtStatusMeaning(status));
    HcaDetach("software:");
    return NT_SUCCESS(status) ? 0 : 1;
}
