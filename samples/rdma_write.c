/* Connects two queue pairs of the built-in software fabric, writes a text into the peer's memory,
   and reads it back. */
#include "one_irp.h"

#include <ci/ci.h>
#include <hca/hca.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT "written by RDMA"

/* One end. The text is written from the first 64 bytes, and read back into the others. */
typedef struct {
    IB_CA* Ca;
    IB_PD* Pd;
    IB_CQ* Cq;
    IB_MR* Mr;
    IB_QP* Qp;
    IB_PORT_ATTR Port;
    char Bytes[128];
} END;

/* Calls a verb and waits for it; returns its object, and exits when it fails. */
#define CALL(verb, ...) (verb(__VA_ARGS__, Prepared()), Result(#verb))
static void* Result(const char* Verb) {
    const NTSTATUS status = Awaited();
    if (NT_SUCCESS(status) || status == STATUS_BUFFER_OVERFLOW) /* a port without its tables */
        return (void*)Irp->IoStatus.Information;
    fprintf(stderr, "rdma_write: %s: %s\n", Verb, NtStatusMeaning(status));
    exit(1);
}

static void Open(END* End, ib_guid_t Guid) {
    ib_mr_create_t region = {End->Bytes, sizeof(End->Bytes), IB_AC_LOCAL_WRITE | IB_AC_REMOTE};
    ib_qp_create_t wanted = {0};
    End->Ca = CALL(CiOpenCa, HcaFromGuid(Guid), NULL, NULL, NULL);
    End->Pd = CALL(CiAllocatePd, End->Ca, IB_PDT_NORMAL, NULL);
    End->Cq = CALL(CiCreateCq, End->Ca, 4, NULL, NULL, NULL);
    End->Mr = CALL(CiRegisterMr, End->Pd, &region, NULL);
    CALL(CiQueryPort, End->Ca, 1, sizeof(End->Port), &End->Port);
    wanted.qp_type = IB_QPT_RELIABLE_CONN;
    wanted.h_sq_cq = wanted.h_rq_cq = End->Cq;
    wanted.sq_depth = wanted.sq_sge = 1;
    End->Qp = CALL(CiCreateQp, End->Pd, &wanted, NULL);
}

static void Connect(END* End, const END* Peer) {
    ib_qp_mod_t change = {0};
    change.req_state = IB_QPS_INIT;
    change.opts = IB_MOD_QP_STATE | IB_MOD_QP_PKEY | IB_MOD_QP_PRIMARY_PORT | IB_MOD_QP_ACCESS_CTRL;
    change.primary_port = change.primary_av.port_num = change.resp_res = change.init_depth = 1;
    change.access_ctrl = IB_AC_REMOTE;
    CALL(CiModifyQp, End->Qp, &change, NULL);
    change.req_state = IB_QPS_RTR;
    change.opts = IB_MOD_QP_STATE | IB_MOD_QP_PRIMARY_AV | IB_MOD_QP_PATH_MTU | IB_MOD_QP_DEST_QP |
                  IB_MOD_QP_RQ_PSN | IB_MOD_QP_RESP_RES | IB_MOD_QP_RNR_NAK_TIMEOUT;
    change.primary_av.dlid = Peer->Port.Lid;
    change.path_mtu = IB_MTU_1024;
    change.dest_qp = Peer->Qp->Num;
    CALL(CiModifyQp, End->Qp, &change, NULL);
    change.req_state = IB_QPS_RTS;
    change.opts = IB_MOD_QP_STATE | IB_MOD_QP_SQ_PSN | IB_MOD_QP_INIT_DEPTH |
                  IB_MOD_QP_LOCAL_ACK_TIMEOUT | IB_MOD_QP_RETRY_CNT | IB_MOD_QP_RNR_RETRY_CNT;
    change.local_ack_timeout = 14;
    change.retry_cnt = change.rnr_retry_cnt = 7;
    CALL(CiModifyQp, End->Qp, &change, NULL);
}

/* Moves 64 bytes between `At` and the peer's first bytes; returns the completion's status. */
static ULONG Move(END* End, const END* Peer, ib_wr_type_t Type, char* At) {
    ib_local_ds_t segment = {(ULONG_PTR)At, 64, End->Mr->LKey};
    ib_send_wr_t what = {.ds_array = &segment,
                         .num_ds = 1,
                         .wr_type = Type,
                         .send_opt = IB_SEND_OPT_SIGNALED,
                         .remote_ops = {(ULONG_PTR)Peer->Bytes, 0, 0, Peer->Mr->RKey}};
    IB_WC entry;
    ULONG taken;
    if (!NT_SUCCESS(CiPostSend(End->Qp, &what, NULL))) return IB_WC_GENERAL_ERROR;
    CALL(CiArmCq, End->Cq, IB_CQ_ARM_NEXT);
    CALL(CiGetCqCompEvent, End->Cq);
    CiGetCqResults(End->Cq, 1, &entry, &taken);
    return taken == 1 ? entry.Status : IB_WC_GENERAL_ERROR;
}

static void Close(const END* End) {
    CALL(CiDestroyQp, End->Qp, NULL);
    CALL(CiDeregisterMr, End->Mr, NULL);
    CALL(CiDeallocatePd, End->Pd, NULL);
    CALL(CiDestroyCq, End->Cq, NULL);
    CALL(CiCloseCa, End->Ca, NULL);
}

int main(void) {
    static END ends[2];
    ib_guid_t guids[16];
    ULONG count = 16;
    int good;
    Irp = IoAllocateIrp(1, FALSE);
    if (Irp == NULL || !NT_SUCCESS(HcaAttach("software:", NULL))) return 1;
    HcaEnumerate(guids, &count);
    Open(&ends[0], guids[0]);
    Open(&ends[1], guids[1]);
    Connect(&ends[0], &ends[1]);
    Connect(&ends[1], &ends[0]);
    strcpy(ends[0].Bytes, TEXT);
    good = Move(&ends[0], &ends[1], WR_RDMA_WRITE, ends[0].Bytes) == IB_WC_SUCCESS &&
           strcmp(ends[1].Bytes, TEXT) == 0 &&
           Move(&ends[0], &ends[1], WR_RDMA_READ, ends[0].Bytes + 64) == IB_WC_SUCCESS &&
           strcmp(ends[0].Bytes + 64, TEXT) == 0;
    printf("%s; read back: %s\n", ends[1].Bytes, ends[0].Bytes + 64);
    Close(&ends[0]);
    Close(&ends[1]);
    HcaDetach("software:");
    IoFreeIrp(Irp);
    return good ? 0 : 1;
}
