/* A client and a server on two hosts of the built-in software fabric: the server accepts, the
   client connects, writes a text into the server's memory, and disconnects. The path is given, so
   no subnet manager is needed. */
#include "connected_ends.h"

#include <cm/cm.h>
#include <string.h>

#define SERVICE 0x1000000000000E0Cull
#define TEXT "written after a connection"

/* The server's requests have an IRP of their own: they pend while the client works. */
static PIRP ServerIrp;
static KEVENT ServerDone;
static PIRP ServerPrepared(void) {
    IoReuseIrp(ServerIrp, STATUS_SUCCESS);
    KeInitializeEvent(&ServerDone, NotificationEvent, FALSE);
    IoSetCompletionRoutine(ServerIrp, Done, &ServerDone, TRUE, TRUE, TRUE);
    return ServerIrp;
}
static void* ServerResult(void) {
    KeWaitForSingleObject(&ServerDone, Executive, KernelMode, FALSE, NULL);
    return NT_SUCCESS(ServerIrp->IoStatus.Status) ? (void*)ServerIrp->IoStatus.Information : NULL;
}

static ib_gid_t Gid(const END* End) {
    return (ib_gid_t){IB_DEFAULT_GID_PREFIX, End->Port.PortGuid};
}

/* From the first end to the second. */
static sa_path_record_t Path(const END Ends[2]) {
    sa_path_record_t path = {0};
    path.SGID = Gid(&Ends[0]);
    path.DGID = Gid(&Ends[1]);
    path.SLID = Ends[0].Port.Lid;
    path.DLID = Ends[1].Port.Lid;
    path.P_Key = IB_PKEY_DEFAULT_FULL;
    path.Mtu = IB_MTU_1024;
    path.PacketLifeTime = 14; /* 67 ms */
    return path;
}

static void Write(END Ends[2]) {
    ib_local_ds_t from = {(ULONG_PTR)Ends[0].Bytes, sizeof(TEXT), Ends[0].Mr->LKey};
    ib_send_wr_t write = {0};
    strcpy(Ends[0].Bytes, TEXT);
    write.ds_array = &from;
    write.num_ds = 1;
    write.wr_type = WR_RDMA_WRITE;
    write.remote_ops.vaddr = (ULONG_PTR)Ends[1].Bytes;
    write.remote_ops.rkey = Ends[1].Mr->RKey;
    CALL(CiTransfer, Ends[0].Qp, &write, NULL);
}

int main(void) {
    static END ends[2];
    static ib_cm_request_t request;
    static ib_cm_reply_t reply;
    ib_cm_listen_t service = {SERVICE, 0, 0, 0, NULL, 0};
    ib_cm_connect_t wanted;
    ib_cm_accept_t accepted;
    IB_CM* managers[2];
    IB_CM_LISTENER* listener;
    IB_CM_CONNECTION *active, *passive;
    sa_path_record_t path;
    ServerIrp = IoAllocateIrp(1, FALSE);
    if (ServerIrp == NULL || !OpenBoth(ends)) return 1;

    for (int i = 0; i < 2; ++i)
        managers[i] = CALL(CmOpen, ends[i].Ca, 1, IB_CM_OPEN_WITHOUT_SA);
    listener = CALL(CmListen, managers[1], &service);
    CmGetRequest(listener, &request, ServerPrepared());

    path = Path(ends);
    CmInitializeConnect(&wanted);
    wanted.h_qp = ends[0].Qp;
    wanted.svc_id = SERVICE;
    wanted.p_primary_path = &path;
    CmConnect(managers[0], &wanted, &reply, Prepared());

    passive = ServerResult();
    CmInitializeAccept(&accepted);
    accepted.h_qp = ends[1].Qp;
    CmAccept(passive, &accepted, ServerPrepared());
    active = Result("CmConnect"); /* the reply has come: the client may post receives */
    CALL(CmCompleteConnect, active, NULL, 0);
    ServerResult();

    Write(ends);
    printf("%s\n", ends[1].Bytes);
    CALL(CmDisconnect, active, NULL, 0);
    CALL(CmCloseConnection, active);
    CALL(CmCloseConnection, passive);
    CALL(CmCloseListener, listener);
    CALL(CmClose, managers[0]);
    CALL(CmClose, managers[1]);
    Finish(ends);
    IoFreeIrp(ServerIrp);
    return strcmp(ends[1].Bytes, TEXT) == 0 ? 0 : 1;
}
