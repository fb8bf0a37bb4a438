// IoCallDriver with the verifier's checks.
#include "../require.hpp"
#include "cancel.hpp"
#include "csq_keys.hpp"
#include "force_pending.hpp"
#include "hooks.hpp"
#include "irql_rules.hpp"
#include "packet/irp_allocation.hpp"
#include "plug_and_play.hpp"
#include "remove_locks.hpp"
#include "routine_return.hpp"
#include "snapshots.hpp"
#include "tracing.hpp"
#include "user_memory.hpp"
#include "waits.hpp"

#include <dispatch/support/checks.hpp>

namespace irpverbs::irp::verify {
namespace {

// The requests that may be sent at DISPATCH_LEVEL.
bool may_be_sent_at_dispatch(UCHAR major) {
    switch (major) {
    case IRP_MJ_READ:
    case IRP_MJ_WRITE:
    case IRP_MJ_DEVICE_CONTROL:
    case IRP_MJ_INTERNAL_DEVICE_CONTROL:
    case IRP_MJ_POWER:
        return true;
    default:
        return false;
    }
}

std::string sends(const record& irp, std::uint32_t device_number) {
    return "irp#" + std::to_string(irp.generation) + " is sent to " + device_text(device_number);
}

bool asks_for_completion(const IO_STACK_LOCATION& location) {
    return location.CompletionRoutine != nullptr &&
           (location.Control & (SL_INVOKE_ON_SUCCESS | SL_INVOKE_ON_ERROR | SL_INVOKE_ON_CANCEL)) !=
               0;
}

/// The state of one IoCallDriver for its checks.
struct sending {
    core::processor& self;
    irp_tracker& tracker;
    record& irp;
    frame* by; // the routine that sends it; null: in no routine of this IRP
    DEVICE_OBJECT* device;
    std::uint32_t device_number;
    int location;
    const IO_STACK_LOCATION& next;
    bool skipped; // the driver passes its own location to the next driver
};

pending_report* check_owner(sending& call) {
    const record& irp = call.irp;
    const frame* by = call.by;
    if (by != nullptr && by->kind == routine::dispatch && is_below(call.irp, *by))
        return &call.tracker
                    .violation(rule::ForwardedTwice, &irp,
                               sends(irp, call.device_number) + " while a lower driver has it")
                    .with("sent before at", irp.sent_at);
    const bool gone = by != nullptr && by->kind == routine::dispatch &&
                      call.irp.at(by->location).use == by->use && call.irp.at(by->location).left;
    if (!gone && !irp.walking) return nullptr;
    return &call.tracker
                .violation(rule::ForwardedTwice, &irp,
                           sends(irp, call.device_number) + " after it was completed")
                .with("completed at", irp.completed_at);
}

pending_report* check_cancel_routine(sending& call) {
    if (__atomic_load_n(&call.irp.irp->CancelRoutine, __ATOMIC_RELAXED) == nullptr) return nullptr;
    return &call.tracker
                .violation(rule::ForwardedWithCancelRoutine, &call.irp,
                           sends(call.irp, call.device_number) + " with a cancel routine set")
                .with("cancel routine set at", call.irp.armed_at);
}

pending_report* check_location(sending& call) {
    if ((call.next.Control & SL_PENDING_RETURNED) != 0)
        return &call.tracker.violation(
            rule::ControlNotZeroed, &call.irp,
            sends(call.irp, call.device_number) +
                (call.skipped ? ": IoSkipCurrentIrpStackLocation after IoMarkIrpPending"
                              : ": the next stack location is marked pending already"));
    if (call.skipped || call.by == nullptr || !asks_for_completion(call.next) ||
        call.location >= call.irp.stack_count)
        return nullptr;
    const IO_STACK_LOCATION& above = (&call.next)[1];
    if (above.CompletionRoutine != call.next.CompletionRoutine ||
        above.Context != call.next.Context)
        return nullptr;
    // A driver that is twice in a stack may set one routine twice.
    const bool sole = call.location + 2 > call.irp.stack_count;
    if (!sole && call.irp.at(call.location + 2).driver == call.irp.at(call.location + 1).driver)
        return nullptr;
    return &call.tracker.violation(
        rule::CopiedCompletionRoutine, &call.irp,
        sends(call.irp, call.device_number) +
            " with the upper driver's completion routine: the location was "
            "copied by hand");
}

pending_report* check_originator(sending& call) {
    const origin made = call.irp.made;
    const bool own = made == origin::allocated || made == origin::built_async_fsd;
    if (!own || call.irp.stage != stage::with_originator || asks_for_completion(call.next) ||
        needs_finalizing(*call.irp.irp))
        return nullptr;
    const rule which =
        made == origin::allocated ? rule::IoAllocateForward : rule::IoBuildFsdForward;
    return &call.tracker
                .violation(which, &call.irp,
                           sends(call.irp, call.device_number) + " without a completion routine")
                .with("allocated at", call.irp.made_at);
}

rule irql_rule_of(const record& irp) {
    if (irp.stage != stage::with_originator) return rule::ForwardedAtBadIrql;
    switch (irp.made) {
    case origin::allocated:
        return rule::ForwardedAtBadIrqlAllocate;
    case origin::built_async_fsd:
        return rule::ForwardedAtBadIrqlFsdAsync;
    case origin::built_sync_fsd:
        return rule::ForwardedAtBadIrqlFsdSync;
    default:
        return rule::ForwardedAtBadIrql;
    }
}

pending_report* check_level(sending& call) {
    const std::string level = " at IRQL " + std::to_string(call.self.irql);
    if (call.self.irql > DISPATCH_LEVEL)
        return &call.tracker.violation(rule::IoCallDriverIrql, &call.irp,
                                       sends(call.irp, call.device_number) + level);
    if (call.self.irql == DISPATCH_LEVEL && !may_be_sent_at_dispatch(call.next.MajorFunction))
        return &call.tracker.violation(irql_rule_of(call.irp), &call.irp,
                                       sends(call.irp, call.device_number) + level +
                                           " with major function " +
                                           std::to_string(call.next.MajorFunction));
    const origin made = call.irp.made;
    if (call.irp.stage != stage::with_originator || call.self.irql < APC_LEVEL ||
        (made != origin::built_sync_fsd && made != origin::built_device_control))
        return nullptr;
    return &call.tracker.violation(rule::ThreadBoundIrql, &call.irp,
                                   sends(call.irp, call.device_number) + level +
                                       ", and is bound to its thread");
}

pending_report* check_routine_ex(sending& call) {
    if (call.by == nullptr || !call.by->routine_ex_failed) return nullptr;
    return &call.tracker.violation(rule::IoSetCompletionExCompleteIrp, &call.irp,
                                   sends(call.irp, call.device_number) +
                                       ", and IoSetCompletionRoutineEx had failed");
}

pending_report* check_stack(sending& call) {
    const int left = call.location;
    if (left < call.device->StackSize)
        return &call.tracker.violation(rule::IrpStackLocations, &call.irp,
                                       sends(call.irp, call.device_number) + " with " +
                                           std::to_string(left) + " stack locations left; " +
                                           std::to_string(call.device->StackSize) +
                                           " devices are there");
    if (call.by == nullptr || call.by->kind != routine::dispatch) return nullptr;
    const DEVICE_OBJECT* below = call.by->device->AttachedTo;
    if (below == nullptr || below == call.device) return nullptr;
    while (below != nullptr && below != call.device)
        below = below->AttachedTo;
    if (below == nullptr) return nullptr; // to another stack
    return &call.tracker.violation(rule::SkippedDevice, &call.irp,
                                   sends(call.irp, call.device_number) + " by " +
                                       device_text(call.by->device_number) +
                                       ", and the device between them does not see it");
}

pending_report* check_sending(sending& call) {
    pending_report* report = check_owner(call);
    if (report == nullptr) report = check_routine_ex(call);
    if (report == nullptr) report = check_remove_lock_held(call.tracker, call.irp, call.by);
    if (!enabled(check::io)) return report;
    if (report == nullptr) report = check_stack(call);
    if (report == nullptr) report = check_originator(call);
    if (report == nullptr) report = check_cancel_routine(call);
    if (report == nullptr) report = check_location(call);
    if (report == nullptr) report = check_level(call);
    if (report == nullptr) report = check_pnp_forwarded(call.tracker, call.irp, call.by, call.next);
    return report;
}

// Records the call in the location, the IRP and the frame.
void enter(sending& call, frame& mine, const void* caller) {
    record& irp = call.irp;
    location_record& own = irp.at(call.location);
    if (!call.skipped) {
        const std::uint32_t use = own.use + 1;
        own = location_record{};
        own.use = use;
    }
    own.device = call.device;
    own.driver = call.device->DriverObject;
    own.device_number = call.device_number;
    own.has_lower = call.device->AttachedTo != nullptr;
    own.forced = should_force_pending(call.self, call.tracker, *call.device,
                                      call.next.MajorFunction, caller);
    if (irp.stage == stage::with_originator && irp.irp->UserEvent != nullptr)
        irp.event_was_clear =
            __atomic_load_n(&irp.irp->UserEvent->Header.SignalState, __ATOMIC_RELAXED) == 0;
    if (!call.skipped && enabled(check::io)) snapshot(irp, call.location + 1);
    irp.stage = stage::sent;
    irp.sender = &call.self;
    irp.left_waiting = nullptr;
    ++irp.epoch;
    ++call.tracker.counters.calls;
    irp.sent_at = core::capture_stack();
    call.tracker.log_event(call.self, irp, call.skipped ? "sent, location skipped" : "sent",
                           call.location, call.device_number);
    mine.irp = &irp;
    mine.location = call.location;
    mine.use = own.use;
    mine.device = call.device;
    mine.device_number = call.device_number;
    mine.major = call.next.MajorFunction;
    mine.minor = call.next.MinorFunction;
    call.tracker.reference(irp);
    if (call.by == nullptr) return;
    call.by->forwarded = true;
    call.by->lower_returned = false;
    call.by->routine_ex = false;
    call.by->lower_location = call.location;
    call.by->lower_use = own.use;
}

struct begun {
    pending_report* report = nullptr;
    bool stop = false; // the IRP must not be touched
};

begun begin(core::processor& self, irp_tracker& tracker, DEVICE_OBJECT* device, IRP* irp,
            frame& mine, frame*& by, const void* caller) {
    const std::lock_guard guard(tracker.lock);
    if (const record* old = tracker.find(irp); old != nullptr && old->stage == stage::freed)
        return {&tracker
                     .violation(rule::UseAfterFree, old,
                                "IoCallDriver is given irp#" + std::to_string(old->generation) +
                                    ", which was freed")
                     .with("freed at", old->freed_at),
                true};
    const device_record& known = tracker.device(device);
    if (known.deleted)
        return {&tracker
                     .violation(rule::DeleteDevice, nullptr,
                                "an IRP is sent to " + device_text(known.number) +
                                    ", which was deleted")
                     .with("deleted at", known.deleted_at),
                true};
    record& of = tracker.record_of(irp);
    if (irp->Type != live_irp_type || irp->CurrentLocation <= 1 ||
        !of.has(irp->CurrentLocation - 1))
        return {};
    const int location = irp->CurrentLocation - 1;
    if (by != nullptr && by->irp != &of) {
        by->bound = irp;
        by->bound_generation = of.generation;
        by->bound_depth = &mine;
        by = nullptr;
    }
    const bool skipped = by != nullptr && by->location == location && !of.at(location).left;
    sending call{self,   tracker,      of,       by,
                 device, known.number, location, *IoGetNextIrpStackLocation(irp),
                 skipped};
    pending_report* report = check_sending(call);
    if (report != nullptr && std::string_view(report->found.rule) == "ForwardedTwice")
        return {report, true};
    find_user_buffers(of, call.next);
    enter(call, mine, caller);
    return {report, false};
}

trace_event sent(const frame& mine, const IO_STACK_LOCATION& next) {
    trace_event what = event_of(*mine.irp, trace_step::sent, mine.location, mine.device_number);
    what.device = mine.device;
    what.major = next.MajorFunction;
    what.minor = next.MinorFunction;
    return what;
}

} // namespace

NTSTATUS call_driver(DEVICE_OBJECT* device, IRP* irp, const void* caller) {
    require_irp(irp, "IoCallDriver: the IRP is NULL");
    if (!enabled(check::io)) VERIFY_IRQL(IoCallDriver);
    core::sched_point_slow(core::point::call_driver, irp);
    if (!tracking() || device == nullptr) return call_driver_unchecked(device, irp);
    core::processor& self = core::this_processor();
    irp_tracker& tracker = irp_tracker::of(self);
    frame mine;
    frame* by = context_of(self);
    const begun start = begin(self, tracker, device, irp, mine, by, caller);
    emit(tracker, start.report);
    if (start.stop) return STATUS_INVALID_PARAMETER;
    if (mine.irp == nullptr) return call_driver_unchecked(device, irp); // which rejects it
    NTSTATUS status = STATUS_SUCCESS;
    {
        const frame_scope inside(self, mine);
        traced_step step(self, tracker, sent(mine, *IoGetNextIrpStackLocation(irp)));
        status = call_driver_unchecked(device, irp);
        if (enabled(check::io)) emit(tracker, check_routine_state(self, tracker, mine));
        pending_report* report = nullptr;
        {
            const std::lock_guard guard(tracker.lock);
            if (enabled(check::io)) report = check_protocol(tracker, mine, status);
            if (report == nullptr) report = check_region_locks(tracker, mine, status);
            if (report == nullptr) report = check_pended(tracker, mine, status);
            if (report == nullptr) report = check_stack_left(tracker, mine);
            if (report == nullptr) report = check_key_left(tracker, mine);
            if (report == nullptr) report = check_remove_locks(tracker, mine, status);
        }
        emit(tracker, report);
        status = queue_deferred(self, tracker, mine, status);
        step.returned(status);
    }
    if (by != nullptr) {
        by->lower = status;
        by->lower_returned = true;
    }
    return status;
}

} // namespace irpverbs::irp::verify
