// The verifier's checks of IoCompleteRequest, and its hooks of the walk up the stack.
#include "../completion_walk.hpp"
#include "../require.hpp"
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

// The originator has the IRP again, in a location of its own, and lets the system complete it.
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

// Defers the completion before any field of the location is cleared.
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

// The originator may have kept locations at the top for itself, to which no IRP was sent.
bool above_is_originator(record& of, int left) {
    return left == of.irp->StackCount || of.at(left + 1).use == 0;
}

draft* check_location(ledger& book, record& of, const IO_STACK_LOCATION& location, int number) {
    const level& own = of.at(number);
    if (draft* changed = unseal(book, of, number + 1)) return changed;
    if (own.device == nullptr || location.DeviceObject == own.device || !watching(watch::io))
        return nullptr;
    return &book.broken(rule::TrashedLocation, &of,
                        "stack location " + std::to_string(number) + " of irp#" +
                            std::to_string(of.generation) + " names another device than " +
                            device_text(own.device_number) + ", which it was sent to");
}

draft* check_went_on(ledger& book, record& of, const frame& mine, bool is_same_turn,
                     bool pending_returned) {
    if (!is_same_turn)
        return &book.broken(rule::CompleteRequest, &of,
                            "the completion routine of " +
                                (mine.device != nullptr ? device_text(mine.device_number)
                                                        : std::string("the IRP's maker")) +
                                " lets irp#" + std::to_string(of.generation) +
                                " go on up, and it was completed, sent or freed meanwhile")
                    .with("completed at", of.completed_at);
    if (mine.device == nullptr || !pending_returned ||
        (IoGetCurrentIrpStackLocation(of.irp)->Control & SL_PENDING_RETURNED) != 0)
        return nullptr;
    return &book.broken(rule::PendingPropagated, &of,
                        "the completion routine of " + device_text(mine.device_number) +
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

/// The verifier's hooks of the walk. The ledger's lock is held while a location is completed, so
/// that the return of a dispatch routine is checked before or after a step, never during one.
class watched_walk {
public:
    watched_walk(core::processor& self, ledger& book, record& of)
        : self_(self), book_(book), of_(of), guard_(book.lock, std::defer_lock) {}

    bool leave(IRP* irp) {
        guard_.lock();
        of_.walking = true;
        left_ = static_cast<UCHAR>(irp->CurrentLocation);
        const IO_STACK_LOCATION& location = *IoGetCurrentIrpStackLocation(irp);
        level& own = of_.at(left_);
        if (hold_back(self_, book_, of_, own, location.Control)) {
            guard_.unlock();
            return false;
        }
        found_ = check_location(book_, of_, location, left_);
        if (!own.held) {
            own.marked = (location.Control & SL_PENDING_RETURNED) != 0;
            own.status = irp->IoStatus.Status;
        }
        own.left = true;
        own.returned = false;
        return true;
    }

    void pass(IRP*) {
        unlock_and_report();
        trace_moment(trace_step::location_left, left_);
    }

    // Returns STATUS_MORE_PROCESSING_REQUIRED also when the IRP was passed on during the routine.
    NTSTATUS call(PIO_COMPLETION_ROUTINE routine, DEVICE_OBJECT* device, IRP* irp, void* context) {
        of_.at(left_).returned = true;
        if (routine == nullptr) {
            pass(irp);
            return STATUS_SUCCESS;
        }
        frame mine = enter(device);
        const std::uint32_t turn = of_.turn;
        unlock_and_report();
        const frame_scope inside(self_, mine);
        const bool pending_returned = irp->PendingReturned != 0;
        const NTSTATUS status = run(routine, mine, context);
        if (watching(watch::io)) tell(book_, check_surroundings(self_, book_, mine));
        return status == STATUS_MORE_PROCESSING_REQUIRED ? taken(turn)
                                                         : went_on(mine, turn, pending_returned);
    }

    void arrive(IRP*) {
        {
            const std::lock_guard guard(book_.lock);
            of_.stage = stage::home;
            of_.at_top = true;
            of_.walking = false;
        }
        trace_moment(trace_step::came_home, 0);
        {
            const std::lock_guard guard(book_.lock);
            found_ = check_taken_at_top(book_, of_);
            if (found_ == nullptr) found_ = check_event(book_, of_);
        }
        tell(book_, found_);
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
        if (above_is_originator(of_, left_)) of_.stage = stage::home;
        book_.hold(of_);
        book_.note(self_, of_, "completion routine called", originator ? 0 : left_ + 1,
                   mine.device_number, of_.irp->IoStatus.Status);
        return mine;
    }

    NTSTATUS run(PIO_COMPLETION_ROUTINE routine, const frame& mine, void* context) {
        traced_step traced(self_, book_,
                           way_up(of_, trace_step::completion_routine, left_, mine.device_number));
        const NTSTATUS status = routine(mine.device, of_.irp, context);
        traced.returned(status);
        return status;
    }

    NTSTATUS taken(std::uint32_t turn) {
        const std::lock_guard guard(book_.lock);
        // In the other cases the IRP already has another owner.
        if (of_.turn == turn || of_.stage == stage::freed) note_taken_back(book_, of_);
        return STATUS_MORE_PROCESSING_REQUIRED;
    }

    NTSTATUS went_on(const frame& mine, std::uint32_t turn, bool pending_returned) {
        bool ours = false;
        {
            const std::lock_guard guard(book_.lock);
            ours = of_.turn == turn;
            found_ = watching(watch::io) || !ours
                         ? check_went_on(book_, of_, mine, ours, pending_returned)
                         : nullptr;
            if (ours) {
                of_.at(left_).went_on = true;
                of_.walking = true;
            }
        }
        tell(book_, found_);
        return ours ? STATUS_SUCCESS : STATUS_MORE_PROCESSING_REQUIRED;
    }

    void unlock_and_report() {
        guard_.unlock();
        tell(book_, found_);
    }

    void trace_moment(trace_step step, int location) {
        if (watching(watch::recording)) trace(self_, book_, way_up(of_, step, location, 0));
    }

    core::processor& self_;
    ledger& book_;
    record& of_;
    std::unique_lock<core::raw_spin> guard_;
    int left_ = 0; // the location completed last
    draft* found_ = nullptr;
};

void walk(core::processor& self, ledger& book, record& of) {
    const traced_step traced(self, book,
                             way_up(of, trace_step::completing, of.irp->CurrentLocation, 0));
    watched_walk hooks(self, book, of);
    walk_on(of.irp, hooks);
}

} // namespace

void complete_request(IRP* irp) {
    require_irp(irp, "IoCompleteRequest: the IRP is NULL");
    if (!watching(watch::io)) VERIFY_IRQL(IoCompleteRequest);
    core::sched_point_slow(core::point::complete_request, irp);
    if (!tracking()) return complete_unwatched(irp);
    core::processor& self = core::this_processor();
    ledger& book = ledger::of(self);
    const completion_begun start = begin(self, book, irp);
    tell(book, start.told);
    if (start.stop) return;
    if (start.irp == nullptr) return complete_unwatched(irp); // which rejects it
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
