/// An open channel adapter that closes itself.
#pragma once

#include <ci/event_stream.hpp>

namespace irpverbs::ci {

/// Made by open_ca. Moved, not copied; converts to the IB_CA* that every verb takes. Its end closes
/// the adapter and does not wait for that: parked waits complete STATUS_CANCELLED, queues made with
/// it (create_cq) are destroyed before, whoever lets go last sends the close. What CiCreateCq
/// itself makes is not known here, and must be destroyed before. Its end comes
/// before its machine's. IRQL: <= DISPATCH_LEVEL.
class channel_adapter {
public:
    /// None: converts to null.
    channel_adapter() noexcept = default;

    operator IB_CA*() const noexcept {
        return open_ != nullptr ? static_cast<IB_CA*>(open_->object()) : nullptr;
    }

    /// Closes, and tells when that is done: void(error_code). From the beginning of the call there
    /// is no adapter here any more. Not cancelled once begun; waits for queues whose end has come.
    /// STATUS_DEVICE_BUSY: others are left; it stays here, open. STATUS_INVALID_PARAMETER: there is
    /// none.
    template <class Token = boost::asio::deferred_t>
    auto async_close(Token&& token = {}) {
        return irp::detail::initiate(detail::closing{&open_}, std::forward<Token>(token));
    }

    /// Events of a port, from 1.
    event_stream<IB_ASYNC_EVENT> port_events(UCHAR port) const noexcept {
        return {open_,
                [](void* ca, UCHAR number, IRP* irp) {
                    return CiGetCaPortEvent(static_cast<IB_CA*>(ca), number, irp);
                },
                port};
    }

    /// The catastrophic error; at most one comes.
    event_stream<void> fatal_events() const noexcept {
        return {open_,
                [](void* ca, UCHAR, IRP* irp) {
                    return CiGetCaFatalEvent(static_cast<IB_CA*>(ca), irp);
                },
                0};
    }

private:
    friend struct detail::access;

    explicit channel_adapter(std::shared_ptr<detail::owned> open) noexcept
        : open_(std::move(open)) {}
    static NTSTATUS close(void* ca, IRP* irp) {
        return CiCloseCa(static_cast<IB_CA*>(ca), nullptr, irp);
    }

    std::shared_ptr<detail::owned> open_;
};

} // namespace irpverbs::ci
