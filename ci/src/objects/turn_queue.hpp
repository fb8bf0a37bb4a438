// Verbs of one object that execute one at a time, in their order.
#pragma once

#include <irp/irp.h>

namespace irpverbs::ci {

/// An IRP that has the turn is submitted; the others wait, cancellable, until it has completed.
class turn_queue {
public:
    turn_queue() { InitializeListHead(&waiting_); }

    /// Submits the IRP now, or when its turn comes. It references its object.
    NTSTATUS submit_in_turn(IRP* irp);
    /// The IRP with the turn has completed; the caller still holds its reference.
    void end_turn();
    /// Removes and returns the oldest IRP that waits, or null.
    IRP* remove_waiting();

private:
    bool insert(IRP* irp, bool& waits);
    bool begin_passing();
    IRP* next();

    KSPIN_LOCK lock_ = 0;
    LIST_ENTRY waiting_{}; // guarded by lock_, as the members below
    bool taken_ = false;   // an IRP has the turn
    bool passing_ = false; // a thread submits the IRPs that get the turn
    bool ended_ = false;   // the last of them has completed
};

} // namespace irpverbs::ci
