/// Async wrappers of the verbs of multicast.
#pragma once

#include <ci/detail/object_handle.hpp>
#include <ci/queue_pair.hpp>

namespace irpverbs::ci {

namespace detail {

inline NTSTATUS close_mcast(IB_MCAST* mcast, IRP* irp) {
    return CiDetachMcast(mcast, nullptr, irp);
}

} // namespace detail

/// The attachment of a queue pair to a group, which detaches itself. attach_mcast makes it. It is
/// moved, not copied, and keeps its queue pair. IRQL: <= DISPATCH_LEVEL.
class multicast_attachment : public detail::object_handle<IB_MCAST, detail::close_mcast> {
public:
    multicast_attachment() noexcept = default;

private:
    friend struct detail::access;
    using object_handle::object_handle;
};

/// CiAttachMcast: void(error_code, multicast_attachment). `qp` stays at least until completion.
template <class Token = boost::asio::deferred_t>
auto attach_mcast(const queue_pair& qp, const ib_gid_t& group, ib_lid_t lid, Token&& token = {}) {
    return detail::open<multicast_attachment>(
        1, {detail::access::held(qp)},
        [=, qp = static_cast<IB_QP*>(qp)](IRP* irp) {
            CiAttachMcast(qp, &group, lid, nullptr, irp);
        },
        std::forward<Token>(token));
}

/// CiDetachMcast: multicast_attachment::async_close.
template <class Token = boost::asio::deferred_t>
auto detach_mcast(multicast_attachment& attachment, Token&& token = {}) {
    return attachment.async_close(std::forward<Token>(token));
}

} // namespace irpverbs::ci
