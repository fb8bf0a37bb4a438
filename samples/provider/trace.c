/* A user-mode provider that writes a line to standard error for each verb, with its result, and
   leaves the rest to the daemon. Written from ci/ib_uvp.h alone. Run a program with it:
     IRPVERBS_UVP_PATH=FOLDER PROGRAM ... 'user:?provider=trace'
   where FOLDER holds irpverbs-uvp-trace.so. */
#include <ci/ib_uvp.h>

#include <stdio.h>
#include <stdlib.h>

/* An object: the name of its kind, and its number among all. */
struct traced {
    const char* kind;
    unsigned number;
};

static _Atomic unsigned created;

static void say(const char* verb, const struct traced* object, const ci_umv_buf_t* buffer) {
    const ib_api_status_t status = buffer != NULL ? buffer->ioctl_status : IB_SUCCESS;
    if (object == NULL)
        fprintf(stderr, "uvp: %s: status %d\n", verb, status);
    else
        fprintf(stderr, "uvp: %s %s %u: status %d\n", verb, object->kind, object->number, status);
}

/* The post step of a verb that creates: makes the handle if the object exists. */
static ib_api_status_t created_as(const char* kind, struct traced** made, ci_umv_buf_t* buffer) {
    if (buffer->ioctl_status != IB_SUCCESS) {
        say("create", NULL, buffer);
        return IB_SUCCESS;
    }
    *made = malloc(sizeof(**made));
    if (*made == NULL) return IB_INSUFFICIENT_MEMORY; /* the object is destroyed again */
    (*made)->kind = kind;
    (*made)->number = ++created;
    say("create", *made, buffer);
    return IB_SUCCESS;
}

/* The post step of a verb that ends an object. */
static ib_api_status_t ended(struct traced* object, const ci_umv_buf_t* buffer) {
    say("destroy", object, buffer);
    if (buffer == NULL || buffer->ioctl_status == IB_SUCCESS) free(object);
    return IB_SUCCESS;
}

static ib_api_status_t post_open_ca(uvp_ca_handle_t* ca, ci_umv_buf_t* buffer) {
    return created_as("CA", (struct traced**)ca, buffer);
}
static ib_api_status_t post_close_ca(uvp_ca_handle_t ca) { return ended((struct traced*)ca, NULL); }
static ib_api_status_t post_allocate_pd(const uvp_ca_handle_t ca, uvp_pd_handle_t* pd,
                                        ci_umv_buf_t* buffer) {
    (void)ca;
    return created_as("PD", (struct traced**)pd, buffer);
}
static ib_api_status_t post_deallocate_pd(const uvp_pd_handle_t pd) {
    return ended((struct traced*)pd, NULL);
}
static ib_api_status_t post_create_cq(const uvp_ca_handle_t ca, const uint32_t size,
                                      uvp_cq_handle_t* cq, ci_umv_buf_t* buffer) {
    (void)ca;
    if (buffer->ioctl_status == IB_SUCCESS) fprintf(stderr, "uvp: %u completions\n", size);
    return created_as("CQ", (struct traced**)cq, buffer);
}
static ib_api_status_t post_destroy_cq(const uvp_cq_handle_t cq) {
    return ended((struct traced*)cq, NULL);
}
static ib_api_status_t post_create_qp(const uvp_pd_handle_t pd, uvp_qp_handle_t* qp,
                                      ci_umv_buf_t* buffer) {
    (void)pd;
    return created_as("QP", (struct traced**)qp, buffer);
}
static ib_api_status_t post_modify_qp(const uvp_qp_handle_t qp, ci_umv_buf_t* buffer) {
    say("modify", (const struct traced*)qp, buffer);
    return IB_SUCCESS;
}
static ib_api_status_t post_destroy_qp(const uvp_qp_handle_t qp) {
    return ended((struct traced*)qp, NULL);
}
static ib_api_status_t post_register_mr(const uvp_pd_handle_t pd, const uint32_t* lkey,
                                        const uint32_t* rkey, uvp_mr_handle_t* mr,
                                        ci_umv_buf_t* buffer) {
    (void)pd;
    if (buffer->ioctl_status == IB_SUCCESS) fprintf(stderr, "uvp: keys %08x %08x\n", *lkey, *rkey);
    return created_as("MR", (struct traced**)mr, buffer);
}
static ib_api_status_t post_deregister_mr(const uvp_mr_handle_t mr, ci_umv_buf_t* buffer) {
    return ended((struct traced*)mr, buffer);
}

ib_api_status_t uvp_get_interface(uvp_interface_t* const functions) {
    functions->version = UVP_VERSION_1;
    functions->post_open_ca = post_open_ca;
    functions->post_close_ca = post_close_ca;
    functions->post_allocate_pd = post_allocate_pd;
    functions->post_deallocate_pd = post_deallocate_pd;
    functions->post_create_cq = post_create_cq;
    functions->post_destroy_cq = post_destroy_cq;
    functions->post_create_qp = post_create_qp;
    functions->post_modify_qp = post_modify_qp;
    functions->post_destroy_qp = post_destroy_qp;
    functions->post_register_mr = post_register_mr;
    functions->post_deregister_mr = post_deregister_mr;
    return IB_SUCCESS;
}
