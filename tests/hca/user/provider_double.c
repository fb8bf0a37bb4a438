#include "provider_double.h"

#include <hca/software.h>

#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) struct provider_double uvp_double;

static ib_api_status_t pre(enum double_verb verb, ci_umv_buf_t* buffer) {
    ++uvp_double.verbs[verb].pre_calls;
    if (buffer != NULL) buffer->vendor_context = &uvp_double.verbs[verb];
    return uvp_double.verbs[verb].pre;
}

static ib_api_status_t post(enum double_verb verb, ci_umv_buf_t* buffer) {
    struct double_step* const step = &uvp_double.verbs[verb];
    ++step->post_calls;
    if (buffer != NULL) {
        step->ioctl_status = buffer->ioctl_status;
        step->returned = buffer->output_size;
        if (buffer->vendor_context != step) ++uvp_double.wrong;
    }
    return step->post;
}

static void expect(int holds) {
    if (!holds) ++uvp_double.wrong;
}

/* A handle is memory that names the verb which made it. */
static void make(enum double_verb verb, void* place, const ci_umv_buf_t* buffer) {
    enum double_verb* made;
    if (buffer->ioctl_status != IB_SUCCESS || uvp_double.verbs[verb].post != IB_SUCCESS) return;
    made = malloc(sizeof(*made));
    *made = verb;
    memcpy(place, &made, sizeof(made));
    ++uvp_double.live;
}

static void check(enum double_verb made_by, const void* handle) {
    expect(handle != NULL && *(const enum double_verb*)handle == made_by);
}

static void release(enum double_verb made_by, void* handle) {
    check(made_by, handle);
    free(handle);
    --uvp_double.live;
}

