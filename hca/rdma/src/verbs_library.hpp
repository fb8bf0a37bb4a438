// The functions of libibverbs that the driver calls. They are a table, so that a test can replace
// all of them, except ibv_poll_cq, ibv_post_send, ibv_post_recv and ibv_post_srq_recv: these call
// the functions in the context.
#pragma once

#include <infiniband/verbs.h>

namespace irpverbs::hca_rdma {

/// As in verbs.h. Null or a result other than 0 is a failure; failure_of finds the cause.
struct verbs_library {
    ibv_device** (*get_device_list)(int* count);
    void (*free_device_list)(ibv_device** list);
    __be64 (*get_device_guid)(ibv_device* device);
    ibv_context* (*open_device)(ibv_device* device);
    int (*close_device)(ibv_context* context);

    int (*query_device)(ibv_context* context, ibv_device_attr_ex* attr);
    int (*query_port)(ibv_context* context, uint8_t port, ibv_port_attr* attr);
    int (*query_gid)(ibv_context* context, uint8_t port, int index, ibv_gid* gid);
    /// Reads the GIDs of all ports. Returns the number of entries, none of them empty, or a
    /// negative errno.
    ssize_t (*query_gid_table)(ibv_context* context, ibv_gid_entry* entries, size_t most);
    int (*query_pkey)(ibv_context* context, uint8_t port, int index, __be16* pkey);

    int (*get_async_event)(ibv_context* context, ibv_async_event* event);
    void (*ack_async_event)(ibv_async_event* event);

    ibv_comp_channel* (*create_comp_channel)(ibv_context* context);
    int (*destroy_comp_channel)(ibv_comp_channel* channel);
    int (*get_cq_event)(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context);
    void (*ack_cq_events)(ibv_cq* cq, unsigned count);

    ibv_cq* (*create_cq)(ibv_context* context, int entries, void* cq_context,
                         ibv_comp_channel* channel, int vector);
    int (*resize_cq)(ibv_cq* cq, int entries);
    int (*destroy_cq)(ibv_cq* cq);
    int (*req_notify_cq)(ibv_cq* cq, int solicited_only);

    ibv_pd* (*alloc_pd)(ibv_context* context);
    int (*dealloc_pd)(ibv_pd* pd);
    ibv_mr* (*reg_mr)(ibv_pd* pd, void* address, size_t length, uint64_t iova, int access);
    /// The result is an ibv_rereg_mr_err_code, the cause in errno.
    int (*rereg_mr)(ibv_mr* mr, int flags, ibv_pd* pd, void* address, size_t length, int access);
    int (*dereg_mr)(ibv_mr* mr);
    ibv_mw* (*alloc_mw)(ibv_pd* pd, ibv_mw_type type);
    int (*dealloc_mw)(ibv_mw* mw);
    int (*bind_mw)(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind);
    ibv_ah* (*create_ah)(ibv_pd* pd, ibv_ah_attr* attr);
    int (*destroy_ah)(ibv_ah* ah);

    ibv_qp* (*create_qp)(ibv_pd* pd, ibv_qp_init_attr* attr);
    int (*modify_qp)(ibv_qp* qp, ibv_qp_attr* attr, int mask);
    int (*query_qp)(ibv_qp* qp, ibv_qp_attr* attr, int mask, ibv_qp_init_attr* init);
    int (*destroy_qp)(ibv_qp* qp);
    ibv_srq* (*create_srq)(ibv_pd* pd, ibv_srq_init_attr* attr);
    int (*modify_srq)(ibv_srq* srq, ibv_srq_attr* attr, int mask);
    int (*query_srq)(ibv_srq* srq, ibv_srq_attr* attr);
    int (*destroy_srq)(ibv_srq* srq);
    int (*attach_mcast)(ibv_qp* qp, const ibv_gid* gid, uint16_t lid);
    int (*detach_mcast)(ibv_qp* qp, const ibv_gid* gid, uint16_t lid);
};

/// The functions of the real library.
extern const verbs_library real_verbs;

} // namespace irpverbs::hca_rdma
