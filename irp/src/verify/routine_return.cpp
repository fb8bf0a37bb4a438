#include "routine_return.hpp"

#include "cancel/cancel_lock.hpp"
#include "snapshots.hpp"

#include <dispatch/support/held_locks.hpp>
#include <dispatch/thread.h>

namespace irpverbs::irp::verify {
namespace {

const char* name_of(routine kind) {
    switch (kind) {
    case routine::dispatch:
        return "dispatch routine";
    case routine::completion:
        return "completion routine";
    case routine::cancel:
        return "cancel routine";
    }
    return "?";
}

std::string routine_text(const frame& mine) {
    std::string text = std::string("the ") + name_of(mine.kind) + " of ";
    text += mine.device_number != 0 ? device_text(mine.device_number) : "the IRP's originator";
    if (mine.irp != nullptr) text += " for irp#" + std::to_string(mine.irp->generation);
    return text;
}

pending_report* check_irql(core::processor& self, irp_tracker& tracker, const frame& mine) {
    if (self.irql == mine.irql) return nullptr;
    const rule which = mine.kind == routine::dispatch     ? rule::IrqlReturn
                       : mine.kind == routine::completion ? rule::CompletionRoutineIrql
                                                          : rule::CancelRoutineIrql;
    const KIRQL now = self.irql;
    self.irql = mine.irql;
    pending_report& report =
        tracker.violation(which, mine.irp,
                          routine_text(mine) + " was entered at IRQL " + std::to_string(mine.irql) +
                              " and returned at " + std::to_string(now));
    if (mine.kind == routine::cancel) report.with("cancelled at", mine.irp->cancelled_at);
    return &report;
}

pending_report* check_regions(core::processor& self, irp_tracker& tracker, const frame& mine) {
    KTHREAD& thread = *self.thread;
    if (mine.kind == routine::cancel || (thread.KernelApcDisable == mine.kernel_apc_disable &&
                                         thread.SpecialApcDisable == mine.special_apc_disable))
        return nullptr;
    thread.KernelApcDisable = mine.kernel_apc_disable;
    thread.SpecialApcDisable = mine.special_apc_disable;
    return &tracker.violation(
        mine.kind == routine::dispatch ? rule::ApcStateReturn : rule::CompletionRoutineApcs,
        mine.irp,
        routine_text(mine) + " returned with another count of critical or guarded regions");
}

pending_report* check_locks(core::processor& self, irp_tracker& tracker, const frame& mine) {
    if (mine.kind != routine::completion && !mine.cancel_lock_held && holds_cancel_lock(self))
        return &tracker
                    .violation(rule::CancelSpinLock, mine.irp,
                               routine_text(mine) + " returned holding the cancel spin lock")
                    .with("lock acquired at", cancel_lock_acquired_at(self));
    if (core::held_spin_locks(self) <= mine.spin_locks) return nullptr;
    const core::held_lock& held = core::held_locks(self).back();
    pending_report& report =
        tracker.violation(rule::SpinLockReturn, mine.irp,
                          routine_text(mine) + " returned holding a spin lock that it acquired");
    return &report.with("lock acquired at", held.where);
}

bool marked_now(const record& irp, const frame& mine) {
    return (control_of(irp, mine.location) & SL_PENDING_RETURNED) != 0;
}

pending_report* check_pending_return(irp_tracker& tracker, const frame& mine, bool marked,
                                     bool done) {
    record& irp = *mine.irp;
    if (!marked && done && !mine.completed && !mine.forwarded)
        return &tracker
                    .violation(rule::MarkingInterlockedQueuedIrps, &irp,
                               routine_text(mine) +
                                   " returned STATUS_PENDING, and the IRP had been completed "
                                   "by another processor before it was marked")
                    .with("completed at", irp.completed_at);
    if (!marked)
        return &tracker.violation(rule::MarkIrpPending2, &irp,
                                  routine_text(mine) +
                                      " returned STATUS_PENDING and neither marked the IRP nor "
                                      "passed it to a driver that pended it");
    if (!done || !mine.completed || mine.queue_completes ||
        settings.pended_completed == policy::allow)
        return nullptr;
    if (settings.pended_completed == policy::fail)
        return &tracker
                    .violation(rule::PendedCompletedRequest, &irp,
                               routine_text(mine) +
                                   " completed the IRP and returned STATUS_PENDING")
                    .with("completed at", irp.completed_at);
    ++tracker.counters.warnings;
    return nullptr;
}

pending_report* check_completed_return(irp_tracker& tracker, const frame& mine, NTSTATUS status,
                                       const location_record& own) {
    record& irp = *mine.irp;
    if (own.marked)
        return &tracker.violation(
            own.woken ? rule::CompletionEventChecking : rule::MarkIrpPending, &irp,
            routine_text(mine) +
                (own.woken ? " was woken by its completion routine, which had marked the IRP "
                             "pending, and returned "
                           : " marked the IRP pending and returned ") +
                status_text(status));
    if (own.status == status) return nullptr;
    const bool passed = mine.forwarded && !was_reclaimed(irp, mine) && mine.lower != status;
    return &tracker
                .violation(passed ? rule::LowerDriverReturn : rule::CompleteRequestStatusCheck,
                           &irp,
                           routine_text(mine) + " returned " + status_text(status) +
                               ", and the IRP was completed with " + status_text(own.status))
                .with("completed at", irp.completed_at);
}

pending_report* check_uncompleted_return(irp_tracker& tracker, const frame& mine, NTSTATUS status,
                                         bool marked) {
    record& irp = *mine.irp;
    if (marked)
        return &tracker.violation(rule::MarkIrpPending, &irp,
                                  routine_text(mine) + " marked the IRP pending and returned " +
                                      status_text(status) + "; it is not completed");
    return &tracker.violation(
        rule::IrpProcessingComplete, &irp,
        routine_text(mine) + " returned " + status_text(status) +
            " and neither completed the IRP, nor passed it down, nor pended it");
}

} // namespace

bool holds_cancel_lock(const core::processor& self) {
    return core::holds_spin_lock(self, &cancel_lock_of(self));
}

core::call_stack cancel_lock_acquired_at(core::processor& self) {
    for (const core::held_lock& each : core::held_locks(self))
        if (each.lock == &cancel_lock_of(self)) return each.where;
    return {};
}

bool was_reclaimed(record& irp, const frame& mine) {
    if (!mine.forwarded || mine.lower_location == mine.location || !irp.has(mine.lower_location))
        return false;
    const location_record& below = irp.at(mine.lower_location);
    return below.use != mine.lower_use || (below.returned && !below.continued);
}

bool is_in_completion_routine(record& irp, const frame& mine) {
    return mine.forwarded && irp.has(mine.lower_location) &&
           irp.at(mine.lower_location).use == mine.lower_use &&
           irp.at(mine.lower_location).in_routine;
}

bool is_below(record& irp, const frame& mine) {
    return mine.forwarded && mine.lower_returned && mine.lower == STATUS_PENDING &&
           !was_reclaimed(irp, mine);
}

pending_report* check_routine_state(core::processor& self, irp_tracker& tracker,
                                    const frame& mine) {
    const std::lock_guard guard(tracker.lock);
    pending_report* report = check_locks(self, tracker, mine);
    if (report == nullptr) report = check_regions(self, tracker, mine);
    if (report == nullptr) report = check_irql(self, tracker, mine);
    return report;
}

pending_report* check_protocol(irp_tracker& tracker, frame& mine, NTSTATUS status) {
    record& irp = *mine.irp;
    if (status == -1)
        return &tracker
                    .violation(rule::CompleteRequestStatusCheck, &irp,
                               routine_text(mine) + " returned -1")
                    .parameters(0x225);
    if (is_below(irp, mine)) {
        if (status == STATUS_PENDING) return nullptr;
        return &tracker.violation(rule::LowerDriverReturn, &irp,
                                  routine_text(mine) + " returned " + status_text(status) +
                                      ", and IoCallDriver had returned STATUS_PENDING");
    }
    // The completion routine may still mark the IRP: PendingPropagated is checked at its return.
    if (status == STATUS_PENDING && is_in_completion_routine(irp, mine)) return nullptr;
    const location_record& own = irp.at(mine.location);
    if (own.use != mine.use) return nullptr; // completed, and sent again from above
    const bool done = own.left || own.deferred || irp.stage != stage::sent;
    const bool marked = done ? own.marked : marked_now(irp, mine);
    if (mine.routine_ex)
        return &tracker.violation(rule::CompletionRoutineRegistered, &irp,
                                  routine_text(mine) +
                                      " called IoSetCompletionRoutineEx, but not IoCallDriver");
    if (status == STATUS_PENDING) return check_pending_return(tracker, mine, marked, done);
    return done ? check_completed_return(tracker, mine, status, own)
                : check_uncompleted_return(tracker, mine, status, marked);
}

} // namespace irpverbs::irp::verify
