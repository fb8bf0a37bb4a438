/// A completion queue that destroys itself.
#pragma once

#include <ci/detail/object_handle.hpp>
#include <ci/event_stream.hpp>

namespace irpverbs::ci {

namespace detail {

inline NTSTATUS close_cq(IB_CQ* cq, IRP* irp) { return CiDestroyCq(cq, nullptr, irp); }

} // namespace detail

/// create_cq makes it. It is moved, not copied, converts to the IB_CQ* that every verb takes, and
/// keeps its channel adapter open. The destructor destroys the queue asynchronously, as the
/// destructor of a channel_adapter closes the adapter. IRQL: <= DISPATCH_LEVEL.
class completion_queue : public detail::object_handle<IB_CQ, detail::close_cq> {
public:
    completion_queue() noexcept = default;

    /// Completion events; arm_cq requests each.
    event_stream<void> comp_events() const noexcept {
        return {held(),
                [](void* cq, UCHAR, IRP* irp) {
                    return CiGetCqCompEvent(static_cast<IB_CQ*>(cq), irp);
                },
                0};
    }

    /// Errors of the queue.
    event_stream<IB_ASYNC_EVENT> async_events() const noexcept {
        return {held(),
                [](void* cq, UCHAR, IRP* irp) {
                    return CiGetCqAsyncEvent(static_cast<IB_CQ*>(cq), irp);
                },
                0};
    }

private:
    friend struct detail::access;
    using object_handle::object_handle;
};

} // namespace irpverbs::ci
