// The verifier's checks of IoCompleteRequest, and its hooks of the walk up the stack.
#include "../require.hpp"
#include "cancel.hpp"
#include "completion/complete_locations.hpp"
#include "force_pending.hpp"
#include "hooks.hpp"
#include "irql_rules.hpp"
#include "plug_and_play.hpp"
#include "routine_return.hpp"
#include "snapshots.hpp"
#include "tracing.hpp"
#include "waits.hpp"

#include <dispatch/support/checks.hpp>
#include <dispatch/support/held_locks.hpp>

namespace irpverbs::irp::verify {
namespace {

std::string completes(const record& irp) { return "irp#" + std::to_string(irp.generation); }

// The originator has the IRP again, in a location of its own, and lets the system complete it.
bool resumed_by_originator(const record& irp) {
    return irp.stage == stage::with_originator && irp.irp->CurrentLocation <= irp.irp->StackCount &&
           needs_finalizing(*irp.irp);
}

// An IRP that its cancel routine completes after one who had got NULL from IoSetCancelRoutine.
bool took_from_cancel_routine(const record& irp, const frame* by) {
    return irp.completed_beside_cancel && by != nullptr && by->kind == routine::cancel &&
           by->irp == &irp;
}

pending_report* check_first(irp_tracker& tracker, record& irp, const frame* by) {
    if (took_from_cancel_routine(irp, by))
        return &tracker
                    .violation(
                        rule::CancelRoutineOwnsIrp, &irp,
                        completes(irp) +
                            " was completed by one who got NULL from IoSetCancelRoutine: its "
                            "cancel routine was running, owned it, and completes it now")
                    .with("first completed at", irp.completed_at)
                    .with("cancelled at", irp.cancelled_at);
    if (irp.stage == stage::freed)
        return &tracker
                    .violation(irp.completions != 0 ? rule::DoubleCompletion : rule::UseAfterFree,
                               &irp, completes(irp) + " is completed after it was freed")
                    .with("first completed at", irp.completed_at)
                    .with("freed at", irp.freed_at);
    if (resumed_by_originator(irp)) return nullptr;
    if (irp.stage == stage::with_originator && irp.completions == 0)
        return &tracker
                    .violation(irp.made == origin::allocated         ? rule::IoAllocateComplete
                               : irp.made == origin::built_async_fsd ? rule::IoBuildFsdComplete
                                                                     : rule::CompletedNeverSent,
                               &irp, completes(irp) + " is completed, and was never sent")
                    .with(name_of(irp.made), irp.made_at);
    const bool own_gone = by != nullptr && by->kind == routine::dispatch &&
                          irp.at(by->location).use == by->use &&
                          (irp.at(by->location).left || irp.at(by->location).deferred);
    const bool again = by != nullptr && by->kind == routine::completion && by->completed;
    if (irp.stage == stage::with_originator || irp.walking || own_gone || again)
        return &tracker
                    .violation(rule::DoubleCompletion, &irp,
                               completes(irp) + " is completed a second time")
                    .with("first completed at", irp.completed_at);
    if (by != nullptr && by->kind == routine::dispatch && is_below(irp, *by))
        return &tracker
                    .violation(rule::PendedCompletedRequest2, &irp,
                               completes(irp) + " is completed by " +
                                   device_text(by->device_number) +
                                   ", and the driver below has it: IoCallDriver had returned "
                                   "STATUS_PENDING")
                    .with("sent at", irp.sent_at);
    return nullptr;
}

pending_report* check_status(irp_tracker& tracker, record& irp) {
    const NTSTATUS status = irp.irp->IoStatus.Status;
    if (status != STATUS_PENDING && status != -1) return nullptr;
    return &tracker.violation(rule::CompletedWithPending, &irp,
                              completes(irp) + " is completed with status " + status_text(status));
}

pending_report* check_locks(core::processor& self, irp_tracker& tracker, record& irp) {
    if (holds_cancel_lock(self))
        return &tracker
                    .violation(rule::SpinLockSafe, &irp,
                               completes(irp) + " is completed with the cancel spin lock held")
                    .with("lock acquired at", cancel_lock_acquired_at(self));
    const core::held_lock* held = core::first_held_spin_lock(self);
    if (held == nullptr) return nullptr;
    return &tracker
                .violation(rule::SpinLockSafe, &irp,
                           completes(irp) + " is completed with a spin lock held")
                .with("lock acquired at", held->where);
}

pending_report* check_level(core::processor& self, irp_tracker& tracker, record& irp) {
    if (self.irql <= DISPATCH_LEVEL) return nullptr;
    return &tracker.violation(rule::IoCompleteRequestIrql, &irp,
                              completes(irp) + " is completed at IRQL " +
                                  std::to_string(self.irql));
}

pending_report* check_size(irp_tracker& tracker, record& irp) {
    const IRP& packet = *irp.irp;
    const IO_STACK_LOCATION& location = *IoGetCurrentIrpStackLocation(irp.irp);
    const bool buffered = packet.AssociatedIrp.SystemBuffer != nullptr &&
                          (packet.Flags & IRP_ASSOCIATED_IRP) == 0; // otherwise it is MasterIrp
    if (!buffered || !NT_SUCCESS(packet.IoStatus.Status)) return nullptr;
    ULONG size = 0;
    switch (location.MajorFunction) {
    case IRP_MJ_DEVICE_CONTROL:
        if ((location.Parameters.DeviceIoControl.IoControlCode & 3) != 0) return nullptr;
        size = location.Parameters.DeviceIoControl.OutputBufferLength;
        break;
    case IRP_MJ_READ:
        size = location.Parameters.Read.Length;
        break;
    default:
        return nullptr;
    }
    if (packet.IoStatus.Information <= size) return nullptr;
    return &tracker.violation(rule::InformationSize, &irp,
                              completes(irp) + " is completed with Information " +
                                  std::to_string(packet.IoStatus.Information) +
                                  "; its buffer holds " + std::to_string(size));
}

pending_report* check_routine(irp_tracker& tracker, record& irp) {
    if (__atomic_load_n(&irp.irp->CancelRoutine, __ATOMIC_RELAXED) == nullptr) return nullptr;
    return &tracker
                .violation(rule::CompletedWithCancelRoutine, &irp,
                           completes(irp) + " is completed with its cancel routine set")
                .with("cancel routine set at", irp.armed_at);
}

struct completion_begun {
    pending_report* report = nullptr;
    bool stop = false;
    record* irp = nullptr;
};

completion_begun begin(core::processor& self, irp_tracker& tracker, IRP* irp) {
    const std::lock_guard guard(tracker.lock);
    record* already = tracker.find(irp);
    if (already == nullptr && irp->Type != live_irp_type) return {};
    record& of = already != nullptr ? *already : tracker.record_of(irp);
    frame* context = context_of(self);
    frame* by = context != nullptr && context->irp == &of ? context : nullptr;
    if (pending_report* report = check_first(tracker, of, by)) return {report, true, nullptr};
    if (pending_report* report = check_status(tracker, of)) return {report, true, nullptr};
    pending_report* report = nullptr;
    if (enabled(check::cancel)) report = check_cancelled_completion(self, tracker, of, context);
    if (enabled(check::io)) {
        if (report == nullptr) report = check_routine(tracker, of);
        if (report == nullptr) report = check_locks(self, tracker, of);
        if (report == nullptr) report = check_level(self, tracker, of);
        if (report == nullptr) report = check_size(tracker, of);
        if (report == nullptr) report = check_pnp_completion(tracker, of);
        if (report == nullptr) report = check_power_completion(tracker, of);
    }
    __atomic_store_n(&irp->CancelRoutine, PDRIVER_CANCEL{nullptr}, __ATOMIC_RELAXED);
    if (by != nullptr) by->completed = true;
    of.walking = true;
    ++of.epoch;
    ++of.completions;
    ++tracker.counters.completions;
    of.completed_at = core::capture_stack();
    tracker.log_event(self, of, "completed", irp->CurrentLocation,
                      of.has(irp->CurrentLocation) ? of.at(irp->CurrentLocation).device_number : 0,
                      irp->IoStatus.Status);
    return {report, false, &of};
}

// Defers the completion before any field of the location is cleared.
bool defer_completion(core::processor& self, irp_tracker& tracker, record& of, location_record& own,
                      UCHAR control) {
    if (!own.forced) return false;
    own.forced = false;
    own.deferred = true;
    own.marked = (control & SL_PENDING_RETURNED) != 0;
    own.status = of.irp->IoStatus.Status;
    of.walking = false;
    tracker.log_event(self, of, "deferred", of.irp->CurrentLocation, own.device_number);
    return true;
}

// The originator may have kept locations at the top for itself, to which no IRP was sent.
bool above_is_originator(record& of, int left) {
    return left == of.irp->StackCount || of.at(left + 1).use == 0;
}

pending_report* check_location(irp_tracker& tracker, record& of, const IO_STACK_LOCATION& location,
                               int number) {
    const location_record& own = of.at(number);
    if (pending_report* changed = verify_snapshot(tracker, of, number + 1)) return changed;
    if (own.device == nullptr || location.DeviceObject == own.device || !enabled(check::io))
        return nullptr;
    return &tracker.violation(rule::TrashedLocation, &of,
                              "stack location " + std::to_string(number) + " of irp#" +
                                  std::to_string(of.generation) + " names another device than " +
                                  device_text(own.device_number) + ", which it was sent to");
}

pending_report* check_continued(irp_tracker& tracker, record& of, const frame& mine,
                                bool is_same_epoch, bool pending_returned) {
    if (!is_same_epoch)
        return &tracker
                    .violation(rule::CompleteRequest, &of,
                               "the completion routine of " +
                                   (mine.device != nullptr ? device_text(mine.device_number)
                                                           : std::string("the IRP's originator")) +
                                   " lets irp#" + std::to_string(of.generation) +
                                   " continue, and the routine completed, sent or freed it")
                    .with("completed at", of.completed_at);
    if (mine.device == nullptr || !pending_returned ||
        (IoGetCurrentIrpStackLocation(of.irp)->Control & SL_PENDING_RETURNED) != 0)
        return nullptr;
    return &tracker.violation(rule::PendingPropagated, &of,
                              "the completion routine of " + device_text(mine.device_number) +
                                  " lets irp#" + std::to_string(of.generation) +
                                  " continue and did not mark it, though PendingReturned is set");
}

pending_report* check_reached_top(irp_tracker& tracker, record& of) {
    if (of.made != origin::allocated || needs_finalizing(*of.irp) || !enabled(check::io))
        return nullptr;
    return &tracker
                .violation(
                    rule::IoAllocateForward, &of,
                    "irp#" + std::to_string(of.generation) +
                        " of IoAllocateIrp was completed all the way: its originator's completion "
                        "routine did not take it back with STATUS_MORE_PROCESSING_REQUIRED")
                .with("allocated at", of.made_at);
}

pending_report* check_event(irp_tracker& tracker, record& of) {
    if (of.made != origin::built_device_control || !of.event_was_clear ||
        of.irp->UserEvent == nullptr || !enabled(check::io) ||
        __atomic_load_n(&of.irp->UserEvent->Header.SignalState, __ATOMIC_RELAXED) == 0)
        return nullptr;
    return &tracker.violation(rule::IoBuildDeviceIoControlSetEvent, &of,
                              "irp#" + std::to_string(of.generation) +
                                  " is completed, and its event is set already");
}

trace_event completion_trace_event(const record& of, trace_step step, int location,
                                   std::uint32_t device_number) {
    trace_event what = event_of(of, step, location, device_number);
    what.status = of.irp->IoStatus.Status;
    return what;
}

/// The verifier's hooks of the walk. The tracker's lock is held while a location is completed, so
/// that the return of a dispatch routine is checked before or after a step, never during one.
class tracked_completion {
public:
    tracked_completion(core::processor& self, irp_tracker& tracker, record& of)
        : self_(self), tracker_(tracker), of_(of), guard_(tracker.lock, std::defer_lock) {}

