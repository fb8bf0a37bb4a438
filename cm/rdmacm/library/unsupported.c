/* Functions of librdmacm that nothing here supports: enhanced connection establishment. They set
   errno to EOPNOTSUPP and return -1. */
#include "wait.h"

#include <errno.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

static int unsupported(void) {
    errno = EOPNOTSUPP;
    return -1;
}

int rdma_set_local_ece(struct rdma_cm_id* id, struct ibv_ece* ece) { return unsupported(); }
int rdma_get_remote_ece(struct rdma_cm_id* id, struct ibv_ece* ece) { return unsupported(); }
