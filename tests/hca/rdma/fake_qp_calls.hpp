// The fake kernel's functions for queue pairs and the objects that they need. Nothing is
// transported.
#pragma once

#include "fake_verbs_run.hpp"

namespace irpverbs::testing {

struct qp_calls : verbs_calls {
    static ibv_pd* alloc_pd(ibv_context* with);
    static int dealloc_pd(ibv_pd* which);
    static ibv_mr* reg_mr(ibv_pd* with, void* address, std::size_t length, std::uint64_t iova,
                          int access);
    static int rereg_mr(ibv_mr* which, int flags, ibv_pd* with, void* address, std::size_t length,
                        int access);
    static int dereg_mr(ibv_mr* which);
    static ibv_ah* create_ah(ibv_pd* with, ibv_ah_attr* attr);
    static int destroy_ah(ibv_ah* which);
    static ibv_qp* create_qp(ibv_pd* with, ibv_qp_init_attr* wanted);
    static int modify_qp(ibv_qp* which, ibv_qp_attr* attr, int mask);
    static int query_qp(ibv_qp* which, ibv_qp_attr* attr, int mask, ibv_qp_init_attr* init);
    static int destroy_qp(ibv_qp* which);
    static int attach_mcast(ibv_qp* which, const ibv_gid* gid, std::uint16_t lid);
    static int detach_mcast(ibv_qp* which, const ibv_gid* gid, std::uint16_t lid);
    static int post_send(ibv_qp* which, ibv_send_wr* list, ibv_send_wr** bad);
    static int post_recv(ibv_qp* which, ibv_recv_wr* list, ibv_recv_wr** bad);

private:
    static fake_verbs::domain& of_domain(ibv_pd* which) {
        return *static_cast<fake_verbs::domain*>(which);
    }
};

} // namespace irpverbs::testing
