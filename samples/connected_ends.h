/* Two ends of a reliable connection, on the first two HCAs of the built-in software fabric. */
#ifndef IRPVERBS_SAMPLES_CONNECTED_ENDS_H
#define IRPVERBS_SAMPLES_CONNECTED_ENDS_H

#include "one_irp.h"

#include <ci/ci.h>
#include <hca/hca.h>

#include <stdio.h>
#include <stdlib.h>

/* One end. */
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
    fprintf(stderr, "%s: %s\n", Verb, NtStatusMeaning(status));
    exit(1);
}

static void Open(END* End, ib_guid_t Guid) {
    ib_mr_create_t region = {End->Bytes, sizeof(End->Bytes), IB_AC_LOCAL_WRITE | IB_AC_REMOTE, 0};
    ib_qp_create_t wanted = {0};
    End->Ca = CALL(CiOpenCa, HcaFromGuid(Guid), NULL, NULL, NULL);
    End->Pd = CALL(CiAllocatePd, End->Ca, IB_PDT_NORMAL, NULL);
    End->Cq = CALL(CiCreateCq, End->Ca, 4, NULL, NULL, NULL);
    End->Mr = CALL(CiRegisterMr, End->Pd, &region, NULL);
    CALL(CiQueryPort, End->Ca, 1, sizeof(End->Port), &End->Port);
    wanted.qp_type = IB_QPT_RELIABLE_CONN;
    wanted.h_sq_cq = wanted.h_rq_cq = End->Cq;
    wanted.sq_depth = wanted.sq_sge = wanted.rq_depth = wanted.rq_sge = 1;
    End->Qp = CALL(CiCreateQp, End->Pd, &wanted, NULL);
}

static inline void Connect(END* End, const END* Peer) {
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

/* Allocates the IRP and opens the ends; returns 0 without HCAs. */
static int OpenBoth(END Ends[2]) {
    ib_guid_t guids[16];
    ULONG count = 16;
    Irp = IoAllocateIrp(1, FALSE);
    if (Irp == NULL || !NT_SUCCESS(HcaAttach("software:", NULL))) return 0;
    HcaEnumerate(guids, &count);
    Open(&Ends[0], guids[0]);
    Open(&Ends[1], guids[1]);
    return 1;
}

/* Opens the ends and connects them; returns 0 without HCAs. */
static inline int Begin(END Ends[2]) {
    if (!OpenBoth(Ends)) return 0;
    Connect(&Ends[0], &Ends[1]);
    Connect(&Ends[1], &Ends[0]);
    return 1;
}

static void Close(const END* End) {
    CALL(CiDestroyQp, End->Qp, NULL);
    CALL(CiDeregisterMr, End->Mr, NULL);
    CALL(CiDeallocatePd, End->Pd, NULL);
    CALL(CiDestroyCq, End->Cq, NULL);
    CALL(CiCloseCa, End->Ca, NULL);
}

static void Finish(const END Ends[2]) {
    Close(&Ends[0]);
    Close(&Ends[1]);
    HcaDetach("software:");
    IoFreeIrp(Irp);
}

#endif