    bool begin_location(IRP* irp) {
        guard_.lock();
        of_.walking = true;
        left_ = static_cast<UCHAR>(irp->CurrentLocation);
        const IO_STACK_LOCATION& location = *IoGetCurrentIrpStackLocation(irp);
        location_record& own = of_.at(left_);
        if (defer_completion(self_, tracker_, of_, own, location.Control)) {
            guard_.unlock();
            return false;
        }
        found_ = check_location(tracker_, of_, location, left_);
        if (!own.deferred) {
            own.marked = (location.Control & SL_PENDING_RETURNED) != 0;
            own.status = irp->IoStatus.Status;
        }
        own.left = true;
        own.returned = false;
        return true;
    }

    void skip_routine(IRP*) {
        unlock_and_report();
        trace_instant(trace_step::location_completed, left_);
    }

    // Returns STATUS_MORE_PROCESSING_REQUIRED also when the IRP was passed on during the routine.
    NTSTATUS call(PIO_COMPLETION_ROUTINE routine, DEVICE_OBJECT* device, IRP* irp, void* context) {
        of_.at(left_).returned = true;
        if (routine == nullptr) {
            skip_routine(irp);
            return STATUS_SUCCESS;
        }
        frame mine = enter(device);
        const std::uint32_t epoch = of_.epoch;
        const std::uint32_t use = of_.at(left_).use;
        unlock_and_report();
        const frame_scope inside(self_, mine);
        const bool pending_returned = irp->PendingReturned != 0;
        const NTSTATUS status = run(routine, mine, context);
        if (enabled(check::io)) emit(tracker_, check_routine_state(self_, tracker_, mine));
        end_routine(use);
        return status == STATUS_MORE_PROCESSING_REQUIRED ? reclaimed(epoch, routine, mine)
                                                         : continued(mine, epoch, pending_returned);
    }

