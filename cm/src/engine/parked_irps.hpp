// IRPs that wait, cancellable, under the lock of their port.
#pragma once

#include "port_object.hpp"

namespace irpverbs::cm::engine {

class cm_port;

/// The verb of a parked IRP.
enum class verb : std::uint8_t { connect, complete, accept, disconnect, resolve, wait, path };

/// All members are called under the lock of the port.
class parked_irps {
public:
    parked_irps() { InitializeListHead(&list_); }
    parked_irps(const parked_irps&) = delete;
    parked_irps& operator=(const parked_irps&) = delete;

    /// Marks the IRP pending and inserts it at the end. Returns false, without effect, when the IRP
    /// is cancelled already. A canceller removes the IRP; then `target`, unless it is null,
    /// completes it, and is referenced until then. Without a target it completes STATUS_CANCELLED.
    bool park(IRP* irp, cm_port& at, verb which, port_object* target = nullptr);

    /// Removes and returns the oldest IRP that no canceller owns, or null.
    IRP* take();

    /// Whether an IRP of that verb is parked, even if a canceller owns it.
    bool holds(verb which) const;
    bool empty() const { return IsListEmpty(&list_) != FALSE; }

    /// Unlinks the IRPs that cancellers own, so that this object may end before them.
    void leave_to_cancellers();

private:
    static void cancel(DEVICE_OBJECT*, IRP* irp);

    LIST_ENTRY list_;
};

} // namespace irpverbs::cm::engine
