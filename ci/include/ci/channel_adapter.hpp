/// An open channel adapter that closes itself.
#pragma once

#include <ci/detail/object_handle.hpp>
#include <ci/event_stream.hpp>

namespace irpverbs::ci {

namespace detail {

inline NTSTATUS close_ca(IB_CA* ca, IRP* irp) { return CiCloseCa(ca, nullptr, irp); }

} // namespace detail

/// open_ca makes it. It is moved, not copied, and converts to the IB_CA* that every verb takes. The
/// destructor closes the adapter asynchronously: pended waits complete STATUS_CANCELLED, and the
/// close is sent by the last holder, after the queues of create_cq have been destroyed. Destroy the
/// queues of CiCreateCq itself before; this class does not know them. The machine must outlive it.
/// IRQL: <= DISPATCH_LEVEL.
class channel_adapter : public detail::object_handle<IB_CA, detail::close_ca> {
public:
    channel_adapter() noexcept = default;

    /// The events of a port (from 1).
    event_stream<IB_ASYNC_EVENT> port_events(UCHAR port) const noexcept {
        return {held(),
                [](void* ca, UCHAR number, IRP* irp) {
                    return CiGetCaPortEvent(static_cast<IB_CA*>(ca), number, irp);
                },
                port};
    }

    /// The catastrophic error, which occurs at most once.
    event_stream<void> fatal_events() const noexcept {
        return {held(),
                [](void* ca, UCHAR, IRP* irp) {
                    return CiGetCaFatalEvent(static_cast<IB_CA*>(ca), irp);
                },
                0};
    }

private:
    friend struct detail::access;
    using object_handle::object_handle;
};

} // namespace irpverbs::ci
