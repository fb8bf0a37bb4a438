/// A queue pair that destroys itself.
#pragma once

#include <ci/detail/object_handle.hpp>
#include <ci/event_stream.hpp>

namespace irpverbs::ci {

namespace detail {

inline NTSTATUS close_qp(IB_QP* qp, IRP* irp) { return CiDestroyQp(qp, nullptr, irp); }

} // namespace detail

/// create_qp makes it. It is moved, not copied, converts to the IB_QP* that every verb takes, and
/// keeps its protection domain and completion queues. The destructor destroys the queue pair
/// asynchronously, as the destructor of a channel_adapter closes the adapter. IRQL: <=
/// DISPATCH_LEVEL.
class queue_pair : public detail::object_handle<IB_QP, detail::close_qp> {
public:
    queue_pair() noexcept = default;

    /// The handle is not empty.
    ib_qpn_t number() const noexcept { return static_cast<IB_QP*>(*this)->Num; }

    /// Events of the queue pair.
    event_stream<IB_ASYNC_EVENT> async_events() const noexcept {
        return {held(),
                [](void* qp, UCHAR, IRP* irp) {
                    return CiGetQpAsyncEvent(static_cast<IB_QP*>(qp), irp);
                },
                0};
    }

private:
    friend struct detail::access;
    using object_handle::object_handle;
};

} // namespace irpverbs::ci
