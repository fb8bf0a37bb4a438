/* Connects two queue pairs of the built-in software fabric, writes a text into the peer's memory,
   and reads it back: work requests are posted, and their completions polled. */
#include "connected_ends.h"

#include <ci/data_path.h>

#include <string.h>

#define TEXT "written by RDMA"

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

/* The text is written from the first 64 bytes, and read back into the others. */
int main(void) {
    static END ends[2];
    int good;
    if (!Begin(ends)) return 1;
    strcpy(ends[0].Bytes, TEXT);
    good = Move(&ends[0], &ends[1], WR_RDMA_WRITE, ends[0].Bytes) == IB_WC_SUCCESS &&
           strcmp(ends[1].Bytes, TEXT) == 0 &&
           Move(&ends[0], &ends[1], WR_RDMA_READ, ends[0].Bytes + 64) == IB_WC_SUCCESS &&
           strcmp(ends[0].Bytes + 64, TEXT) == 0;
    printf("%s; read back: %s\n", ends[1].Bytes, ends[0].Bytes + 64);
    Finish(ends);
    return good ? 0 : 1;
}
