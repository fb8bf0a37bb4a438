// Cancel routines: the drivers that set them, the cancellers that take them, and the completion.
#include "cancel.hpp"
#include "../require.hpp"
#include "cancel/cancel_steps.hpp"
#include "hooks.hpp"
#include "irql_rules.hpp"
#include "routine_return.hpp"
#include "tracing.hpp"

#include <dispatch/support/checks.hpp>
#include <dispatch/support/held_locks.hpp>
#include <dispatch/testing/probe.hpp>

namespace irpverbs::irp::verify {
namespace {

constexpr std::uint64_t ticks_of_ms = 10'000;

bool marked(const IRP* irp) {
    return irp->CurrentLocation > irp->StackCount ||
           (IoGetCurrentIrpStackLocation(const_cast<IRP*>(irp))->Control & SL_PENDING_RETURNED) !=
               0;
}

pending_report* check_owner(irp_tracker& tracker, record& irp, const frame* by, bool set) {
    if (by == nullptr || by->kind != routine::dispatch || !is_below(irp, *by)) return nullptr;
    return &tracker
                .violation(rule::CancelRoutineBelow, &irp,
                           std::string("a cancel routine is ") + (set ? "set on" : "taken from") +
                               " irp#" + std::to_string(irp.generation) + " by " +
                               device_text(by->device_number) + ", and a lower driver has it")
                .with("sent at", irp.sent_at);
}

// True if the option requires the lock for all devices, or the IRP's device requires it.
bool lock_is_required(irp_tracker& tracker, record& irp) {
    const int location = static_cast<UCHAR>(irp.irp->CurrentLocation);
    return settings.cancel_lock_required ||
           (irp.has(location) && irp.at(location).device != nullptr &&
            tracker.device(irp.at(location).device).cancel_lock_required);
}

pending_report* check_arming(core::processor& self, irp_tracker& tracker, record& irp) {
    const std::string name = "a cancel routine is set on irp#" + std::to_string(irp.generation);
    if (lock_is_required(tracker, irp) && !holds_cancel_lock(self))
        return &tracker.violation(rule::CancelLockRequired, &irp,
                                  name + " without the cancel spin lock");
    if (irp.stage != stage::sent || marked(irp.irp) || core::held_spin_locks(self) != 0 ||
        holds_cancel_lock(self))
        return nullptr;
    return &tracker.violation(rule::MarkingQueuedIrps, &irp,
                              name +
                                  " before it is marked pending, and no lock keeps others from it");
}

struct exchanged {
    PDRIVER_CANCEL before = nullptr;
    pending_report* report = nullptr;
};

exchanged exchange(core::processor& self, irp_tracker& tracker, IRP* irp, PDRIVER_CANCEL routine) {
    const std::lock_guard guard(tracker.lock);
    if (const record* old = tracker.find(irp); old != nullptr && old->stage == stage::freed)
        return {nullptr, &tracker
                              .violation(rule::UseAfterFree, old,
                                         "IoSetCancelRoutine is given irp#" +
                                             std::to_string(old->generation) + ", which was freed")
                              .with("freed at", old->freed_at)};
    record& of = tracker.record_of(irp);
    frame* context = context_of(self);
    frame* by = context != nullptr && context->irp == &of ? context : nullptr;
    exchanged result;
    if (enabled(check::cancel)) result.report = check_owner(tracker, of, by, routine != nullptr);
    if (routine != nullptr) {
        if (enabled(check::cancel) && result.report == nullptr)
            result.report = check_arming(self, tracker, of);
        of.armed_at = core::capture_stack();
        if (by != nullptr) by->armed = true;
    }
    result.before = __atomic_exchange_n(&irp->CancelRoutine, routine, __ATOMIC_SEQ_CST);
    if (routine != nullptr)
        tracker.log_event(self, of, "cancel routine set");
    else if (result.before != nullptr)
        tracker.log_event(self, of, "cancel routine cleared");
    else if (of.cancel_routine_taken)
        of.refused = &self;
    return result;
}

// The record of an IRP that may be cancelled; null: it was freed.
record* begin_cancel(core::processor& self, irp_tracker& tracker, IRP* irp,
                     pending_report*& report) {
    const std::lock_guard guard(tracker.lock);
    if (const record* old = tracker.find(irp); old != nullptr && old->stage == stage::freed) {
        report = &tracker
                      .violation(rule::UseAfterFree, old,
                                 "IoCancelIrp is given irp#" + std::to_string(old->generation) +
                                     ", which was freed")
                      .with("freed at", old->freed_at);
        return nullptr;
    }
    record& of = tracker.record_of(irp);
    ++tracker.counters.cancels;
    if (!of.cancel_requested) {
        of.cancel_time = self.owner->interrupt_time();
        of.cancelled_at = core::capture_stack();
    }
    of.cancel_requested = true;
    ++of.cancels_under_way;
    tracker.reference(of);
    tracker.log_event(self, of, "cancelled");
    return &of;
}

// Reports an IRP that was freed during IoCancelIrp: its caller must prevent that.
pending_report* check_freed_during_cancel(irp_tracker& tracker, record& of) {
    if (of.stage != stage::freed) return nullptr;
    --of.cancels_under_way;
    return &tracker
                .violation(rule::UseAfterFree, &of,
                           "IoCancelIrp is cancelling irp#" + std::to_string(of.generation) +
                               ", which was freed during that call")
                .with("freed at", of.freed_at);
}

// Keeps the record for as long as IoCancelIrp needs it: the IRP may be freed earlier.
class cancel_scope {
public:
    cancel_scope(irp_tracker& tracker, record& of) : tracker_(tracker), of_(of) {}
    ~cancel_scope() { tracker_.dereference(of_); }
    cancel_scope(const cancel_scope&) = delete;
    cancel_scope& operator=(const cancel_scope&) = delete;

private:
    irp_tracker& tracker_;
    record& of_;
};

// The hooks of IoCancelIrp that update the record.
class tracked_cancel {
public:
    tracked_cancel(core::processor& self, irp_tracker& tracker, record& of)
        : self_(self), tracker_(tracker), of_(of) {}

