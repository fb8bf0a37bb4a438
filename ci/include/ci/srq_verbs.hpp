/// A shared receive queue that destroys itself, the async wrappers of its verbs, and its post.
#pragma once

#include <ci/detail/post_call.hpp>
#include <ci/detail/query.hpp>
#include <ci/event_stream.hpp>
#include <ci/protection_domain.hpp>

namespace irpverbs::ci {

namespace detail {

inline NTSTATUS close_srq(IB_SRQ* srq, IRP* irp) { return CiDestroySrq(srq, nullptr, irp); }

} // namespace detail

/// create_srq makes it. It is moved, not copied, converts to the IB_SRQ* that every verb takes, and
/// keeps its protection domain. The destructor destroys the queue asynchronously, after the queue
/// pairs that use it. IRQL: <= DISPATCH_LEVEL.
class shared_receive_queue : public detail::object_handle<IB_SRQ, detail::close_srq> {
public:
    shared_receive_queue() noexcept = default;

    /// Events of the queue.
    event_stream<IB_ASYNC_EVENT> async_events() const noexcept {
        return {held(),
                [](void* srq, UCHAR, IRP* irp) {
                    return CiGetSrqAsyncEvent(static_cast<IB_SRQ*>(srq), irp);
                },
                0};
    }

private:
    friend struct detail::access;
    using object_handle::object_handle;
};

using srq_attributes = attribute_block<ib_srq_attr_t>;

/// CiCreateSrq: void(error_code, shared_receive_queue). `pd` stays allocated at least until
/// completion.
template <class Token = boost::asio::deferred_t>
auto create_srq(const protection_domain& pd, const ib_srq_create_t& wanted, Token&& token = {}) {
    return detail::open<shared_receive_queue>(
        1, {detail::access::held(pd)},
        [=, pd = static_cast<IB_PD*>(pd)](IRP* irp) { CiCreateSrq(pd, &wanted, nullptr, irp); },
        std::forward<Token>(token));
}

/// CiDestroySrq: shared_receive_queue::async_close.
template <class Token = boost::asio::deferred_t>
auto destroy_srq(shared_receive_queue& srq, Token&& token = {}) {
    return srq.async_close(std::forward<Token>(token));
}

/// CiModifySrq: void(error_code).
template <class Token = boost::asio::deferred_t>
auto modify_srq(IB_SRQ* srq, const ib_srq_mod_t& change, Token&& token = {}) {
    return detail::call<void>([=](IRP* irp) { CiModifySrq(srq, &change, nullptr, irp); },
                              std::forward<Token>(token));
}

/// CiQuerySrq: void(error_code, srq_attributes).
template <class Token = boost::asio::deferred_t>
auto query_srq(IB_SRQ* srq, Token&& token = {}) {
    return detail::query_attributes<ib_srq_attr_t>(
        0,
        [=](SIZE_T size, ib_srq_attr_t* attr, IRP* irp) {
            CiQuerySrq(srq, size, attr, nullptr, irp);
        },
        std::forward<Token>(token));
}

/// CiGetSrqAsyncEvent: void(error_code, IB_ASYNC_EVENT).
template <class Token = boost::asio::deferred_t>
auto get_srq_async_event(IB_SRQ* srq, Token&& token = {}) {
    return detail::call<IB_ASYNC_EVENT>([=](IRP* irp) { CiGetSrqAsyncEvent(srq, irp); },
                                        std::forward<Token>(token));
}

/// CiPostSrqRecv, as post_recv of a queue pair (ci/qp_verbs.hpp).
inline ib_recv_wr_t* post_srq_recv(IB_SRQ* srq, ib_recv_wr_t* list,
                                   boost::system::error_code& error) {
    return detail::post<CiPostSrqRecv>(srq, list, error);
}
inline void post_srq_recv(IB_SRQ* srq, ib_recv_wr_t* list) {
    detail::post<CiPostSrqRecv>(srq, list);
}

} // namespace irpverbs::ci
