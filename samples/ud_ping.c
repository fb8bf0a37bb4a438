/* Two queue pairs of unreliable datagrams on the built-in software fabric send their names. The
   answer goes where the completion of the receive says. */
#include "one_irp.h"

#include <ci/ci.h>
#include <hca/hca.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QKEY 0x1234
#define ROUTE 40 /* bytes in front of each datagram, for a global route header */

/* One end. It sends the first 64 bytes, and receives into the others. */
typedef struct {
    const char* Name;
    IB_CA* Ca;
    IB_PD* Pd;
    IB_CQ* Cq; /* of receives, and of sends that fail */
    IB_MR* Mr;
    IB_QP* Qp;
    IB_PORT_ATTR Port;
    char Bytes[64 + ROUTE + 64];
} END;

/* Calls a verb and waits for it; returns its object, and exits when it fails. */
#define CALL(verb, ...) (verb(__VA_ARGS__, Prepared()), Result(#verb))
static void* Result(const char* Verb) {
    const NTSTATUS status = Awaited();
    if (NT_SUCCESS(status) || status == STATUS_BUFFER_OVERFLOW) /* a port without its tables */
        return (void*)Irp->IoStatus.Information;
    fprintf(stderr, "ud_ping: %s: %s\n", Verb, NtStatusMeaning(status));
    exit(1);
}

static void Open(END* End, ib_guid_t Guid) {
    ib_mr_create_t region = {End->Bytes, sizeof(End->Bytes), IB_AC_LOCAL_WRITE, 0};
    ib_qp_create_t wanted = {0};
    ib_qp_mod_t change = {0};
    End->Ca = CALL(CiOpenCa, HcaFromGuid(Guid), NULL, NULL, NULL);
    End->Pd = CALL(CiAllocatePd, End->Ca, IB_PDT_NORMAL, NULL);
    End->Cq = CALL(CiCreateCq, End->Ca, 4, NULL, NULL, NULL);
    End->Mr = CALL(CiRegisterMr, End->Pd, &region, NULL);
    CALL(CiQueryPort, End->Ca, 1, sizeof(End->Port), &End->Port);
    wanted.qp_type = IB_QPT_UNRELIABLE_DGRM;
    wanted.h_sq_cq = wanted.h_rq_cq = End->Cq;
    wanted.sq_depth = wanted.rq_depth = wanted.sq_sge = wanted.rq_sge = 1;
    End->Qp = CALL(CiCreateQp, End->Pd, &wanted, NULL);
    change.req_state = IB_QPS_INIT;
    change.opts = IB_MOD_QP_STATE | IB_MOD_QP_PKEY | IB_MOD_QP_PRIMARY_PORT | IB_MOD_QP_QKEY;
    change.primary_port = 1;
    change.qkey = QKEY;
    CALL(CiModifyQp, End->Qp, &change, NULL);
    change.req_state = IB_QPS_RTR;
    change.opts = IB_MOD_QP_STATE;
    CALL(CiModifyQp, End->Qp, &change, NULL);
    change.req_state = IB_QPS_RTS;
    change.opts = IB_MOD_QP_STATE | IB_MOD_QP_SQ_PSN;
    CALL(CiModifyQp, End->Qp, &change, NULL);
}

static IB_WC Next(const END* Of) {
    IB_WC entry = {.Status = IB_WC_GENERAL_ERROR};
    ULONG taken;
    CALL(CiArmCq, Of->Cq, IB_CQ_ARM_NEXT);
    CALL(CiGetCqCompEvent, Of->Cq);
    CiGetCqResults(Of->Cq, 1, &entry, &taken);
    return entry;
}

/* Sends the end's name, and returns what the other end received. */
static IB_WC Send(END* End, END* To, ib_lid_t Lid, ib_qpn_t Qp) {
    ib_local_ds_t segment = {(ULONG_PTR)End->Bytes, 64, End->Mr->LKey};
    ib_av_attr_t way = {.dlid = Lid, .port_num = 1};
    ib_local_ds_t into = {(ULONG_PTR)(To->Bytes + 64), ROUTE + 64, To->Mr->LKey};
    ib_recv_wr_t receive = {.ds_array = &into, .num_ds = 1};
    IB_AV* av = CALL(CiCreateAv, End->Pd, &way, NULL);
    ib_send_wr_t what = {
        .ds_array = &segment, .num_ds = 1, .wr_type = WR_SEND, .dgrm.ud = {av, Qp, QKEY, 0}};
    IB_WC got = {.Status = IB_WC_GENERAL_ERROR};
    snprintf(End->Bytes, 64, "%s", End->Name);
    if (NT_SUCCESS(CiPostRecv(To->Qp, &receive, NULL)) &&
        NT_SUCCESS(CiPostSend(End->Qp, &what, NULL)))
        got = Next(To);
    CALL(CiDestroyAv, av, NULL);
    printf("%s from LID %u, QP %06x\n", To->Bytes + 64 + ROUTE, got.SourceLid, got.SourceQp);
    return got;
}

static void Close(const END* End) {
    CALL(CiDestroyQp, End->Qp, NULL);
    CALL(CiDeregisterMr, End->Mr, NULL);
    CALL(CiDeallocatePd, End->Pd, NULL);
    CALL(CiDestroyCq, End->Cq, NULL);
    CALL(CiCloseCa, End->Ca, NULL);
}

int main(void) {
    static END ends[2] = {{.Name = "ping"}, {.Name = "pong"}};
    ib_guid_t guids[16];
    ULONG count = 16;
    IB_WC got;
    Irp = IoAllocateIrp(1, FALSE);
    if (Irp == NULL || !NT_SUCCESS(HcaAttach("software:", NULL))) return 1;
    HcaEnumerate(guids, &count);
    Open(&ends[0], guids[0]);
    Open(&ends[1], guids[1]);
    got = Send(&ends[0], &ends[1], ends[1].Port.Lid, ends[1].Qp->Num);
    if (got.Status == IB_WC_SUCCESS) got = Send(&ends[1], &ends[0], got.SourceLid, got.SourceQp);
    Close(&ends[0]);
    Close(&ends[1]);
    HcaDetach("software:");
    IoFreeIrp(Irp);
    return got.Status == IB_WC_SUCCESS && got.ByteCount == ROUTE + 64 ? 0 : 1;
}
