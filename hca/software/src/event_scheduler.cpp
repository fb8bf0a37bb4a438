#include "event_scheduler.hpp"

#include <dispatch/machine.hpp>
#include <dispatch/support/faults.hpp>

#include <new>

namespace irpverbs::hca_software {

namespace {

constexpr unsigned max_per_run = 64;

// A time that a timer can't distinguish from now is due: real timers are much coarser than the
// delay of a link.
machine_time due_by_now() {
    const bool exact = dispatch::machine::current().simulated();
    return KeQueryInterruptTime() + (exact ? 0 : KeQueryTimeIncrement());
}

} // namespace

void event_scheduler::initialize(PKDEFERRED_ROUTINE serve, void* context) {
    KeInitializeDpc(&dpc_, serve, context);
    KeInitializeTimer(&timer_);
}

void event_scheduler::run_down() {
    KeCancelTimer(&timer_);
    KeFlushQueuedDpcs();
}

bool event_scheduler::add(const event& added) try {
    if (dispatch::detail::fault_point("hca.software.event")) return false;
    events_.push(added);
    schedule_run();
    return true;
} catch (const std::bad_alloc&) {
    return false;
}

bool event_scheduler::next_due(unsigned turn, event& due) {
    if (closed_) return false;
    next_run_ = 0;
    if (turn < max_per_run && !events_.empty() && events_.top().due <= due_by_now()) {
        due = events_.top();
        events_.pop();
        return true;
    }
    next_run_ = never;
    if (!events_.empty()) schedule_run();
    return false;
}

void event_scheduler::schedule_run() {
    const machine_time due = events_.top().due;
    if (closed_ || due >= next_run_) return;
    next_run_ = due;
    if (due <= due_by_now()) {
        KeInsertQueueDpc(&dpc_, nullptr, nullptr);
        return;
    }
    LARGE_INTEGER from_now;
    from_now.QuadPart = -static_cast<LONGLONG>(due - KeQueryInterruptTime());
    KeSetTimer(&timer_, from_now, &dpc_);
}

} // namespace irpverbs::hca_software
