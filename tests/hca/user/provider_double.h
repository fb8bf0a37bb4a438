/* A provider whose functions do as the test says. The test finds `uvp_double` in the library. */
#ifndef IRPVERBS_TESTS_PROVIDER_DOUBLE_H
#define IRPVERBS_TESTS_PROVIDER_DOUBLE_H

#include <ci/ib_uvp.h>

/* The verbs of the vector that HCAs have. */
#define DOUBLE_VERBS(X)                                                                            \
    X(open_ca)                                                                                     \
    X(query_ca)                                                                                    \
    X(modify_ca)                                                                                   \
    X(close_ca)                                                                                    \
    X(allocate_pd)                                                                                 \
    X(deallocate_pd)                                                                               \
    X(create_av)                                                                                   \
    X(query_av)                                                                                    \
    X(modify_av)                                                                                   \
    X(destroy_av)                                                                                  \
    X(create_qp)                                                                                   \
    X(modify_qp)                                                                                   \
    X(query_qp)                                                                                    \
    X(destroy_qp)                                                                                  \
    X(create_cq)                                                                                   \
    X(query_cq)                                                                                    \
    X(resize_cq)                                                                                   \
    X(destroy_cq)                                                                                  \
    X(register_mr)                                                                                 \
    X(register_smr)                                                                                \
    X(query_mr)                                                                                    \
    X(modify_mr)                                                                                   \
    X(deregister_mr)                                                                               \
    X(create_mw)                                                                                   \
    X(query_mw)                                                                                    \
    X(destroy_mw)                                                                                  \
    X(attach_mcast)                                                                                \
    X(detach_mcast)                                                                                \
    X(create_srq)                                                                                  \
    X(modify_srq)                                                                                  \
    X(query_srq)                                                                                   \
    X(destroy_srq)

enum double_verb {
#define NAMED(verb) double_##verb,
    DOUBLE_VERBS(NAMED)
#undef NAMED
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

/* Calls of the data path. */
struct double_path {
    unsigned sends;
    unsigned receives;
    unsigned shared_receives;
    unsigned polls;
    unsigned arms;
    unsigned binds;
};

struct provider_double {
    struct double_step verbs[double_verbs];
    struct double_path path;
    ib_net64_t guid;
    unsigned raise_size; /* added by pre_create_cq and pre_resize_cq */
    uint32_t granted;    /* completions, as the post function saw them */
    unsigned char reply[64];
    uint32_t oversized; /* bytes that pre_create_cq lends beyond the maximum */
    int live;           /* handles */
    int wrong;          /* handles and other parameters */
    int has_data_path;  /* read by uvp_get_interface, like the next ones */
    int polls_arrays;
    uint32_t version;
    unsigned events;
    IB_ASYNC_EVENT last_event;
};

#endif
