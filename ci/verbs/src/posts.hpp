// Posting of work requests.
#pragma once

#include <verbs/library.h>

#include <ci/data_path.h>

namespace irpverbs::verbs {

int post_send(ibv_qp* qp, ibv_send_wr* list, ibv_send_wr** failed);
int post_recv(ibv_qp* qp, ibv_recv_wr* list, ibv_recv_wr** failed);
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* list, ibv_recv_wr** failed);

/// Options of a send, of ibv_send_flags.
inline ib_send_opt_t options_of(unsigned flags) {
    constexpr unsigned known =
        IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;
    static_assert(IB_SEND_OPT_FENCE == IBV_SEND_FENCE << 1 &&
                  IB_SEND_OPT_SIGNALED == IBV_SEND_SIGNALED << 1);
    static_assert(IB_SEND_OPT_SOLICITED == IBV_SEND_SOLICITED << 1 &&
                  IB_SEND_OPT_INLINE == IBV_SEND_INLINE << 1);
    return (flags & known) << 1;
}

} // namespace irpverbs::verbs