    void all_completed(IRP*) {
        {
            const std::lock_guard guard(tracker_.lock);
            of_.stage = stage::with_originator;
            of_.at_top = true;
            of_.walking = false;
        }
        trace_instant(trace_step::returned_to_originator, 0);
        {
            const std::lock_guard guard(tracker_.lock);
            found_ = check_reached_top(tracker_, of_);
            if (found_ == nullptr) found_ = check_event(tracker_, of_);
        }
        emit(tracker_, found_);
    }

private:
    // Records the call of a completion routine. Called under the lock.
    frame enter(DEVICE_OBJECT* device) {
        const bool originator = left_ == of_.irp->StackCount;
        frame mine;
        mine.kind = routine::completion;
        mine.irp = &of_;
        mine.location = left_ + 1;
        mine.device = device;
        mine.device_number = originator ? 0 : of_.at(left_ + 1).device_number;
        of_.walking = false;
        of_.at(left_).in_routine = true;
        if (above_is_originator(of_, left_)) of_.stage = stage::with_originator;
        tracker_.reference(of_);
        tracker_.log_event(self_, of_, "completion routine called", originator ? 0 : left_ + 1,
                           mine.device_number, of_.irp->IoStatus.Status);
        return mine;
    }

    NTSTATUS run(PIO_COMPLETION_ROUTINE routine, const frame& mine, void* context) {
        traced_step traced(
            self_, tracker_,
            completion_trace_event(of_, trace_step::completion_routine, left_, mine.device_number));
        const NTSTATUS status = routine(mine.device, of_.irp, context);
        traced.returned(status);
        return status;
    }

