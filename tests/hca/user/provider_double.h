/* A provider whose functions do as the test says. The test finds `uvp_double` in the library. */
#ifndef IRPVERBS_TESTS_PROVIDER_DOUBLE_H
#define IRPVERBS_TESTS_PROVIDER_DOUBLE_H

#include <ci/ib_uvp.h>

enum double_verb {
    double_open_ca,
    double_query_ca,
    double_modify_ca,
    double_close_ca,
    double_allocate_pd,
    double_deallocate_pd,
    double_create_av,
    double_query_av,
    double_modify_av,
    double_destroy_av,
    double_create_cq,
    double_resize_cq,
    double_destroy_cq,
    double_create_qp,
    double_query_qp,
    double_destroy_qp,
    double_register_mr,
    double_deregister_mr,
    double_verbs
};

/* One verb: results of its two functions, and what they saw. */
struct double_step {
    ib_api_status_t pre;
    ib_api_status_t post;
    unsigned pre_calls;
    unsigned post_calls;
    ib_api_status_t ioctl_status;
    uint32_t returned; /* bytes */
};

struct provider_double {
    struct double_step verbs[double_verbs];
    ib_net64_t guid;
    unsigned raise_size; /* added by pre_create_cq and pre_resize_cq */
    uint32_t granted;    /* completions, as the post function saw them */
    unsigned char reply[64];
    uint32_t oversized; /* bytes that pre_create_cq lends beyond the maximum */
    int live;           /* handles */
    int wrong_handles;
    int has_data_path; /* read by uvp_get_interface, like the next */
    uint32_t version;
    unsigned sends;
    unsigned polls;
    unsigned events;
    IB_ASYNC_EVENT last_event;
};

#endif
