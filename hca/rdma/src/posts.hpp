// Posts of work requests, which go straight to the provider.
#pragma once

#include "verbs_context.hpp"

#include <ci/driver.h>

namespace irpverbs::hca_rdma {

/// HCA_QP_POSTS.Queue. The numbers of segments are the most that a work request may have: providers
/// read the segments before they count them, and siw reads into the first of several only.
struct post_target {
    ibv_qp* pair;
    const verbs_context& context;
    ULONG send_segments;
    ULONG read_segments;
    ULONG receive_segments;
};

/// HCA_SRQ_POST.Queue.
struct shared_post_target {
    ibv_srq* queue;
    const verbs_context& context;
    ULONG receive_segments;
};

struct post_functions {
    PFN_HCA_POST_SEND send;
    PFN_HCA_POST_RECV receive;
};

/// The functions for a state and a type: providers check neither, and accept work requests that the
/// kernel then refuses.
post_functions posts_in(ib_qp_state_t state, ib_qp_type_t type);

/// True if work requests are posted to the send queue in this state.
bool may_send(ib_qp_state_t state);
/// The options of a work request as IBV_SEND_* flags.
unsigned provider_flags(ib_send_opt_t options);

/// PFN_HCA_POST_RECV of shared receive queues.
NTSTATUS post_shared_receive(void* queue, ib_recv_wr_t* list, ib_recv_wr_t** failed);

} // namespace irpverbs::hca_rdma
