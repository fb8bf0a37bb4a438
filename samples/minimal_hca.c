/* The smallest HCA: a driver with one port, and a client that opens, queries and closes it. */
#include <ci/driver.h>
#include <hca/hca.h>

#include <stdio.h>

#define NODE_GUID 0x0200000000000a00ull

/* ---- the driver: verbs without a routine complete with STATUS_NOT_SUPPORTED ---- */

static const ib_gid_t gid = {IB_DEFAULT_GID_PREFIX, NODE_GUID + 1};
static const ib_pkey_t pkey = IB_PKEY_DEFAULT_FULL;
static const HCA_PORT_TABLES tables = {&gid, &pkey};

static NTSTATUS QueryPort(HCA_CA* Ca, UCHAR PortNumber, IB_PORT_ATTR* Attr, SIZE_T AttrSize,
                          PIRP Irp) {
    IB_PORT_ATTR port = {0};
    UNREFERENCED_PARAMETER(Ca);
    port.PortNumber = PortNumber;
    port.State = IB_PORT_ACTIVE;
    port.PhysicalState = IB_PORT_PHYS_LINK_UP;
    port.PortGuid = gid.gid_guid;
    port.Lid = 1;
    port.GidCount = 1;
    port.PKeyCount = 1;
    return HcaCopyPortAttributes(&port, &tables, Attr, AttrSize, Irp);
}

static const HCA_OPERATIONS operations = {HCA_SIZE_AND_VERSION(HCA_OPERATIONS),
                                          .QueryPort = QueryPort};

static NTSTATUS Attach(const char* Location, ULONG* Count, VOID** Attachment, char* Message,
                       SIZE_T MessageSize) {
    const HCA_DEVICE device = {HCA_SIZE_AND_VERSION(HCA_DEVICE), .Operations = &operations,
                               .Name = "minimal", .NodeGuid = NODE_GUID, .PortCount = 1};
    UNREFERENCED_PARAMETER(Location);
    UNREFERENCED_PARAMETER(Message);
    UNREFERENCED_PARAMETER(MessageSize);
    *Count = 1;
    return HcaCreateDevice(&device, (PDEVICE_OBJECT*)Attachment);
}

static NTSTATUS Detach(VOID* Attachment) {
    NTSTATUS status = HcaRefuseOpen(Attachment);
    if (NT_SUCCESS(status)) HcaDeleteDevice(Attachment);
    return status;
}

static HCA_DRIVER driver = {.Scheme = "minimal", .Attach = Attach, .Detach = Detach};

/* ---- the client: every verb of this driver completes before the call returns ---- */

static NTSTATUS Keep(PDEVICE_OBJECT DeviceObject, PIRP Irp, PVOID Context) {
    UNREFERENCED_PARAMETER(DeviceObject);
    UNREFERENCED_PARAMETER(Irp);
    UNREFERENCED_PARAMETER(Context);
    return STATUS_MORE_PROCESSING_REQUIRED; /* the client owns the IRP again */
}

static PIRP Ready(PIRP Irp) {
    IoReuseIrp(Irp, STATUS_SUCCESS);
    IoSetCompletionRoutine(Irp, Keep, NULL, TRUE, TRUE, TRUE);
    return Irp;
}

static int Use(PIRP Irp) {
    union {
        IB_PORT_ATTR Attr;
        UCHAR Bytes[512];
    } port;
    IB_CA* ca;
    int good;
    if (!NT_SUCCESS(CiOpenCa(HcaFromGuid(NODE_GUID), NULL, NULL, NULL, Ready(Irp)))) return 0;
    ca = (IB_CA*)Irp->IoStatus.Information;
    good = CiQueryPort(ca, 1, sizeof(port), &port.Attr, Ready(Irp)) == STATUS_SUCCESS;
    printf("port %u has LID %u\n", port.Attr.PortNumber, port.Attr.Lid);
    good = good && port.Attr.Lid == 1;
    good = good && CiCreateCq(ca, 8, NULL, NULL, NULL, Ready(Irp)) == STATUS_NOT_SUPPORTED;
    printf("a completion queue: %s\n", NtStatusMeaning(Irp->IoStatus.Status));
    return CiCloseCa(ca, NULL, Ready(Irp)) == STATUS_SUCCESS && good;
}

int main(void) {
    PIRP irp = IoAllocateIrp(1, FALSE);
    int good;
    HcaRegisterDriver(&driver);
    if (irp == NULL || !NT_SUCCESS(HcaAttach("minimal:", NULL))) return 1;
    good = Use(irp);
    good = HcaDetach("minimal:") == STATUS_SUCCESS && good;
    IoFreeIrp(irp);
    return good ? 0 : 1;
}
