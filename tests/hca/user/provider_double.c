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
        if (buffer->vendor_context != step) ++uvp_double.wrong_handles;
    }
    return step->post;
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
    if (handle == NULL || *(const enum double_verb*)handle != made_by) ++uvp_double.wrong_handles;
}

static void release(enum double_verb made_by, void* handle) {
    check(made_by, handle);
    free(handle);
    --uvp_double.live;
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
static ib_api_status_t pre_query_ca(uvp_ca_handle_t ca, ci_umv_buf_t* buffer) {
    check(double_open_ca, ca);
    return pre(double_query_ca, buffer);
}
static ib_api_status_t post_query_ca(uvp_ca_handle_t ca, ib_ca_attr_t* attr, uint32_t size,
                                     ci_umv_buf_t* buffer) {
    check(double_open_ca, ca);
    if (size >= sizeof(*attr)) attr->VendorPartId = 4711;
    return post(double_query_ca, buffer);
}
static ib_api_status_t pre_modify_ca(uvp_ca_handle_t ca, uint8_t port, ib_ca_mod_t flags,
                                     const ib_port_attr_mod_t* change) {
    check(double_open_ca, ca);
    if ((port == 0) != (change == NULL) || flags == 0) ++uvp_double.wrong_handles;
    return pre(double_modify_ca, NULL);
}
static ib_api_status_t post_modify_ca(uvp_ca_handle_t ca) {
    check(double_open_ca, ca);
    return post(double_modify_ca, NULL);
}
static ib_api_status_t pre_close_ca(uvp_ca_handle_t ca, ci_umv_buf_t* buffer) {
    check(double_open_ca, ca);
    return pre(double_close_ca, buffer);
}
static ib_api_status_t post_close_ca(uvp_ca_handle_t ca) {
    release(double_open_ca, ca);
    return post(double_close_ca, NULL);
}

static ib_api_status_t pre_allocate_pd(const uvp_ca_handle_t ca, ci_umv_buf_t* buffer) {
    check(double_open_ca, ca);
    return pre(double_allocate_pd, buffer);
}
static ib_api_status_t post_allocate_pd(const uvp_ca_handle_t ca, uvp_pd_handle_t* pd,
                                        ci_umv_buf_t* buffer) {
    const ib_api_status_t status = post(double_allocate_pd, buffer);
    check(double_open_ca, ca);
    make(double_allocate_pd, pd, buffer);
    return status;
}
static ib_api_status_t pre_deallocate_pd(const uvp_pd_handle_t pd, ci_umv_buf_t* buffer) {
    check(double_allocate_pd, pd);
    return pre(double_deallocate_pd, buffer);
}
static ib_api_status_t post_deallocate_pd(const uvp_pd_handle_t pd) {
    release(double_allocate_pd, pd);
    return post(double_deallocate_pd, NULL);
}

static ib_api_status_t pre_create_av(const uvp_pd_handle_t pd, const ib_av_attr_t* attr,
                                     ci_umv_buf_t* buffer) {
    check(double_allocate_pd, pd);
    if (attr->dlid == 0) ++uvp_double.wrong_handles;
    return pre(double_create_av, buffer);
}
static ib_api_status_t post_create_av(const uvp_pd_handle_t pd, uvp_av_handle_t* av,
                                      ci_umv_buf_t* buffer) {
    const ib_api_status_t status = post(double_create_av, buffer);
    check(double_allocate_pd, pd);
    make(double_create_av, av, buffer);
    return status;
}
static ib_api_status_t pre_query_av(uvp_av_handle_t av, ci_umv_buf_t* buffer) {
    check(double_create_av, av);
    return pre(double_query_av, buffer);
}
static ib_api_status_t post_query_av(uvp_av_handle_t av, ib_av_attr_t* attr, uvp_pd_handle_t* pd,
                                     ci_umv_buf_t* buffer) {
    check(double_create_av, av);
    check(double_allocate_pd, *pd);
    attr->sl = 5;
    return post(double_query_av, buffer);
}
static ib_api_status_t pre_modify_av(const uvp_av_handle_t av, const ib_av_attr_t* attr,
                                     ci_umv_buf_t* buffer) {
    check(double_create_av, av);
    if (attr->dlid == 0) ++uvp_double.wrong_handles;
    return pre(double_modify_av, buffer);
}
static ib_api_status_t post_modify_av(const uvp_av_handle_t av, ci_umv_buf_t* buffer) {
    check(double_create_av, av);
    return post(double_modify_av, buffer);
}
static ib_api_status_t pre_destroy_av(const uvp_av_handle_t av, ci_umv_buf_t* buffer) {
    check(double_create_av, av);
    return pre(double_destroy_av, buffer);
}
static ib_api_status_t post_destroy_av(const uvp_av_handle_t av, ci_umv_buf_t* buffer) {
    if (buffer->ioctl_status == IB_SUCCESS) release(double_create_av, av);
    return post(double_destroy_av, buffer);
}

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
static ib_api_status_t pre_destroy_cq(const uvp_cq_handle_t cq, ci_umv_buf_t* buffer) {
    check(double_create_cq, cq);
    return pre(double_destroy_cq, buffer);
}
static ib_api_status_t post_destroy_cq(const uvp_cq_handle_t cq) {
    release(double_create_cq, cq);
    return post(double_destroy_cq, NULL);
}

static ib_api_status_t pre_create_qp(const uvp_pd_handle_t pd, const ib_qp_create_t* attr,
                                     ci_umv_buf_t* buffer) {
    check(double_allocate_pd, pd);
    if (attr->sq_depth == 0) ++uvp_double.wrong_handles;
    return pre(double_create_qp, buffer);
}
static ib_api_status_t post_create_qp(const uvp_pd_handle_t pd, uvp_qp_handle_t* qp,
                                      ci_umv_buf_t* buffer) {
    const ib_api_status_t status = post(double_create_qp, buffer);
    check(double_allocate_pd, pd);
    make(double_create_qp, qp, buffer);
    return status;
}
static ib_api_status_t pre_query_qp(uvp_qp_handle_t qp, ci_umv_buf_t* buffer) {
    check(double_create_qp, qp);
    return pre(double_query_qp, buffer);
}
static ib_api_status_t post_query_qp(uvp_qp_handle_t qp, ib_qp_attr_t* attr, ci_umv_buf_t* buffer) {
    check(double_create_qp, qp);
    attr->sq_depth = 77;
    return post(double_query_qp, buffer);
}
static ib_api_status_t pre_destroy_qp(const uvp_qp_handle_t qp, ci_umv_buf_t* buffer) {
    check(double_create_qp, qp);
    return pre(double_destroy_qp, buffer);
}
static ib_api_status_t post_destroy_qp(const uvp_qp_handle_t qp) {
    release(double_create_qp, qp);
    return post(double_destroy_qp, NULL);
}

static ib_api_status_t pre_register_mr(const uvp_pd_handle_t pd, const ib_mr_create_t* attr,
                                       ci_umv_buf_t* buffer) {
    check(double_allocate_pd, pd);
    if (attr->length == 0) ++uvp_double.wrong_handles;
    return pre(double_register_mr, buffer);
}
static ib_api_status_t post_register_mr(const uvp_pd_handle_t pd, const uint32_t* lkey,
                                        const uint32_t* rkey, uvp_mr_handle_t* mr,
                                        ci_umv_buf_t* buffer) {
    const ib_api_status_t status = post(double_register_mr, buffer);
    check(double_allocate_pd, pd);
    if (buffer->ioctl_status == IB_SUCCESS && (*lkey == 0 || *rkey == 0))
        ++uvp_double.wrong_handles;
    make(double_register_mr, mr, buffer);
    return status;
}
static ib_api_status_t pre_deregister_mr(const uvp_mr_handle_t mr, ci_umv_buf_t* buffer) {
    check(double_register_mr, mr);
    return pre(double_deregister_mr, buffer);
}
static ib_api_status_t post_deregister_mr(const uvp_mr_handle_t mr, ci_umv_buf_t* buffer) {
    if (buffer->ioctl_status == IB_SUCCESS) release(double_register_mr, mr);
    return post(double_deregister_mr, buffer);
}

static ib_api_status_t post_send(const void* qp, ib_send_wr_t* const list, ib_send_wr_t** failed) {
    check(double_create_qp, qp);
    ++uvp_double.sends;
    if (list->p_next == NULL) return IB_SUCCESS;
    *failed = list->p_next;
    return IB_INVALID_QP_STATE;
}
static ib_api_status_t poll_cq(void* cq, ib_wc_t** unused, ib_wc_t** done) {
    ib_wc_t* const taken = *unused;
    check(double_create_cq, cq);
    if (uvp_double.polls++ != 0) return IB_NOT_FOUND;
    *unused = taken->p_next;
    taken->p_next = NULL;
    taken->wc.WrId = 99;
    *done = taken;
    return IB_SUCCESS;
}
static void err_handler(const ib_async_event_rec_t* const record) {
    check(double_create_qp, record->context);
    uvp_double.last_event = record->code;
    ++uvp_double.events;
}

ib_api_status_t uvp_get_interface(uvp_interface_t* const functions) {
    if (functions->version < UVP_VERSION_2) return IB_UNSUPPORTED;
    if (uvp_double.version != 0) functions->version = uvp_double.version;
#define BOTH(name) functions->pre_##name = pre_##name, functions->post_##name = post_##name
    BOTH(open_ca);
    BOTH(query_ca);
    BOTH(modify_ca);
    BOTH(close_ca);
    BOTH(allocate_pd);
    BOTH(deallocate_pd);
    BOTH(create_av);
    BOTH(query_av);
    BOTH(modify_av);
    BOTH(destroy_av);
    BOTH(create_cq);
    BOTH(resize_cq);
    BOTH(destroy_cq);
    BOTH(create_qp);
    BOTH(query_qp);
    BOTH(destroy_qp);
    BOTH(register_mr);
    BOTH(deregister_mr);
    functions->err_handler = err_handler;
    if (uvp_double.has_data_path) {
        functions->post_send = post_send;
        functions->poll_cq = poll_cq;
    }
    return IB_SUCCESS;
}
