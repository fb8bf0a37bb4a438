#include "wire.hpp"

#include <dispatch/machine.hpp>

namespace irpverbs::hca_software {

namespace {

constexpr unsigned most_a_turn = 64;

// A time that a timer can't distinguish from now is due: real timers are much coarser than the
// delay of a link.
machine_time due_by_now() {
    const bool exact = dispatch::machine::current().simulated();
    return KeQueryInterruptTime() + (exact ? 0 : KeQueryTimeIncrement());
}

} // namespace

void wire::prepare(PKDEFERRED_ROUTINE serve, void* context) {
    KeInitializeDpc(&dpc_, serve, context);
    KeInitializeTimer(&timer_);
}

void wire::run_down() {
    KeCancelTimer(&timer_);
    KeFlushQueuedDpcs();
}

void wire::add(const event& coming) {
    coming_.push(coming);
    serve_when_due();
}

bool wire::take(unsigned turn, event& due) {
    if (closed_) return false;
    set_for_ = 0;
    if (turn < most_a_turn && !coming_.empty() && coming_.top().due <= due_by_now()) {
        due = coming_.top();
        coming_.pop();
        return true;
    }
    set_for_ = never;
    if (!coming_.empty()) serve_when_due();
    return false;
}

void wire::serve_when_due() {
    const machine_time due = coming_.top().due;
    if (closed_ || due >= set_for_) return;
    set_for_ = due;
    if (due <= due_by_now()) {
        KeInsertQueueDpc(&dpc_, nullptr, nullptr);
        return;
    }
    LARGE_INTEGER from_now;
    from_now.QuadPart = -static_cast<LONGLONG>(due - KeQueryInterruptTime());
    KeSetTimer(&timer_, from_now, &dpc_);
}

} // namespace irpverbs::hca_software
