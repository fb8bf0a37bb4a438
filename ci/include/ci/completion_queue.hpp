/// A completion queue that destroys itself.
#pragma once

#include <ci/event_stream.hpp>

namespace irpverbs::ci {

/// Made by create_cq. Moved, not copied; converts to the IB_CQ* that every verb takes. Keeps its
/// channel adapter open. Its end destroys the queue as that of a channel_adapter closes the
/// adapter. IRQL: <= DISPATCH_LEVEL.
class completion_queue {
public:
    /// None: converts to null.
    completion_queue() noexcept = default;

    operator IB_CQ*() const noexcept {
        return open_ != nullptr ? static_cast<IB_CQ*>(open_->object()) : nullptr;
    }

    /// Destroys the queue, and tells when that is done: void(error_code). From the beginning of the
    /// call there is no queue here any more. Not cancelled once begun. STATUS_INVALID_PARAMETER:
    /// there is none.
    template <class Token = boost::asio::deferred_t>
    auto async_close(Token&& token = {}) {
        return irp::detail::initiate(detail::closing{&open_}, std::forward<Token>(token));
    }

    /// Completion events, each asked for by arm_cq.
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

    explicit completion_queue(std::shared_ptr<detail::owned> open) noexcept
        : open_(std::move(open)) {}
    static NTSTATUS close(void* cq, IRP* irp) {
        return CiDestroyCq(static_cast<IB_CQ*>(cq), nullptr, irp);
    }

    std::shared_ptr<detail::owned> open_;
};

} // namespace irpverbs::ci