    template <class Step>
    bool step(Step perform) {
        const std::lock_guard guard(tracker_.lock);
        report_ = check_freed_during_cancel(tracker_, of_);
        if (report_ != nullptr) return false;
        perform();
        return true;
    }

    static void before_exchange(IRP* irp) {
        core::sched_point_slow(core::point::cancel_exchange, irp);
    }

    void exchanged(PDRIVER_CANCEL routine) {
        --of_.cancels_under_way;
        if (routine == nullptr || of_.irp->CurrentLocation > of_.irp->StackCount) return;
        of_.cancel_routine_taken = true;
        of_.canceller = &self_;
        mine_.kind = routine::cancel;
        mine_.irp = &of_;
        mine_.location = static_cast<UCHAR>(of_.irp->CurrentLocation);
        mine_.device = IoGetCurrentIrpStackLocation(of_.irp)->DeviceObject;
        mine_.device_number = of_.at(mine_.location).device_number;
        tracker_.reference(of_);
        tracker_.log_event(self_, of_, "cancel routine called", mine_.location,
                           mine_.device_number);
    }

    void call(PDRIVER_CANCEL routine, DEVICE_OBJECT* device, IRP* irp) {
        const frame_scope inside(self_, mine_);
        // The state on the routine's entry, which it must restore.
        mine_.irql = irp->CancelIrql;
        mine_.cancel_lock_held = false;
        if (mine_.spin_locks != 0) --mine_.spin_locks;
        {
            const traced_step traced(
                self_, tracker_,
                event_of(of_, trace_step::cancel_routine, mine_.location, mine_.device_number));
            routine(device, irp);
        }
        {
            const std::lock_guard guard(tracker_.lock);
            of_.cancel_routine_taken = false;
            of_.refused = nullptr;
            of_.completed_beside_cancel = false;
        }
        if (enabled(check::cancel)) emit(tracker_, check_routine_state(self_, tracker_, mine_));
    }

