// The fake kernel's functions for shared receive queues.
#pragma once

#include "fake_verbs_run.hpp"

namespace irpverbs::testing {

struct srq_calls : verbs_calls {
    static ibv_srq* create_srq(ibv_pd* with, ibv_srq_init_attr* wanted);
    static int modify_srq(ibv_srq* which, ibv_srq_attr* attr, int mask);
    static int query_srq(ibv_srq* which, ibv_srq_attr* attr);
    static int destroy_srq(ibv_srq* which);
    static int post_srq_recv(ibv_srq* which, ibv_recv_wr* list, ibv_recv_wr** bad);
};

} // namespace irpverbs::testing