/* Functions that have a handle and the buffer. `made_by`: the verb that has made the handle. */
#define PRE(verb, handle, made_by)                                                                 \
    static ib_api_status_t pre_##verb(handle of, ci_umv_buf_t* buffer) {                           \
        check(double_##made_by, of);                                                               \
        return pre(double_##verb, buffer);                                                         \
    }
#define POST(verb, handle, made_by)                                                                \
    static ib_api_status_t post_##verb(handle of, ci_umv_buf_t* buffer) {                          \
        check(double_##made_by, of);                                                               \
        return post(double_##verb, buffer);                                                        \
    }
/* The post functions of verbs that create, and of those that end with a buffer and without. */
#define MADE(verb, parent, made_by, handle)                                                        \
    static ib_api_status_t post_##verb(parent of, handle* made, ci_umv_buf_t* buffer) {            \
        const ib_api_status_t status = post(double_##verb, buffer);                                \
        check(double_##made_by, of);                                                               \
        make(double_##verb, made, buffer);                                                         \
        return status;                                                                             \
    }
#define ENDED_WITH(verb, handle, made_by)                                                          \
    static ib_api_status_t post_##verb(handle of, ci_umv_buf_t* buffer) {                          \
        if (buffer->ioctl_status == IB_SUCCESS) release(double_##made_by, of);                     \
        return post(double_##verb, buffer);                                                        \
    }
#define ENDED(verb, handle, made_by)                                                               \
    static ib_api_status_t post_##verb(handle of) {                                                \
        release(double_##made_by, of);                                                             \
        return post(double_##verb, NULL);                                                          \
    }
/* Functions with the attributes of a creation or a change, of which `holds` is checked. */
#define PRE_WITH(verb, handle, made_by, attributes, holds)                                         \
    static ib_api_status_t pre_##verb(handle of, const attributes* attr, ci_umv_buf_t* buffer) {   \
        check(double_##made_by, of);                                                               \
        expect(holds);                                                                             \
        return pre(double_##verb, buffer);                                                         \
    }

static ib_api_status_t pre_open_ca(const ib_net64_t guid, ci_umv_buf_t* buffer) {
    uvp_double.guid = guid;
    return pre(double_open_ca, buffer);
}
static ib_api_status_t post_open_ca(uvp_ca_handle_t* ca, ci_umv_buf_t* buffer) {
    const ib_api_status_t status = post(double_open_ca, buffer);
    make(double_open_ca, ca, buffer);
    return status;
}
PRE(query_ca, uvp_ca_handle_t, open_ca)
static ib_api_status_t post_query_ca(uvp_ca_handle_t ca, ib_ca_attr_t* attr, uint32_t size,
                                     ci_umv_buf_t* buffer) {
    check(double_open_ca, ca);
    if (size >= sizeof(*attr)) attr->VendorPartId = 4711;
    return post(double_query_ca, buffer);
}
static ib_api_status_t pre_modify_ca(uvp_ca_handle_t ca, uint8_t port, ib_ca_mod_t flags,
                                     const ib_port_attr_mod_t* change) {
    check(double_open_ca, ca);
    expect((port == 0) == (change == NULL) && flags != 0);
    return pre(double_modify_ca, NULL);
}
static ib_api_status_t post_modify_ca(uvp_ca_handle_t ca) {
    check(double_open_ca, ca);
    return post(double_modify_ca, NULL);
}
PRE(close_ca, uvp_ca_handle_t, open_ca)
ENDED(close_ca, uvp_ca_handle_t, open_ca)

PRE(allocate_pd, uvp_ca_handle_t, open_ca)
MADE(allocate_pd, uvp_ca_handle_t, open_ca, uvp_pd_handle_t)
PRE(deallocate_pd, uvp_pd_handle_t, allocate_pd)
ENDED(deallocate_pd, uvp_pd_handle_t, allocate_pd)

PRE_WITH(create_av, uvp_pd_handle_t, allocate_pd, ib_av_attr_t, attr->dlid != 0)
MADE(create_av, uvp_pd_handle_t, allocate_pd, uvp_av_handle_t)
PRE(query_av, uvp_av_handle_t, create_av)
static ib_api_status_t post_query_av(uvp_av_handle_t av, ib_av_attr_t* attr, uvp_pd_handle_t* pd,
                                     ci_umv_buf_t* buffer) {
    check(double_create_av, av);
    check(double_allocate_pd, *pd);
    attr->sl = 5;
    return post(double_query_av, buffer);
}
PRE_WITH(modify_av, uvp_av_handle_t, create_av, ib_av_attr_t, attr->dlid != 0)
POST(modify_av, uvp_av_handle_t, create_av)
PRE(destroy_av, uvp_av_handle_t, create_av)
ENDED_WITH(destroy_av, uvp_av_handle_t, create_av)

PRE_WITH(create_qp, uvp_pd_handle_t, allocate_pd, ib_qp_create_t, attr->sq_depth != 0)
MADE(create_qp, uvp_pd_handle_t, allocate_pd, uvp_qp_handle_t)
PRE_WITH(modify_qp, uvp_qp_handle_t, create_qp, ib_qp_mod_t, attr->opts != 0)
POST(modify_qp, uvp_qp_handle_t, create_qp)
PRE(query_qp, uvp_qp_handle_t, create_qp)
static ib_api_status_t post_query_qp(uvp_qp_handle_t qp, ib_qp_attr_t* attr, ci_umv_buf_t* buffer) {
    check(double_create_qp, qp);
    attr->sq_depth = 77;
    return post(double_query_qp, buffer);
}
PRE(destroy_qp, uvp_qp_handle_t, create_qp)
ENDED(destroy_qp, uvp_qp_handle_t, create_qp)

/* Lends room for the software HCA's reply. */
static void lend(ci_umv_buf_t* buffer) {
    buffer->output_size = sizeof(HCA_SOFTWARE_CQ_REPLY);
    buffer->input_size = 4;
    buffer->p_inout_buf = (uint64_t)(uintptr_t)calloc(1, 64);
    if (uvp_double.oversized != 0) buffer->input_size = 65536 + uvp_double.oversized;
}
static void return_buffer(ci_umv_buf_t* buffer) {
    void* const bytes = (void*)(uintptr_t)buffer->p_inout_buf;
    memcpy(uvp_double.reply, bytes, buffer->output_size);
    free(bytes);
}
static ib_api_status_t pre_create_cq(const uvp_ca_handle_t ca, uint32_t* size,
                                     ci_umv_buf_t* buffer) {
    const ib_api_status_t status = pre(double_create_cq, buffer);
    check(double_open_ca, ca);
    *size += uvp_double.raise_size;
    if (status == IB_SUCCESS) lend(buffer);
    return status;
}
static ib_api_status_t post_create_cq(const uvp_ca_handle_t ca, const uint32_t size,
                                      uvp_cq_handle_t* cq, ci_umv_buf_t* buffer) {
    const ib_api_status_t status = post(double_create_cq, buffer);
    check(double_open_ca, ca);
    uvp_double.granted = size;
    return_buffer(buffer);
    make(double_create_cq, cq, buffer);
    return status;
}
PRE(query_cq, uvp_cq_handle_t, create_cq)
POST(query_cq, uvp_cq_handle_t, create_cq)
static ib_api_status_t pre_resize_cq(const uvp_cq_handle_t cq, uint32_t* size,
                                     ci_umv_buf_t* buffer) {
    check(double_create_cq, cq);
    *size += uvp_double.raise_size;
    return pre(double_resize_cq, buffer);
}
static ib_api_status_t post_resize_cq(const uvp_cq_handle_t cq, const uint32_t size,
                                      ci_umv_buf_t* buffer) {
    check(double_create_cq, cq);
    uvp_double.granted = size;
    return post(double_resize_cq, buffer);
}
PRE(destroy_cq, uvp_cq_handle_t, create_cq)
ENDED(destroy_cq, uvp_cq_handle_t, create_cq)

PRE_WITH(register_mr, uvp_pd_handle_t, allocate_pd, ib_mr_create_t, attr->length != 0)
static ib_api_status_t post_register_mr(const uvp_pd_handle_t pd, const uint32_t* lkey,
                                        const uint32_t* rkey, uvp_mr_handle_t* mr,
                                        ci_umv_buf_t* buffer) {
    const ib_api_status_t status = post(double_register_mr, buffer);
    check(double_allocate_pd, pd);
    expect(buffer->ioctl_status != IB_SUCCESS || (*lkey != 0 && *rkey != 0));
    make(double_register_mr, mr, buffer);
    return status;
}
static ib_api_status_t pre_register_smr(const uvp_pd_handle_t pd, const uvp_mr_handle_t mr,
                                        const ib_access_t access, void* vaddr,
                                        ci_umv_buf_t* buffer) {
    check(double_allocate_pd, pd);
    check(double_register_mr, mr);
    expect(access == IB_AC_RDMA_READ && vaddr != NULL);
    return pre(double_register_smr, buffer);
}
static ib_api_status_t post_register_smr(const uvp_pd_handle_t pd, const uvp_mr_handle_t mr,
                                         const void* vaddr, const uint32_t* lkey,
                                         const uint32_t* rkey, uvp_mr_handle_t* shared,
                                         ci_umv_buf_t* buffer) {
    const ib_api_status_t status = post(double_register_smr, buffer);
    check(double_allocate_pd, pd);
    check(double_register_mr, mr);
    expect(vaddr != NULL && *lkey != 0 && *rkey != 0);
    make(double_register_mr, shared, buffer);
    return status;
}
PRE(query_mr, uvp_mr_handle_t, register_mr)
static ib_api_status_t post_query_mr(const uvp_mr_handle_t mr, const ib_mr_attr_t* attr,
                                     ci_umv_buf_t* buffer) {
    check(double_register_mr, mr);
    expect(attr->lkey != 0);
    return post(double_query_mr, buffer);
}
static ib_api_status_t pre_modify_mr(const uvp_mr_handle_t mr, const uvp_pd_handle_t pd,
                                     const uint32_t mask, const ib_mr_create_t* attr,
                                     ci_umv_buf_t* buffer) {
    check(double_register_mr, mr);
    expect(mask == IB_MR_MOD_ACCESS && pd == NULL && attr->access_ctrl == IB_AC_LOCAL_WRITE);
    return pre(double_modify_mr, buffer);
}
static ib_api_status_t post_modify_mr(const uvp_mr_handle_t mr, const uvp_pd_handle_t pd,
                                      const uint32_t* lkey, const uint32_t* rkey,
                                      ci_umv_buf_t* buffer) {
    check(double_register_mr, mr);
    expect(pd == NULL && *lkey != 0 && *rkey == 0);
    return post(double_modify_mr, buffer);
}
PRE(deregister_mr, uvp_mr_handle_t, register_mr)
ENDED_WITH(deregister_mr, uvp_mr_handle_t, register_mr)

PRE(create_mw, uvp_pd_handle_t, allocate_pd)
static ib_api_status_t post_create_mw(const uvp_pd_handle_t pd, uint32_t rkey, uvp_mw_handle_t* mw,
                                      ci_umv_buf_t* buffer) {
    const ib_api_status_t status = post(double_create_mw, buffer);
    check(double_allocate_pd, pd);
    expect(rkey != 0);
    make(double_create_mw, mw, buffer);
    return status;
}
PRE(query_mw, uvp_mw_handle_t, create_mw)
static ib_api_status_t post_query_mw(const uvp_mw_handle_t mw, uvp_pd_handle_t* pd, uint32_t rkey,
                                     ci_umv_buf_t* buffer) {
    check(double_create_mw, mw);
    check(double_allocate_pd, *pd);
    expect(rkey != 0);
    return post(double_query_mw, buffer);
}
PRE(destroy_mw, uvp_mw_handle_t, create_mw)
ENDED_WITH(destroy_mw, uvp_mw_handle_t, create_mw)

static ib_api_status_t pre_attach_mcast(const uvp_qp_handle_t qp, const ib_gid_t* gid,
                                        const uint16_t lid, ci_umv_buf_t* buffer) {
    check(double_create_qp, qp);
    expect(gid->gid_prefix != 0 && lid != 0);
    return pre(double_attach_mcast, buffer);
}
MADE(attach_mcast, uvp_qp_handle_t, create_qp, uvp_mcast_handle_t)
PRE(detach_mcast, uvp_mcast_handle_t, attach_mcast)
ENDED_WITH(detach_mcast, uvp_mcast_handle_t, attach_mcast)

PRE_WITH(create_srq, uvp_pd_handle_t, allocate_pd, ib_srq_create_t, attr->max_wr != 0)
MADE(create_srq, uvp_pd_handle_t, allocate_pd, uvp_srq_handle_t)
PRE_WITH(modify_srq, uvp_srq_handle_t, create_srq, ib_srq_mod_t, attr->opts != 0)
POST(modify_srq, uvp_srq_handle_t, create_srq)
PRE(query_srq, uvp_srq_handle_t, create_srq)
static ib_api_status_t post_query_srq(uvp_srq_handle_t srq, ib_srq_attr_t* attr,
                                      ci_umv_buf_t* buffer) {
    check(double_create_srq, srq);
    expect(attr->max_wr != 0);
    return post(double_query_srq, buffer);
}
PRE(destroy_srq, uvp_srq_handle_t, create_srq)
ENDED(destroy_srq, uvp_srq_handle_t, create_srq)

/* ---- the data path */

static ib_api_status_t post_send(const void* qp, ib_send_wr_t* const list, ib_send_wr_t** failed) {
    check(double_create_qp, qp);
    ++uvp_double.path.sends;
    if (list->p_next == NULL) return IB_SUCCESS;
    *failed = list->p_next;
    return IB_INVALID_QP_STATE;
}
static ib_api_status_t post_recv(const void* qp, ib_recv_wr_t* const list, ib_recv_wr_t** failed) {
    (void)list, (void)failed;
    check(double_create_qp, qp);
    ++uvp_double.path.receives;
    return IB_SUCCESS;
}
static ib_api_status_t post_srq_recv(const void* srq, ib_recv_wr_t* const list,
                                     ib_recv_wr_t** failed) {
    (void)list, (void)failed;
    check(double_create_srq, srq);
    ++uvp_double.path.shared_receives;
    return IB_SUCCESS;
}
static ib_api_status_t poll_cq(void* cq, ib_wc_t** unused, ib_wc_t** done) {
    ib_wc_t* const taken = *unused;
    check(double_create_cq, cq);
    if (uvp_double.path.polls++ != 0) return IB_NOT_FOUND;
    *unused = taken->p_next;
    taken->p_next = NULL;
    taken->wc.WrId = 99;
    *done = taken;
    return IB_SUCCESS;
}
static int poll_cq_array(void* cq, const int count, IB_WC* entries) {
    check(double_create_cq, cq);
    ++uvp_double.path.polls;
    expect(count == 4);
    entries[1].WrId = 100;
    return 2;
}
static ib_api_status_t enable_cq_notify(const void* cq, const boolean_t solicited) {
    check(double_create_cq, cq);
    expect(solicited);
    ++uvp_double.path.arms;
    return IB_SUCCESS;
}
static ib_api_status_t bind_mw(const uvp_mw_handle_t mw, const uvp_qp_handle_t qp,
                               ib_bind_wr_t* what, uint32_t* rkey) {
    check(double_create_mw, mw);
    check(double_create_qp, qp);
    expect(what->wr_id == 5);
    *rkey = 0x1234;
    ++uvp_double.path.binds;
    return IB_SUCCESS;
}
static void err_handler(const ib_async_event_rec_t* const record) {
    const int is_of_srq = record->code == IB_AE_SRQ_LIMIT_REACHED;
    check(is_of_srq ? double_create_srq : double_create_qp, record->context);
    uvp_double.last_event = record->code;
    ++uvp_double.events;
}

ib_api_status_t uvp_get_interface(uvp_interface_t* const functions) {
    if (functions->version < UVP_VERSION_2) return IB_UNSUPPORTED;
    if (uvp_double.version != 0) functions->version = uvp_double.version;
#define BOTH(verb) functions->pre_##verb = pre_##verb, functions->post_##verb = post_##verb;
    DOUBLE_VERBS(BOTH)
#undef BOTH
    functions->err_handler = err_handler;
    if (!uvp_double.has_data_path) return IB_SUCCESS;
    functions->post_send = post_send;
    functions->post_recv = post_recv;
    functions->post_srq_recv = post_srq_recv;
    functions->poll_cq = poll_cq;
    functions->enable_cq_notify = enable_cq_notify;
    functions->bind_mw = bind_mw;
    if (uvp_double.polls_arrays) functions->poll_cq_array = poll_cq_array;
    return IB_SUCCESS;
}
