/* Endpoints: an id with its addresses, route and queue pair in one call. Source: rdma_create_ep(3).
 */
#include "wait.h"

#include <errno.h>

enum { resolution_ms = 2000 };

static int create_typed_id(struct rdma_cm_id** id, const struct rdma_addrinfo* from) {
    const int before = irpverbs_enter();
    const int result =
        irpverbs_rdma_create_typed_id(NULL, id, NULL, (enum rdma_port_space)from->ai_port_space,
                                      (enum ibv_qp_type)from->ai_qp_type);
    irpverbs_leave(before);
    return result;
}

static int keep_qp_attributes(struct rdma_cm_id* id, struct ibv_pd* pd,
                              const struct ibv_qp_init_attr* attr) {
    const int before = irpverbs_enter();
    const int result = irpverbs_rdma_keep_qp_attributes(id, pd, attr);
    irpverbs_leave(before);
    return result;
}

static int make_passive(struct rdma_cm_id* id, const struct rdma_addrinfo* res, struct ibv_pd* pd,
                        struct ibv_qp_init_attr* attr) {
    if (rdma_bind_addr(id, res->ai_src_addr) != 0) return -1;
    return attr != NULL ? keep_qp_attributes(id, pd, attr) : 0;
}

static int make_active(struct rdma_cm_id* id, const struct rdma_addrinfo* res, struct ibv_pd* pd,
                       struct ibv_qp_init_attr* attr) {
    if (rdma_resolve_addr(id, res->ai_src_addr, res->ai_dst_addr, resolution_ms) != 0) return -1;
    if (rdma_resolve_route(id, resolution_ms) != 0) return -1;
    if (attr == NULL) return 0;
    return rdma_create_qp(id, pd, attr);
}

int rdma_create_ep(struct rdma_cm_id** id, struct rdma_addrinfo* res, struct ibv_pd* pd,
                   struct ibv_qp_init_attr* qp_init_attr) {
    struct rdma_cm_id* made;
    const int passive = (res->ai_flags & RAI_PASSIVE) != 0;
    if (create_typed_id(&made, res) != 0) return -1;
    if (qp_init_attr != NULL) qp_init_attr->qp_type = (enum ibv_qp_type)res->ai_qp_type;
    if ((passive ? make_passive(made, res, pd, qp_init_attr)
                 : make_active(made, res, pd, qp_init_attr)) != 0) {
        const int error = errno;
        rdma_destroy_ep(made);
        errno = error;
        return -1;
    }
    *id = made;
    return 0;
}

void rdma_destroy_ep(struct rdma_cm_id* id) {
    if (id->qp != NULL) rdma_destroy_qp(id);
    if (id->srq != NULL) rdma_destroy_srq(id);
    rdma_destroy_id(id);
}
