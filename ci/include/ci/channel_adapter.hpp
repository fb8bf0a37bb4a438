/// An open channel adapter that closes itself.
#pragma once

#include <ci/event_stream.hpp>

namespace irpverbs::ci {

/// open_ca makes it. It is moved, not copied, and converts to the IB_CA* that every verb takes. The
/// destructor closes the adapter asynchronously: pended waits complete STATUS_CANCELLED, and the
/// close is sent by the last holder, after the queues of create_cq have been destroyed. Destroy the
/// queues of CiCreateCq itself before; this class does not know them. The machine must outlive it.
/// IRQL: <= DISPATCH_LEVEL.
class channel_adapter {
public:
    /// An empty adapter, which converts to null.
    channel_adapter() noexcept = default;

    operator IB_CA*() const noexcept {
        return open_ != nullptr ? static_cast<IB_CA*>(open_->object()) : nullptr;
    }

    /// Closes the adapter: void(error_code). The adapter is empty from the beginning of the call. A
    /// close that has begun is not cancelled; it waits for queues whose destructors have run.
    /// STATUS_DEVICE_BUSY: other queues exist; the adapter stays open and is not empty.
    /// STATUS_INVALID_PARAMETER: the adapter is empty.
    template <class Token = boost::asio::deferred_t>
    auto async_close(Token&& token = {}) {
        return irp::detail::initiate(detail::close_call{&open_}, std::forward<Token>(token));
    }

    /// The events of a port (from 1).
    event_stream<IB_ASYNC_EVENT> port_events(UCHAR port) const noexcept {
        return {open_,
                [](void* ca, UCHAR number, IRP* irp) {
                    return CiGetCaPortEvent(static_cast<IB_CA*>(ca), number, irp);
                },
                port};
    }

    /// The catastrophic error, which occurs at most once.
    event_stream<void> fatal_events() const noexcept {
        return {open_,
                [](void* ca, UCHAR, IRP* irp) {
                    return CiGetCaFatalEvent(static_cast<IB_CA*>(ca), irp);
                },
                0};
    }

private:
    friend struct detail::access;

    explicit channel_adapter(std::shared_ptr<detail::closing_handle> open) noexcept
        : open_(std::move(open)) {}
    static NTSTATUS close(void* ca, IRP* irp) {
        return CiCloseCa(static_cast<IB_CA*>(ca), nullptr, irp);
    }

    std::shared_ptr<detail::closing_handle> open_;
};

} // namespace irpverbs::ci
