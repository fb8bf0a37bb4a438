/// An XRC domain that deallocates itself, and the async wrappers that need one.
#pragma once

#include <ci/channel_adapter.hpp>
#include <ci/completion_queue.hpp>
#include <ci/protection_domain.hpp>
#include <ci/queue_pair.hpp>
#include <ci/srq_verbs.hpp>

namespace irpverbs::ci {

namespace detail {

inline NTSTATUS close_xrcd(IB_XRCD* xrcd, IRP* irp) { return CiDeallocateXrcd(xrcd, nullptr, irp); }

} // namespace detail

/// allocate_xrcd makes it. It is moved, not copied, converts to the IB_XRCD* that every verb takes,
/// and keeps its channel adapter open. The destructor deallocates the domain asynchronously, after
/// its queue pairs and shared receive queues have ended. IRQL: <= DISPATCH_LEVEL.
class xrc_domain : public detail::object_handle<IB_XRCD, detail::close_xrcd> {
public:
    xrc_domain() noexcept = default;

private:
    friend struct detail::access;
    using object_handle::object_handle;
};

/// CiAllocateXrcd: void(error_code, xrc_domain). `ca` stays open at least until completion.
template <class Token = boost::asio::deferred_t>
auto allocate_xrcd(const channel_adapter& ca, Token&& token = {}) {
    return detail::open<xrc_domain>(
        1, {detail::access::held(ca)},
        [ca = static_cast<IB_CA*>(ca)](IRP* irp) { CiAllocateXrcd(ca, nullptr, irp); },
        std::forward<Token>(token));
}

/// CiDeallocateXrcd: xrc_domain::async_close.
template <class Token = boost::asio::deferred_t>
auto deallocate_xrcd(xrc_domain& xrcd, Token&& token = {}) {
    return xrcd.async_close(std::forward<Token>(token));
}

/// CiCreateSrq of an XRC domain: void(error_code, shared_receive_queue). `wanted` needs neither
/// domain nor completion queue. The handles stay at least until completion.
template <class Token = boost::asio::deferred_t>
auto create_srq(const protection_domain& pd, const xrc_domain& xrcd,
                const completion_queue& receives, ib_srq_create_t wanted, Token&& token = {}) {
    wanted.h_xrcd = xrcd;
    wanted.h_cq = receives;
    return detail::open<shared_receive_queue>(
        1, {detail::access::held(pd), detail::access::held(xrcd), detail::access::held(receives)},
        [=, pd = static_cast<IB_PD*>(pd)](IRP* irp) { CiCreateSrq(pd, &wanted, nullptr, irp); },
        std::forward<Token>(token));
}

/// CiCreateQp of the type IB_QPT_XRC_INI: void(error_code, queue_pair). `wanted` needs neither type
/// nor completion queue. The handles stay at least until completion.
template <class Token = boost::asio::deferred_t>
auto create_xrc_initiator(const protection_domain& pd, const completion_queue& sends,
                          ib_qp_create_t wanted, Token&& token = {}) {
    wanted.qp_type = IB_QPT_XRC_INI;
    wanted.h_sq_cq = sends;
    return detail::open<queue_pair>(
        1, {detail::access::held(pd), detail::access::held(sends)},
        [=, pd = static_cast<IB_PD*>(pd)](IRP* irp) { CiCreateQp(pd, &wanted, nullptr, irp); },
        std::forward<Token>(token));
}

/// CiCreateQp of the type IB_QPT_XRC_TGT: void(error_code, queue_pair). The handles stay at least
/// until completion.
template <class Token = boost::asio::deferred_t>
auto create_xrc_target(const protection_domain& pd, const xrc_domain& xrcd, Token&& token = {}) {
    ib_qp_create_t wanted{};
    wanted.qp_type = IB_QPT_XRC_TGT;
    wanted.h_xrcd = xrcd;
    return detail::open<queue_pair>(
        1, {detail::access::held(pd), detail::access::held(xrcd)},
        [=, pd = static_cast<IB_PD*>(pd)](IRP* irp) { CiCreateQp(pd, &wanted, nullptr, irp); },
        std::forward<Token>(token));
}

} // namespace irpverbs::ci
