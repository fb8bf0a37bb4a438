// IoCompleteRequest under the verifier's eyes: the same walk up, a step at a time under the
// ledger's lock, so that a dispatch routine's return is judged before or after a step, never
// during.
#include "../packet.hpp"
#include "../rules.hpp"
#include "forced.hpp"
#include "hooks.hpp"
#include "parked.hpp"
#include "returned.hpp"
#include "seals.hpp"
#include "tracing.hpp"
#include "waits.hpp"

#include <dispatch/detail/checks.hpp>
#include <dispatch/detail/held_locks.hpp>

namespace irpverbs::irp::verify {
namespace {

std::string completes(const record& irp) { return "irp#" + std::to_string(irp.generation); }

// Its maker has it back, holds a location of its own, and lets the system do the rest.
bool resumed_by_maker(const record& irp) {
    return irp.stage == stage::home && irp.irp->CurrentLocation <= irp.irp->StackCount &&
           has_receiver(*irp.irp);
}

draft* check_first(ledger& book, record& irp, const frame* by) {
    if (irp.stage == stage::freed)
        return &book.broken(irp.completions != 0 ? rule::DoubleCompletion : rule::UseAfterFree,
                            &irp, completes(irp) + " is completed after it was freed")
                    .with("first completed at", irp.completed_at)
                    .with("freed at", irp.freed_at);
    if (resumed_by_maker(irp)) return nullptr;
    if (irp.stage == stage::home && irp.completions == 0)
        return &book.broken(irp.made == origin::allocated         ? rule::IoAllocateComplete
                            : irp.made == origin::built_async_fsd ? rule::IoBuildFsdComplete
                                                                  : rule::CompletedNeverSent,
                            &irp, completes(irp) + " is completed, and was never sent")
                    .with(name_of(irp.made), irp.made_at);
    const bool own_gone = by != nullptr && by->kind == routine::dispatch &&
                          irp.at(by->location).use == by->use &&
                          (irp.at(by->location).left || irp.at(by->location).held);
    const bool again = by != nullptr && by->kind == routine::completion && by->completed;
    if (irp.stage == stage::home || irp.walking || own_gone || again)
        return &book.broken(rule::DoubleCompletion, &irp,
                            completes(irp) + " is completed a second time")
                    .with("first completed at", irp.completed_at);
    if (by != nullptr && by->kind == routine::dispatch && is_below(irp, *by))
        return &book.broken(rule::PendedCompletedRequest2, &irp,
                            completes(irp) + " is completed by " + device_text(by->device_number) +
                                ", and the driver below has it: IoCallDriver had returned "
                                "STATUS_PENDING")
                    .with("sent at", irp.sent_at);
    return nullptr;
}

draft* check_status(ledger& book, record& irp) {
    const NTSTATUS status = irp.irp->IoStatus.Status;
    if (status != STATUS_PENDING && status != -1) return nullptr;
    return &book.broken(rule::CompletedWithPending, &irp,
                        completes(irp) + " is completed with status " + status_text(status));
}

draft* check_locks(core::processor& self, ledger& book, record& irp) {
    if (holds_cancel_lock(self))
        return &book.broken(rule::SpinLockSafe, &irp,
                            completes(irp) + " is completed with the cancel spin lock held")
                    .with("lock acquired at", cancel_lock_acquired_at(self));
    const core::held_lock* held = core::first_held_spin_lock(self);
    if (held == nullptr) return nullptr;
    return &book.broken(rule::SpinLockSafe, &irp,
                        completes(irp) + " is completed with a spin lock held")
                .with("lock acquired at", held->where);
}

draft* check_level(core::processor& self, ledger& book, record& irp) {
    if (self.irql <= DISPATCH_LEVEL) return nullptr;
    return &book.broken(rule::IoCompleteRequestIrql, &irp,
                        completes(irp) + " is completed at IRQL " + std::to_string(self.irql));
}

draft* check_size(ledger& book, record& irp) {
    const IRP& packet = *irp.irp;
    const IO_STACK_LOCATION& location = *IoGetCurrentIrpStackLocation(irp.irp);
    if (packet.AssociatedIrp.SystemBuffer == nullptr || !NT_SUCCESS(packet.IoStatus.Status))
        return nullptr;
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
    return &book.broken(rule::InformationSize, &irp,
                        completes(irp) + " is completed with Information " +
                            std::to_string(packet.IoStatus.Information) + "; its buffer holds " +
                            std::to_string(size));
}

draft* check_routine(ledger& book, record& irp) {
    if (__atomic_load_n(&irp.irp->CancelRoutine, __ATOMIC_RELAXED) == nullptr) return nullptr;
    return &book.broken(rule::CompletedWithCancelRoutine, &irp,
                        completes(irp) + " is completed with its cancel routine set")
                .with("cancel routine set at", irp.armed_at);
}

struct completion_begun {
    draft* told = nullptr;
    bool stop = false;
    record* irp = nullptr;
};

completion_begun begin(core::processor& self, ledger& book, IRP* irp) {
    const std::lock_guard guard(book.lock);
    record* already = book.find(irp);
    if (already == nullptr && irp->Type != live_packet) return {};
    record& of = already != nullptr ? *already : book.known(irp);
    frame* context = context_of(self);
    frame* by = context != nullptr && context->irp == &of ? context : nullptr;
    if (draft* told = check_first(book, of, by)) return {told, true, nullptr};
    if (draft* told = check_status(book, of)) return {told, true, nullptr};
    draft* told = nullptr;
    if (watching(watch::cancel)) told = check_cancelled_completion(self, book, of, context);
    if (watching(watch::io)) {
        if (told == nullptr) told = check_routine(book, of);
        if (told == nullptr) told = check_locks(self, book, of);
        if (told == nullptr) told = check_level(self, book, of);
        if (told == nullptr) told = check_size(book, of);
    }
    __atomic_store_n(&irp->CancelRoutine, PDRIVER_CANCEL{nullptr}, __ATOMIC_RELAXED);
    if (by != nullptr) by->completed = true;
    of.walking = true;
    ++of.turn;
    ++of.completions;
    ++book.counted.completions;
    of.completed_at = core::capture_stack(3);
    book.note(self, of, "completed", irp->CurrentLocation,
              of.has(irp->CurrentLocation) ? of.at(irp->CurrentLocation).device_number : 0,
              irp->IoStatus.Status);
    return {told, false, &of};
}

/// One location of the way up.
struct step {
    draft* told = nullptr;
    bool at_top = false;
    bool held = false;
    PIO_COMPLETION_ROUTINE routine = nullptr; // null: none asked for
    void* context = nullptr;
    DEVICE_OBJECT* device = nullptr; // whose routine; null: the maker's
    int left = 0;                    // the location left behind
    std::uint32_t turn = 0;
    frame mine;
};

bool calls(const IRP& irp, UCHAR control) {
    if (__atomic_load_n(&irp.Cancel, __ATOMIC_RELAXED) && (control & SL_INVOKE_ON_CANCEL) != 0)
        return true;
    return (control &
            (NT_SUCCESS(irp.IoStatus.Status) ? SL_INVOKE_ON_SUCCESS : SL_INVOKE_ON_ERROR)) != 0;
}

// Holds it back before anything of the location is lost.
bool hold_back(core::processor& self, ledger& book, record& of, level& own, UCHAR control) {
    if (!own.forced) return false;
    own.forced = false;
    own.held = true;
    own.marked = (control & SL_PENDING_RETURNED) != 0;
    own.status = of.irp->IoStatus.Status;
    of.walking = false;
    book.note(self, of, "held back, to pend", of.irp->CurrentLocation, own.device_number);
    return true;
}

// A maker may have kept locations at the top for itself, which nobody was sent to.
bool above_is_maker(record& of, int left) {
    return left == of.irp->StackCount || of.at(left + 1).use == 0;
}

void leave(core::processor& self, ledger& book, record& of, step& now) {
    const std::lock_guard guard(book.lock);
    IRP* irp = of.irp;
    now.left = static_cast<UCHAR>(irp->CurrentLocation);
    now.at_top = now.left > irp->StackCount;
    of.walking = true;
    if (now.at_top) {
        of.stage = stage::home;
        of.at_top = true;
        of.walking = false;
        return;
    }
    IO_STACK_LOCATION* location = IoGetCurrentIrpStackLocation(irp);
    level& own = of.at(now.left);
    const UCHAR control = location->Control;
    now.held = hold_back(self, book, of, own, control);
    if (now.held) return;
    now.told = unseal(book, of, now.left + 1);
    if (now.told == nullptr && own.device != nullptr && location->DeviceObject != own.device &&
        watching(watch::io))
        now.told = &book.broken(rule::TrashedLocation, &of,
                                "stack location " + std::to_string(now.left) + " of irp#" +
                                    std::to_string(of.generation) + " names another device than " +
                                    device_text(own.device_number) + ", which it was sent to");
    irp->PendingReturned = (control & SL_PENDING_RETURNED) != 0;
    const bool call = calls(*irp, control);
    now.routine = call ? location->CompletionRoutine : nullptr;
    now.context = location->Context;
    if (!own.held) {
        own.marked = irp->PendingReturned;
        own.status = irp->IoStatus.Status;
    }
    own.left = true;
    own.returned = call;
    location->MinorFunction = 0;
    location->Flags = 0;
    location->Control = NT_SUCCESS(irp->IoStatus.Status) ? 0 : SL_ERROR_RETURNED;
    location->CompletionRoutine = nullptr;
    ++irp->CurrentLocation;
    const bool maker = now.left == irp->StackCount;
    if (!call) {
        if (!maker) location[1].Control |= control & SL_PENDING_RETURNED;
        return;
    }
    now.device = maker ? nullptr : location[1].DeviceObject;
    now.turn = of.turn;
    now.mine.kind = routine::completion;
    now.mine.irp = &of;
    now.mine.location = now.left + 1;
    now.mine.device = now.device;
    now.mine.device_number = maker ? 0 : of.at(now.left + 1).device_number;
    of.walking = false;
    if (above_is_maker(of, now.left)) of.stage = stage::home;
    book.hold(of);
    book.note(self, of, "completion routine called", maker ? 0 : now.left + 1,
              now.mine.device_number, irp->IoStatus.Status);
}

draft* check_went_on(ledger& book, record& of, const step& now, bool pending_returned) {
    if (of.turn != now.turn)
        return &book.broken(rule::CompleteRequest, &of,
                            "the completion routine of " +
                                (now.device != nullptr ? device_text(now.mine.device_number)
                                                       : std::string("the IRP's maker")) +
                                " lets irp#" + std::to_string(of.generation) +
                                " go on up, and it was completed, sent or freed meanwhile")
                    .with("completed at", of.completed_at);
    if (now.device == nullptr || !pending_returned ||
        (IoGetCurrentIrpStackLocation(of.irp)->Control & SL_PENDING_RETURNED) != 0)
        return nullptr;
    return &book.broken(rule::PendingPropagated, &of,
                        "the completion routine of " + device_text(now.mine.device_number) +
                            " lets irp#" + std::to_string(of.generation) +
                            " go on up and did not mark it, though PendingReturned is set");
}

draft* check_taken_at_top(ledger& book, record& of) {
    if (of.made != origin::allocated || has_receiver(*of.irp) || !watching(watch::io))
        return nullptr;
    return &book.broken(rule::IoAllocateForward, &of,
                        "irp#" + std::to_string(of.generation) +
                            " of IoAllocateIrp was completed all the way: its maker's completion "
                            "routine did not take it back with STATUS_MORE_PROCESSING_REQUIRED")
                .with("allocated at", of.made_at);
}

draft* check_event(ledger& book, record& of) {
    if (of.made != origin::built_device_control || !of.event_was_clear ||
        of.irp->UserEvent == nullptr || !watching(watch::io) ||
        __atomic_load_n(&of.irp->UserEvent->Header.SignalState, __ATOMIC_RELAXED) == 0)
        return nullptr;
    return &book.broken(rule::IoBuildDeviceIoControlSetEvent, &of,
                        "irp#" + std::to_string(of.generation) +
                            " is completed, and its event is set already");
}

trace_event way_up(const record& of, trace_step step, int location, std::uint32_t device_number) {
    trace_event what = event_of(of, step, location, device_number);
    what.status = of.irp->IoStatus.Status;
    return what;
}

// False: the routine took the IRP back, or it is not ours any more.
bool call_routine(core::processor& self, ledger& book, record& of, step& now) {
    const frame_scope inside(self, now.mine);
    const bool pending_returned = of.irp->PendingReturned != 0;
    NTSTATUS status = STATUS_SUCCESS;
    {
        traced_step traced(
            self, book,
            way_up(of, trace_step::completion_routine, now.left, now.mine.device_number));
        status = now.routine(now.device, of.irp, now.context);
        traced.returned(status);
    }
    if (watching(watch::io)) tell(book, check_surroundings(self, book, now.mine));
    if (status == STATUS_MORE_PROCESSING_REQUIRED) {
        const std::lock_guard guard(book.lock);
        // Else it is somebody's again.
        if (of.turn == now.turn || of.stage == stage::freed) note_taken_back(book, of);
        return false;
    }
    draft* told = nullptr;
    bool ours = true;
    {
        const std::lock_guard guard(book.lock);
        ours = of.turn == now.turn;
        if (watching(watch::io) || !ours) told = check_went_on(book, of, now, pending_returned);
        if (ours) {
            of.at(now.left).went_on = true;
            of.walking = true;
        }
    }
    tell(book, told);
    return ours;
}

// Nobody is called for the location; or it was the top.
void trace_moment(core::processor& self, ledger& book, const record& of, const step& now) {
    if (!watching(watch::recording)) return;
    trace(self, book,
          way_up(of, now.at_top ? trace_step::came_home : trace_step::location_left,
                 now.at_top ? 0 : now.left, 0));
}

// False: it goes no further up.
bool rise(core::processor& self, ledger& book, record& of, step& now) {
    leave(self, book, of, now);
    tell(book, now.told);
    if (now.held) return false;
    if (now.routine != nullptr) return call_routine(self, book, of, now);
    trace_moment(self, book, of, now);
    return true;
}

void walk(core::processor& self, ledger& book, record& of) {
    const traced_step traced(self, book,
                             way_up(of, trace_step::completing, of.irp->CurrentLocation, 0));
    for (bool at_top = false; !at_top;) {
        step now;
        if (!rise(self, book, of, now)) return;
        at_top = now.at_top;
    }
    draft* told = nullptr;
    {
        const std::lock_guard guard(book.lock);
        told = check_taken_at_top(book, of);
        if (told == nullptr) told = check_event(book, of);
    }
    tell(book, told);
    finish_at_top(of.irp);
}

} // namespace

void complete_request(IRP* irp) {
    if (!watching(watch::io)) VERIFY_IRQL(IoCompleteRequest);
    core::sched_point_slow(core::point::complete_request, irp);
    if (!tracking()) return complete_unwatched(irp);
    core::processor& self = core::this_processor();
    ledger& book = ledger::of(self);
    const completion_begun start = begin(self, book, irp);
    tell(book, start.told);
    if (start.stop) return;
    if (start.irp == nullptr) return complete_unwatched(irp); // which refuses it
    walk(self, book, *start.irp);
}

void resume_completion(IRP* irp) {
    core::processor& self = core::this_processor();
    ledger& book = ledger::of(self);
    record* of = nullptr;
    {
        const std::lock_guard guard(book.lock);
        of = &book.known(irp);
    }
    walk(self, book, *of);
}

} // namespace irpverbs::irp::verify