    void end_routine(std::uint32_t use) {
        const std::lock_guard guard(tracker_.lock);
        if (location_record& own = of_.at(left_); own.use == use) own.in_routine = false;
    }

    NTSTATUS reclaimed(std::uint32_t epoch, PIO_COMPLETION_ROUTINE routine, const frame& mine) {
        const std::lock_guard guard(tracker_.lock);
        of_.kept_by = reinterpret_cast<void*>(routine);
        of_.kept_by_device = mine.device_number;
        of_.kept_in_epoch = epoch;
        // In the other cases the IRP already has another owner.
        if (of_.epoch == epoch || of_.stage == stage::freed) record_reclaim(tracker_, of_);
        return STATUS_MORE_PROCESSING_REQUIRED;
    }

    NTSTATUS continued(const frame& mine, std::uint32_t epoch, bool pending_returned) {
        bool ours = false;
        {
            const std::lock_guard guard(tracker_.lock);
            ours = of_.epoch == epoch;
            found_ = enabled(check::io) || !ours
                         ? check_continued(tracker_, of_, mine, ours, pending_returned)
                         : nullptr;
            if (ours) {
                of_.at(left_).continued = true;
                of_.walking = true;
            }
        }
        emit(tracker_, found_);
        return ours ? STATUS_SUCCESS : STATUS_MORE_PROCESSING_REQUIRED;
    }

    void unlock_and_report() {
        guard_.unlock();
        emit(tracker_, found_);
    }

    void trace_instant(trace_step step, int location) {
        if (enabled(check::recording))
            trace(self_, tracker_, completion_trace_event(of_, step, location, 0));
    }

    core::processor& self_;
    irp_tracker& tracker_;
    record& of_;
    std::unique_lock<core::raw_spin_lock> guard_;
    int left_ = 0; // the location completed last
    pending_report* found_ = nullptr;
};

void complete_tracked(core::processor& self, irp_tracker& tracker, record& of) {
    const traced_step traced(
        self, tracker,
        completion_trace_event(of, trace_step::completing, of.irp->CurrentLocation, 0));
    tracked_completion hooks(self, tracker, of);
    complete_locations(of.irp, hooks);
}

} // namespace

void complete_request(IRP* irp) {
    require_irp(irp, "IoCompleteRequest: the IRP is NULL");
    if (!enabled(check::io)) VERIFY_IRQL(IoCompleteRequest);
    core::sched_point_slow(core::point::complete_request, irp);
    if (!tracking()) return complete_request_unchecked(irp);
    core::processor& self = core::this_processor();
    irp_tracker& tracker = irp_tracker::of(self);
    const completion_begun start = begin(self, tracker, irp);
    emit(tracker, start.report);
    if (start.stop) return;
    if (start.irp == nullptr) return complete_request_unchecked(irp); // which rejects it
    complete_tracked(self, tracker, *start.irp);
}

void resume_completion(IRP* irp) {
    core::processor& self = core::this_processor();
    irp_tracker& tracker = irp_tracker::of(self);
    record* of = nullptr;
    {
        const std::lock_guard guard(tracker.lock);
        of = &tracker.record_of(irp);
    }
    complete_tracked(self, tracker, *of);
}

} // namespace irpverbs::irp::verify
