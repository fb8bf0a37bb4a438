#include "returned.hpp"

#include "../cancel_lock.hpp"
#include "seals.hpp"

#include <dispatch/detail/held_locks.hpp>
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

std::string who(const frame& mine) {
    std::string text = std::string("the ") + name_of(mine.kind) + " of ";
    text += mine.device_number != 0 ? device_text(mine.device_number) : "the IRP's maker";
    if (mine.irp != nullptr) text += " for irp#" + std::to_string(mine.irp->generation);
    return text;
}

draft* check_irql(core::processor& self, ledger& book, const frame& mine) {
    if (self.irql == mine.irql) return nullptr;
    const rule which = mine.kind == routine::dispatch     ? rule::IrqlReturn
                       : mine.kind == routine::completion ? rule::CompletionRoutineIrql
                                                          : rule::CancelRoutineIrql;
    const KIRQL now = self.irql;
    self.irql = mine.irql;
    draft& told = book.broken(which, mine.irp,
                              who(mine) + " was entered at IRQL " + std::to_string(mine.irql) +
                                  " and returned at " + std::to_string(now));
    if (mine.kind == routine::cancel) told.with("cancelled at", mine.irp->cancelled_at);
    return &told;
}

draft* check_regions(core::processor& self, ledger& book, const frame& mine) {
    KTHREAD& thread = *self.thread;
    if (mine.kind == routine::cancel || (thread.KernelApcDisable == mine.kernel_apc_disable &&
                                         thread.SpecialApcDisable == mine.special_apc_disable))
        return nullptr;
    thread.KernelApcDisable = mine.kernel_apc_disable;
    thread.SpecialApcDisable = mine.special_apc_disable;
    return &book.broken(
        mine.kind == routine::dispatch ? rule::ApcStateReturn : rule::CompletionRoutineApcs,
        mine.irp, who(mine) + " returned with another count of critical or guarded regions");
}

draft* check_locks(core::processor& self, ledger& book, const frame& mine) {
    if (mine.kind != routine::completion && !mine.cancel_lock_held && holds_cancel_lock(self))
        return &book.broken(rule::CancelSpinLock, mine.irp,
                            who(mine) + " returned holding the cancel spin lock")
                    .with("lock acquired at", cancel_lock_acquired_at(self));
    if (core::held_spin_locks(self) <= mine.spin_locks) return nullptr;
    const core::held_lock& held = core::held_locks(self).back();
    draft& told = book.broken(rule::SpinLockReturn, mine.irp,
                              who(mine) + " returned holding a spin lock that it acquired");
    return &told.with("lock acquired at", held.where);
}

bool marked_now(const record& irp, const frame& mine) {
    return (control_of(irp, mine.location) & SL_PENDING_RETURNED) != 0;
}

draft* judge_pending(ledger& book, const frame& mine, bool marked, bool done) {
    record& irp = *mine.irp;
    if (!marked && done && !mine.completed && !mine.forwarded)
        return &book.broken(rule::MarkingInterlockedQueuedIrps, &irp,
                            who(mine) + " returned STATUS_PENDING, and the IRP had been completed "
                                        "by another processor before it was marked")
                    .with("completed at", irp.completed_at);
    if (!marked)
        return &book.broken(rule::MarkIrpPending2, &irp,
                            who(mine) + " returned STATUS_PENDING and neither marked the IRP nor "
                                        "passed it to a driver that pended it");
    if (!done || !mine.completed || settings.pended_completed == answer::allow) return nullptr;
    if (settings.pended_completed == answer::fail)
        return &book.broken(rule::PendedCompletedRequest, &irp,
                            who(mine) + " completed the IRP and returned STATUS_PENDING")
                    .with("completed at", irp.completed_at);
    ++book.counted.warnings;
    return nullptr;
}

draft* judge_done(ledger& book, const frame& mine, NTSTATUS status, const level& own) {
    record& irp = *mine.irp;
    if (own.marked)
        return &book.broken(
            own.woken ? rule::CompletionEventChecking : rule::MarkIrpPending, &irp,
            who(mine) +
                (own.woken ? " was woken by its completion routine, which had marked the IRP "
                             "pending, and returned "
                           : " marked the IRP pending and returned ") +
                status_text(status));
    if (own.status == status) return nullptr;
    const bool passed = mine.forwarded && !came_back(irp, mine) && mine.lower != status;
    return &book.broken(passed ? rule::LowerDriverReturn : rule::CompleteRequestStatusCheck, &irp,
                        who(mine) + " returned " + status_text(status) +
                            ", and the IRP was completed with " + status_text(own.status))
                .with("completed at", irp.completed_at);
}

draft* judge_not_done(ledger& book, const frame& mine, NTSTATUS status, bool marked) {
    record& irp = *mine.irp;
    if (marked)
        return &book.broken(rule::MarkIrpPending, &irp,
                            who(mine) + " marked the IRP pending and returned " +
                                status_text(status) + "; it is not completed");
    return &book.broken(rule::IrpProcessingComplete, &irp,
                        who(mine) + " returned " + status_text(status) +
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

bool came_back(record& irp, const frame& mine) {
    if (!mine.forwarded || mine.lower_location == mine.location || !irp.has(mine.lower_location))
        return false;
    const level& below = irp.at(mine.lower_location);
    return below.use != mine.lower_use || (below.returned && !below.went_on);
}

bool is_below(record& irp, const frame& mine) {
    return mine.forwarded && mine.lower_returned && mine.lower == STATUS_PENDING &&
           !came_back(irp, mine);
}

draft* check_surroundings(core::processor& self, ledger& book, const frame& mine) {
    const std::lock_guard guard(book.lock);
    draft* told = check_locks(self, book, mine);
    if (told == nullptr) told = check_regions(self, book, mine);
    if (told == nullptr) told = check_irql(self, book, mine);
    return told;
}

draft* check_protocol(ledger& book, frame& mine, NTSTATUS status) {
    record& irp = *mine.irp;
    if (status == -1)
        return &book.broken(rule::CompleteRequestStatusCheck, &irp, who(mine) + " returned -1")
                    .parameters(0x225);
    if (is_below(irp, mine)) {
        if (status == STATUS_PENDING) return nullptr;
        return &book.broken(rule::LowerDriverReturn, &irp,
                            who(mine) + " returned " + status_text(status) +
                                ", and IoCallDriver had returned STATUS_PENDING");
    }
    const level& own = irp.at(mine.location);
    if (own.use != mine.use) return nullptr; // completed, and sent again from above
    const bool done = own.left || own.held || irp.stage != stage::sent;
    const bool marked = done ? own.marked : marked_now(irp, mine);
    if (mine.routine_ex)
        return &book.broken(rule::CompletionRoutineRegistered, &irp,
                            who(mine) + " called IoSetCompletionRoutineEx, but not IoCallDriver");
    if (status == STATUS_PENDING) return judge_pending(book, mine, marked, done);
    return done ? judge_done(book, mine, status, own) : judge_not_done(book, mine, status, marked);
}

} // namespace irpverbs::irp::verify