    BOOLEAN release(KIRQL level) {
        if (report_ == nullptr) IRPVERBS_PROBE("cancel.found_no_routine");
        KeReleaseSpinLock(&cancel_lock_of(self_), level);
        emit(tracker_, report_);
        return FALSE;
    }

private:
    core::processor& self_;
    irp_tracker& tracker_;
    record& of_;
    frame mine_;
    pending_report* report_ = nullptr; // the finding of the last step
};

} // namespace

PDRIVER_CANCEL exchange_cancel_routine(IRP* irp, PDRIVER_CANCEL routine) {
    require_irp(irp, "IoSetCancelRoutine: the IRP is NULL");
    core::instrumented_call(irql_rules::IoSetCancelRoutine, core::point::cancel_exchange, irp);
    if (!tracking()) return __atomic_exchange_n(&irp->CancelRoutine, routine, __ATOMIC_SEQ_CST);
    core::processor& self = core::this_processor();
    irp_tracker& tracker = irp_tracker::of(self);
    const exchanged result = exchange(self, tracker, irp, routine);
    emit(tracker, result.report);
    return result.before;
}

BOOLEAN cancel(IRP* irp) {
    core::processor& self = core::this_processor();
    irp_tracker& tracker = irp_tracker::of(self);
    pending_report* report = nullptr;
    record* of = begin_cancel(self, tracker, irp, report);
    emit(tracker, report);
    if (of == nullptr) return FALSE;
    const cancel_scope until_over(tracker, *of);
    const traced_step traced(self, tracker, event_of(*of, trace_step::cancelling, 0, 0));
    const KIRQL old = KeAcquireSpinLockRaiseToDpc(&cancel_lock_of(self));
    tracked_cancel hooks(self, tracker, *of);
    return cancel_under_lock(irp, old, hooks);
}

void check_cancel_release() {
    if (!enabled(check::cancel)) return;
    core::processor& self = core::this_processor();
    if (holds_cancel_lock(self)) return;
    irp_tracker& tracker = irp_tracker::of(self);
    pending_report* report = nullptr;
    {
        const std::lock_guard guard(tracker.lock);
        report = &tracker.violation(
            rule::CancelSpinlockRelease, nullptr,
            "IoReleaseCancelSpinLock is called by a processor that does not hold "
            "the cancel spin lock");
    }
    emit(tracker, report);
}

pending_report* check_pended(irp_tracker& tracker, const frame& mine, NTSTATUS status) {
    if (!mine.armed || mine.irp->start_io || status != STATUS_PENDING || !enabled(check::cancel))
        return nullptr;
    record& irp = *mine.irp;
    const location_record& own = irp.at(mine.location);
    if (own.use != mine.use || own.left || own.deferred || irp.stage != stage::sent ||
        irp.cancels_under_way != 0 || !__atomic_load_n(&irp.irp->Cancel, __ATOMIC_RELAXED) ||
        __atomic_load_n(&irp.irp->CancelRoutine, __ATOMIC_RELAXED) == nullptr)
        return nullptr;
    return &tracker
                .violation(
                    rule::IrpCancelField, &irp,
                    device_text(mine.device_number) + " pended irp#" +
                        std::to_string(irp.generation) +
                        " with a cancel routine that will not be called: the IRP was cancelled "
                        "before the routine was set, and Irp->Cancel was not looked at")
                .with("cancelled at", irp.cancelled_at)
                .with("cancel routine set at", irp.armed_at);
}

pending_report* check_cancelled_completion(core::processor& self, irp_tracker& tracker, record& irp,
                                           const frame* context) {
    const std::string name = "irp#" + std::to_string(irp.generation);
    // The routine may have handed the IRP over by a count; it has not if it completes the IRP, too.
    if (irp.cancel_routine_taken && irp.refused == &self && irp.canceller != &self)
        irp.completed_beside_cancel = true;
    const bool other = context != nullptr && context->kind == routine::cancel &&
                       context->irp != &irp && !irp.cancel_requested;
    if (other && irp.irp->IoStatus.Status == STATUS_CANCELLED)
        return &tracker.violation(rule::WrongIrpCancelled, &irp,
                                  "the cancel routine of irp#" +
                                      std::to_string(context->irp->generation) + " cancels " +
                                      name + ", which was not cancelled");
    if (!irp.cancel_requested) return nullptr;
    const std::uint64_t limit = settings.cancel_limit_ms * ticks_of_ms;
    const std::uint64_t waited = self.owner->interrupt_time() - irp.cancel_time;
    if (waited <= limit) return nullptr;
    return &tracker
                .violation(rule::CancelLatency, &irp,
                           name + " is completed " + std::to_string(waited / ticks_of_ms) +
                               " ms after it was cancelled")
                .with("cancelled at", irp.cancelled_at);
}

} // namespace irpverbs::irp::verify
