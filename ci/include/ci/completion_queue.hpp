/// A completion queue that destroys itself.
#pragma once

#include <ci/event_stream.hpp>

namespace irpverbs::ci {

/// create_cq makes it. It is moved, not copied, converts to the IB_CQ* that every verb takes, and
/// keeps its channel adapter open. The destructor destroys the queue asynchronously, as the
/// destructor of a channel_adapter closes the adapter. IRQL: <= DISPATCH_LEVEL.
class completion_queue {
public:
    /// An empty queue, which converts to null.
    completion_queue() noexcept = default;

    operator IB_CQ*() const noexcept {
        return open_ != nullptr ? static_cast<IB_CQ*>(open_->object()) : nullptr;
    }

    /// Destroys the queue: void(error_code). The object is empty from the beginning of the call. A
    /// destruction that has begun is not cancelled. STATUS_INVALID_PARAMETER: the object is empty.
    template <class Token = boost::asio::deferred_t>
    auto async_close(Token&& token = {}) {
        return irp::detail::initiate(detail::close_call{&open_}, std::forward<Token>(token));
    }

    /// Completion events; arm_cq requests each.
    event_stream<void> comp_events() const noexcept {
        return {open_,
                [](void* cq, UCHAR, IRP* irp) {
                    return CiGetCqCompEvent(static_cast<IB_CQ*>(cq), irp);
                },
                0};
    }

    /// Errors of the queue.
    event_stream<IB_ASYNC_EVENT> async_events() const noexcept {
        return {open_,
                [](void* cq, UCHAR, IRP* irp) {
                    return CiGetCqAsyncEvent(static_cast<IB_CQ*>(cq), irp);
                },
                0};
    }

private:
    friend struct detail::access;

    explicit completion_queue(std::shared_ptr<detail::closing_handle> open) noexcept
        : open_(std::move(open)) {}
    static NTSTATUS close(void* cq, IRP* irp) {
        return CiDestroyCq(static_cast<IB_CQ*>(cq), nullptr, irp);
    }

    std::shared_ptr<detail::closing_handle> open_;
};

} // namespace irpverbs::ci
