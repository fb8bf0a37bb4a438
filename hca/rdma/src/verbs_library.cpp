#include "verbs_library.hpp"

namespace irpverbs::hca_rdma {

namespace {

// Functions for the inline functions and macros of verbs.h.

int query_device(ibv_context* context, ibv_device_attr_ex* attr) {
    return ibv_query_device_ex(context, nullptr, attr);
}

int query_port(ibv_context* context, uint8_t port, ibv_port_attr* attr) {
    return ibv_query_port(context, port, attr);
}

ssize_t query_gid_table(ibv_context* context, ibv_gid_entry* entries, size_t most) {
    return ibv_query_gid_table(context, entries, most, 0);
}

int req_notify_cq(ibv_cq* cq, int solicited_only) { return ibv_req_notify_cq(cq, solicited_only); }

ibv_mr* reg_mr(ibv_pd* pd, void* address, size_t length, uint64_t iova, int access) {
    return ibv_reg_mr_iova(pd, address, length, iova, access);
}

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) { return ibv_alloc_mw(pd, type); }
int dealloc_mw(ibv_mw* mw) { return ibv_dealloc_mw(mw); }
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) { return ibv_bind_mw(qp, mw, bind); }

} // namespace

constinit const verbs_library real_verbs = {
    .get_device_list = ibv_get_device_list,
    .free_device_list = ibv_free_device_list,
    .get_device_guid = ibv_get_device_guid,
    .open_device = ibv_open_device,
    .close_device = ibv_close_device,
    .query_device = query_device,
    .query_port = query_port,
    .query_gid = ibv_query_gid,
    .query_gid_table = query_gid_table,
    .query_pkey = ibv_query_pkey,
    .get_async_event = ibv_get_async_event,
    .ack_async_event = ibv_ack_async_event,
    .create_comp_channel = ibv_create_comp_channel,
    .destroy_comp_channel = ibv_destroy_comp_channel,
    .get_cq_event = ibv_get_cq_event,
    .ack_cq_events = ibv_ack_cq_events,
    .create_cq = ibv_create_cq,
    .resize_cq = ibv_resize_cq,
    .destroy_cq = ibv_destroy_cq,
    .req_notify_cq = req_notify_cq,
    .alloc_pd = ibv_alloc_pd,
    .dealloc_pd = ibv_dealloc_pd,
    .reg_mr = reg_mr,
    .rereg_mr = ibv_rereg_mr,
    .dereg_mr = ibv_dereg_mr,
    .alloc_mw = alloc_mw,
    .dealloc_mw = dealloc_mw,
    .bind_mw = bind_mw,
    .create_ah = ibv_create_ah,
    .destroy_ah = ibv_destroy_ah,
    .create_qp = ibv_create_qp,
    .modify_qp = ibv_modify_qp,
    .query_qp = ibv_query_qp,
    .destroy_qp = ibv_destroy_qp,
    .create_srq = ibv_create_srq,
    .modify_srq = ibv_modify_srq,
    .query_srq = ibv_query_srq,
    .destroy_srq = ibv_destroy_srq,
    .attach_mcast = ibv_attach_mcast,
    .detach_mcast = ibv_detach_mcast,
};

} // namespace irpverbs::hca_rdma
