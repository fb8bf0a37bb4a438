/// Async wrappers of the verbs of queue pairs, and the calls that post.
#pragma once

#include <ci/completion_queue.hpp>
#include <ci/detail/post_call.hpp>
#include <ci/detail/query.hpp>
#include <ci/protection_domain.hpp>
#include <ci/qp_changes.hpp>
#include <ci/queue_pair.hpp>
#include <ci/srq_verbs.hpp>

namespace irpverbs::ci {

using qp_attributes = attribute_block<ib_qp_attr_t>;

/// CiCreateQp: void(error_code, queue_pair). `wanted` needs no completion queues. `pd` and the
/// queues, which may be one, stay at least until completion.
template <class Token = boost::asio::deferred_t>
auto create_qp(const protection_domain& pd, const completion_queue& sends,
               const completion_queue& receives, ib_qp_create_t wanted, Token&& token = {}) {
    wanted.h_sq_cq = sends;
    wanted.h_rq_cq = receives;
    return detail::open<queue_pair>(
        1, {detail::access::held(pd), detail::access::held(sends), detail::access::held(receives)},
        [=, pd = static_cast<IB_PD*>(pd)](IRP* irp) { CiCreateQp(pd, &wanted, nullptr, irp); },
        std::forward<Token>(token));
}

/// As above, with a shared receive queue, which stays at least until completion, too.
template <class Token = boost::asio::deferred_t>
auto create_qp(const protection_domain& pd, const completion_queue& sends,
               const completion_queue& receives, const shared_receive_queue& srq,
               ib_qp_create_t wanted, Token&& token = {}) {
    wanted.h_sq_cq = sends;
    wanted.h_rq_cq = receives;
    wanted.h_srq = srq;
    return detail::open<queue_pair>(
        1,
        {detail::access::held(pd), detail::access::held(sends), detail::access::held(receives),
         detail::access::held(srq)},
        [=, pd = static_cast<IB_PD*>(pd)](IRP* irp) { CiCreateQp(pd, &wanted, nullptr, irp); },
        std::forward<Token>(token));
}

/// CiDestroyQp: queue_pair::async_close.
template <class Token = boost::asio::deferred_t>
auto destroy_qp(queue_pair& qp, Token&& token = {}) {
    return qp.async_close(std::forward<Token>(token));
}

/// CiModifyQp: void(error_code).
template <class Token = boost::asio::deferred_t>
auto modify_qp(IB_QP* qp, const ib_qp_mod_t& change, Token&& token = {}) {
    return detail::call<void>([=](IRP* irp) { CiModifyQp(qp, &change, nullptr, irp); },
                              std::forward<Token>(token));
}

/// CiQueryQp: void(error_code, qp_attributes).
template <class Token = boost::asio::deferred_t>
auto query_qp(IB_QP* qp, Token&& token = {}) {
    return detail::query_attributes<ib_qp_attr_t>(
        0,
        [=](SIZE_T size, ib_qp_attr_t* attr, IRP* irp) { CiQueryQp(qp, size, attr, nullptr, irp); },
        std::forward<Token>(token));
}

/// CiFlushQp: void(error_code).
template <class Token = boost::asio::deferred_t>
auto flush_qp(IB_QP* qp, Token&& token = {}) {
    return detail::call<void>([=](IRP* irp) { CiFlushQp(qp, irp); }, std::forward<Token>(token));
}

/// CiGetQpAsyncEvent: void(error_code, IB_ASYNC_EVENT).
template <class Token = boost::asio::deferred_t>
auto get_qp_async_event(IB_QP* qp, Token&& token = {}) {
    return detail::call<IB_ASYNC_EVENT>([=](IRP* irp) { CiGetQpAsyncEvent(qp, irp); },
                                        std::forward<Token>(token));
}

/// CiPostSend: returns the first work request that was not posted, with the status in `error`; null
/// when all were.
inline ib_send_wr_t* post_send(IB_QP* qp, ib_send_wr_t* list, boost::system::error_code& error) {
    return detail::post<CiPostSend>(qp, list, error);
}
/// CiPostSend, which throws dispatch::status_error when it fails.
inline void post_send(IB_QP* qp, ib_send_wr_t* list) { detail::post<CiPostSend>(qp, list); }

/// CiPostRecv, as post_send.
inline ib_recv_wr_t* post_recv(IB_QP* qp, ib_recv_wr_t* list, boost::system::error_code& error) {
    return detail::post<CiPostRecv>(qp, list, error);
}
inline void post_recv(IB_QP* qp, ib_recv_wr_t* list) { detail::post<CiPostRecv>(qp, list); }

} // namespace irpverbs::ci
