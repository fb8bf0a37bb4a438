/* Connects two queue pairs of the built-in software fabric, writes a text into the peer's memory,
   and reads it back. */
#include <ci/ci.h>
#include <hca/hca.h>

#include <stdio.h>
#include <string.h>

#define TEXT "written by RDMA"

/* Each end: an HCA, and 128 bytes; the text is written from the first 64, and read into the others.
 */
typedef struct {
    IB_CA* Ca;
    IB_PD* Pd;
    IB_CQ* Cq;
    IB_MR* Mr;
    IB_QP* Qp;
    IB_PORT_ATTR Port;
    char Bytes[128];
} END;

static KEVENT completed;
static PIRP irp;

/* The caller owns the IRP again; its result is still valid. */
static NTSTATUS Done(PDEVICE_OBJECT DeviceObject, PIRP Irp, PVOID Context) {
    UNREFERENCED_PARAMETER(DeviceObject);
    UNREFERENCED_PARAMETER(Irp);
    KeSetEvent((PKEVENT)Context, IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

static PIRP Prepare(void) {
    IoReuseIrp(irp, STATUS_SUCCESS);
    KeInitializeEvent(&completed, NotificationEvent, FALSE);
    IoSetCompletionRoutine(irp, Done, &completed, TRUE, TRUE, TRUE);
    return irp;
}

/* Waits for the verb that was called with Prepare(). Returns its object; exits when it failed. */
static void* Await(const char* Verb) {
    KeWaitForSingleObject(&completed, Executive, KernelMode, FALSE, NULL);
    if (NT_SUCCESS(irp->IoStatus.Status) || irp->IoStatus.Status == STATUS_BUFFER_OVERFLOW)
        return (void*)irp->IoStatus.Information;
    fprintf(stderr, "rdma_write: %s: %s\n", Verb, NtStatusMeaning(irp->IoStatus.Status));
    exit(1);
}
#define CALL(verb, ...) (verb(__VA_ARGS__, Prepare()), Await(#verb))

static void Open(END* End, ib_guid_t Guid) {
    ib_mr_create_t region = {End->Bytes, sizeof(End->Bytes), IB_AC_LOCAL_WRITE | IB_AC_REMOTE};
    ib_qp_create_t wanted;
    End->Ca = CALL(CiOpenCa, HcaFromGuid(Guid), NULL, NULL, NULL);
    End->Pd = CALL(CiAllocatePd, End->Ca, IB_PDT_NORMAL, NULL);
    End->Cq = CALL(CiCreateCq, End->Ca, 4, NULL, NULL, NULL);
    End->Mr = CALL(CiRegisterMr, End->Pd, &region, NULL);
    CALL(CiQueryPort, End->Ca, 1, sizeof(End->Port), &End->Port);
    memset(&wanted, 0, sizeof(wanted));
    wanted.qp_type = IB_QPT_RELIABLE_CONN;
    wanted.h_sq_cq = wanted.h_rq_cq = End->Cq;
    wanted.sq_depth = wanted.sq_sge = 1;
    End->Qp = CALL(CiCreateQp, End->Pd, &wanted, NULL);
}

static void Connect(END* End, const END* Peer) {
    ib_qp_mod_t change;
    memset(&change, 0, sizeof(change));
    change.req_state = IB_QPS_INIT;
    change.opts = IB_MOD_QP_STATE | IB_MOD_QP_PKEY | IB_MOD_QP_PRIMARY_PORT | IB_MOD_QP_ACCESS_CTRL;
    change.primary_port = change.primary_av.port_num = 1;
    change.access_ctrl = IB_AC_REMOTE;
    CALL(CiModifyQp, End->Qp, &change, NULL);
    change.req_state = IB_QPS_RTR;
    change.opts = IB_MOD_QP_STATE | IB_MOD_QP_PRIMARY_AV | IB_MOD_QP_PATH_MTU | IB_MOD_QP_DEST_QP |
                  IB_MOD_QP_RQ_PSN | IB_MOD_QP_RESP_RES | IB_MOD_QP_RNR_NAK_TIMEOUT;
    change.primary_av.dlid = Peer->Port.Lid;
    change.path_mtu = IB_MTU_1024;
    change.dest_qp = Peer->Qp->Num;
    change.resp_res = change.init_depth = 1;
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
    ib_send_wr_t what;
    IB_WC entry;
    ULONG taken;
    memset(&what, 0, sizeof(what));
    what.ds_array = &segment;
    what.num_ds = 1;
    what.wr_type = Type;
    what.send_opt = IB_SEND_OPT_SIGNALED;
    what.remote_ops.vaddr = (ULONG_PTR)Peer->Bytes;
    what.remote_ops.rkey = Peer->Mr->RKey;
    if (!NT_SUCCESS(CiPostSend(End->Qp, &what, NULL))) return IB_WC_GENERAL_ERROR;
    CALL(CiArmCq, End->Cq, IB_CQ_ARM_NEXT);
    CALL(CiGetCqCompEvent, End->Cq);
    if (!NT_SUCCESS(CiGetCqResults(End->Cq, 1, &entry, &taken)) || taken == 0)
        return IB_WC_GENERAL_ERROR;
    return entry.Status;
}

static void Close(END* End) {
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
    irp = IoAllocateIrp(1, FALSE);
    if (irp == NULL || !NT_SUCCESS(HcaAttach("software:", NULL))) return 1;
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
    IoFreeIrp(irp);
    return good ? 0 : 1;
}
