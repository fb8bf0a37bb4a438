/* An unconfigured fabric and a subnet manager, started from C: the first port of each HCA before
   and after. */
#include "one_irp.h"

#include <ci/ci.h>
#include <hca/hca.h>
#include <subnet_manager/subnet_manager.h>

#include <stdio.h>

#define FABRIC "software:?unmanaged"
#define MAX_HCAS 16

typedef union {
    IB_PORT_ATTR Attr;
    UCHAR Bytes[1024];
} PORT_BLOCK;

/* Returns the number of HCAs whose first port is active, or -1. */
static int ActivePorts(const ib_guid_t* Guids, ULONG Count) {
    static PORT_BLOCK block;
    int active = 0;
    ULONG i;
    for (i = 0; i < Count && active >= 0; ++i) {
        NTSTATUS status;
        IB_CA* ca;
        CiOpenCa(HcaFromGuid(Guids[i]), NULL, NULL, NULL, Prepared());
        if (!NT_SUCCESS(Awaited())) return -1;
        ca = (IB_CA*)Irp->IoStatus.Information;
        CiQueryPort(ca, 1, sizeof(block), &block.Attr, Prepared());
        status = Awaited();
        CiCloseCa(ca, NULL, Prepared());
        Awaited();
        if (status != STATUS_SUCCESS) return -1;
        if (block.Attr.State == IB_PORT_ACTIVE) ++active;
    }
    return active;
}

/* Starts the manager, waits until the subnet is up, and stops it. */
static NTSTATUS Manage(const ib_guid_t* Guids, ULONG Count) {
    SM_OPTIONS options;
    SM_MANAGER* manager;
    NTSTATUS status;
    SmInitializeOptions(&options, Guids[0]);
    options.Lmc = 1;
    status = SmCreate(&options, &manager);
    if (!NT_SUCCESS(status)) return status;

    SmStart(manager, Prepared());
    status = Awaited();
    if (NT_SUCCESS(status)) {
        SmWaitUntilUp(manager, Prepared());
        status = Awaited();
        printf("with a subnet manager: %d of %u are active\n", ActivePorts(Guids, Count), Count);
        SmStop(manager, Prepared());
        Awaited();
    }
    SmDestroy(manager);
    return status;
}

int main(void) {
    ib_guid_t guids[MAX_HCAS];
    ULONG count = MAX_HCAS;
    NTSTATUS status = HcaAttach(FABRIC, NULL);
    if (NT_SUCCESS(status)) status = HcaEnumerate(guids, &count);
    if (NT_SUCCESS(status)) {
        Irp = IoAllocateIrp(1, FALSE);
        if (Irp == NULL) status = STATUS_INSUFFICIENT_RESOURCES;
    }
    if (NT_SUCCESS(status)) {
        printf("without: %d of %u are active\n", ActivePorts(guids, count), count);
        status = Manage(guids, count);
        if (NT_SUCCESS(status) && ActivePorts(guids, count) != (int)count)
            status = STATUS_UNSUCCESSFUL;
        IoFreeIrp(Irp);
    }
    if (!NT_SUCCESS(status)) fprintf(stderr, "managed_subnet: %s\n", NtStatusMeaning(status));
    HcaDetach(FABRIC);
    return NT_SUCCESS(status) ? 0 : 1;
}
