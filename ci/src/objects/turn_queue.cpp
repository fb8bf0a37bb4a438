#include "turn_queue.hpp"

#include "pended_irps.hpp"
#include "verbs/request.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <utility>

namespace irpverbs::ci {

using dispatch::detail::spin_guard;

// Returns false if the IRP was cancelled before.
bool turn_queue::insert(IRP* irp, bool& waits) {
    const spin_guard guard(lock_);
    waits = std::exchange(taken_, true);
    return !waits || pend(waiting_, lock_, irp);
}

NTSTATUS turn_queue::submit_in_turn(IRP* irp) {
    bool waits = false;
    if (!insert(irp, waits)) return complete(irp, STATUS_CANCELLED, 0);
    return waits ? STATUS_PENDING : submit_with_turn(irp);
}

// Returns false if another thread passes the turn on.
bool turn_queue::begin_passing() {
    const spin_guard guard(lock_);
    ended_ = true;
    return !std::exchange(passing_, true);
}

// Returns the IRP that gets the turn. Null: no IRP waits, or the last one has not completed yet.
IRP* turn_queue::next() {
    const spin_guard guard(lock_);
    IRP* irp = nullptr;
    if (std::exchange(ended_, false)) {
        irp = remove_pended(waiting_);
        taken_ = irp != nullptr;
    }
    passing_ = irp != nullptr;
    return irp;
}

// An IRP that completes while it is submitted ends its turn inside submit_with_turn, and the loop
// continues: the depth of calls does not grow with the number of waiting IRPs.
void turn_queue::end_turn() {
    if (!begin_passing()) return;
    while (IRP* irp = next())
        submit_with_turn(irp);
}

IRP* turn_queue::remove_waiting() {
    const spin_guard guard(lock_);
    return remove_pended(waiting_);
}

} // namespace irpverbs::ci
