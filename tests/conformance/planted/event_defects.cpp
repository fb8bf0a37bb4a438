// Defects of events, cancellation and close.
#include "hook.hpp"

#include <memory>

namespace planted {

namespace {

// Removes the cancel routine, and no code takes over the cancellation.
NTSTATUS loses_a_cancel(hook& at, IRP* irp) {
    const bool waits = minor_of(irp) == HCA_MN_GET_CA_PORT_EVENT;
    const NTSTATUS status = at.pass(irp);
    if (waits && status == STATUS_PENDING) IoSetCancelRoutine(irp, nullptr);
    return status;
}

// Each waiter first discards the events that were latched while none waited.
NTSTATUS forgets_the_latch(hook& at, IRP* irp) {
    if (minor_of(irp) != HCA_MN_GET_CA_PORT_EVENT) return at.pass(irp);
    HCA_CA* ca = static_cast<HCA_CA*>(object_of(irp));
    IRP* probe = IoAllocateIrp(1, FALSE);
    const auto keep = [](DEVICE_OBJECT*, IRP*, void*) -> NTSTATUS {
        return STATUS_MORE_PROCESSING_REQUIRED;
    };
    NTSTATUS status = STATUS_SUCCESS;
    static thread_local bool probing = false;
    if (probing) return at.pass(irp);
    probing = true;
    while (status == STATUS_SUCCESS) {
        IoReuseIrp(probe, STATUS_SUCCESS);
        IoSetCompletionRoutine(probe, keep, nullptr, TRUE, TRUE, TRUE);
        status = CiGetCaPortEvent(&ca->Ca, 1, probe);
    }
    probing = false;
    if (status == STATUS_PENDING) IoCancelIrp(probe);
    IoFreeIrp(probe);
    return at.pass(irp);
}

NTSTATUS signals_two_irps(hook& at, UCHAR port, IB_ASYNC_EVENT event) {
    at.raise(port, event);
    return at.raise(port, event);
}

NTSTATUS signals_no_irp(hook&, UCHAR, IB_ASYNC_EVENT) { return STATUS_SUCCESS; }

/// Opens CAs with `forward`, which keeps their up-calls.
NTSTATUS open_known(hook& at, IRP* irp) {
    return minor_of(irp) == HCA_MN_OPEN_CA ? complete(irp, forward(at, irp)) : at.pass(irp);
}

NTSTATUS calls_up_at_passive(hook& at, UCHAR port, IB_ASYNC_EVENT event) {
    for (const client& each : at.clients)
        if (each.calls.PortEvent != nullptr)
            each.calls.PortEvent(each.ca, each.context, port, event);
    return STATUS_SUCCESS;
}

NTSTATUS calls_up_at_any_time(hook& at, UCHAR port, IB_ASYNC_EVENT event) {
    const KIRQL before = KeRaiseIrqlToDpcLevel();
    calls_up_at_passive(at, port, event);
    KeLowerIrql(before);
    return STATUS_SUCCESS;
}

NTSTATUS calls_up_before_the_open_completes(hook& at, IRP* irp) {
    if (minor_of(irp) != HCA_MN_OPEN_CA) return at.pass(irp);
    const outcome seen = forward(at, irp);
    calls_up_at_any_time(at, 1, IB_AE_SM_CHANGE);
    return complete(irp, seen);
}

NTSTATUS calls_up_after_close(hook& at, IRP* irp) {
    if (minor_of(irp) == HCA_MN_OPEN_CA) return complete(irp, forward(at, irp));
    if (minor_of(irp) != HCA_MN_CLOSE_CA) return at.pass(irp);
    const NTSTATUS status = complete(irp, forward(at, irp));
    calls_up_at_any_time(at, 1, IB_AE_SM_CHANGE);
    return status;
}

void ignore_event(IB_CA*, VOID*) {}
void ignore_event(VOID*) {}

NTSTATUS keeps_the_fatal_event_from_up_calls(hook& at, IRP* irp) {
    if (minor_of(irp) != HCA_MN_OPEN_CA) return at.pass(irp);
    const outcome seen = forward(at, irp);
    auto* ca = reinterpret_cast<IB_CA*>(seen.information);
    if (ca != nullptr && ca->Dispatch.FatalEvent != nullptr) ca->Dispatch.FatalEvent = ignore_event;
    return complete(irp, seen);
}

NTSTATUS keeps_completions_from_up_calls(hook& at, IRP* irp) {
    if (minor_of(irp) != HCA_MN_CREATE_CQ) return at.pass(irp);
    const outcome seen = forward(at, irp);
    auto* cq = reinterpret_cast<IB_CQ*>(seen.information);
    if (cq != nullptr && cq->Dispatch.CompEvent != nullptr) cq->Dispatch.CompEvent = ignore_event;
    return complete(irp, seen);
}

/// Refuses a close from inside an up-call, at DISPATCH_LEVEL.
template <UCHAR Close>
NTSTATUS is_not_closed_from_inside(hook& at, IRP* irp) {
    if (minor_of(irp) == Close && KeGetCurrentIrql() == DISPATCH_LEVEL)
        return complete(irp, {STATUS_DEVICE_BUSY, 0});
    return at.pass(irp);
}

/// Completes the verb `Minor` with success on an object whose close has begun.
template <UCHAR Close, UCHAR Minor>
NTSTATUS serves_a_closing_object(hook& at, IRP* irp) {
    const UCHAR minor = minor_of(irp);
    const void* object = object_of(irp);
    if (minor == Minor && object == at.closing) return complete(irp, {STATUS_SUCCESS, 0});
    const NTSTATUS status = at.pass(irp);
    if (minor == Close && status == STATUS_PENDING) at.closing = object;
    return status;
}

/// Cancels a verb that has already taken effect.
template <UCHAR Minor>
NTSTATUS obeys_a_late_cancel(hook& at, IRP* irp) {
    if (minor_of(irp) != Minor) return at.pass(irp);
    const outcome seen = forward(at, irp);
    return complete(irp, irp->Cancel ? outcome{STATUS_CANCELLED, 0} : seen);
}

NTSTATUS keeps_the_fatal_event_from_users(hook& at, IRP* irp) {
    if (minor_of(irp) == HCA_MN_GET_CA_FATAL_EVENT && irp->RequestorMode == UserMode)
        return complete(irp, {STATUS_ACCESS_VIOLATION, 0});
    return at.pass(irp);
}

struct later {
    WORK_QUEUE_ITEM item;
    hook* at;
    IRP* irp;
};

// Closes in a work item: pended IRPs stay pended until it runs.
NTSTATUS closes_later(hook& at, IRP* irp) {
    if (minor_of(irp) != HCA_MN_CLOSE_CA) return at.pass(irp);
    IoMarkIrpPending(irp);
    auto* work = new later{{}, &at, irp};
    const auto close = [](void* held) {
        const std::unique_ptr<later> mine(static_cast<later*>(held));
        complete(mine->irp, forward(*mine->at, mine->irp));
    };
    ExInitializeWorkItem(&work->item, close, work);
    ExQueueWorkItem(&work->item, DelayedWorkQueue);
    return STATUS_PENDING;
}

NTSTATUS locks_queries(hook& at, IRP* irp) {
    if (minor_of(irp) != HCA_MN_QUERY_PORT) return at.pass(irp);
    const KIRQL before = KeAcquireSpinLockRaiseToDpc(&at.lock);
    const NTSTATUS status = at.pass(irp);
    KeReleaseSpinLock(&at.lock, before);
    return status;
}

NTSTATUS raises_with_the_lock_held(hook& at, UCHAR port, IB_ASYNC_EVENT event) {
    const KIRQL before = KeAcquireSpinLockRaiseToDpc(&at.lock);
    const NTSTATUS status = at.raise(port, event);
    KeReleaseSpinLock(&at.lock, before);
    return status;
}

constexpr defect defects[] = {
    {"nothing", nullptr, nullptr, nullptr},
    {"loses_a_cancel", "Cancel.PendedWaitsInAnyOrder_AllCancelled", loses_a_cancel, nullptr},
    {"forgets_the_latch", "PortEvent.NoWaiter_LatchedOnce", forgets_the_latch, nullptr},
    {"signals_two_irps", "PortEvent.ManyWaiters_OldestCompletes", nullptr, signals_two_irps},
    {"signals_no_irp", "PortEvent.RacesWithWaiter_WaiterCompletes", nullptr, signals_no_irp},
    {"calls_up_at_passive", "UpCall.Event_RunsAtDispatchLevel", open_known, calls_up_at_passive},
    {"calls_up_at_any_time", "UpCall.ManyEvents_RunOneAtATime", open_known, calls_up_at_any_time},
    {"calls_up_before_the_open_completes", "UpCall.RacesWithOpen_NoneBeforeCompletion",
     calls_up_before_the_open_completes, nullptr},
    {"calls_up_after_close", "UpCall.RacesWithClose_NoneAfterCompletion", calls_up_after_close,
     nullptr},
    {"keeps_the_fatal_event_from_up_calls", "FatalEvent.Event_ReachesUpCallAndIrp",
     keeps_the_fatal_event_from_up_calls, nullptr},
    {"keeps_completions_from_up_calls", "GetCqCompEvent.Event_ReachesUpCallAndIrp",
     keeps_completions_from_up_calls, nullptr},
    {"is_not_closed_from_inside", "CloseCa.InsideFatalUpCall_Completes",
     is_not_closed_from_inside<HCA_MN_CLOSE_CA>, nullptr},
    {"is_not_destroyed_from_inside", "DestroyCq.InsideErrorUpCall_Completes",
     is_not_closed_from_inside<HCA_MN_DESTROY_CQ>, nullptr},
    {"changes_a_closing_object", "CloseCa.ClosePending_VerbsReturnFileClosed",
     serves_a_closing_object<HCA_MN_CLOSE_CA, HCA_MN_MODIFY_CA>, nullptr},
    {"arms_a_closing_queue", "DestroyCq.DestroyPending_VerbsReturnFileClosed",
     serves_a_closing_object<HCA_MN_DESTROY_CQ, HCA_MN_ARM_CQ>, nullptr},
    {"sends_from_an_ended_agent", "MadAgent.DeregistrationPending_VerbsReturnFileClosed",
     serves_a_closing_object<HCA_MN_DEREGISTER_MAD_AGENT, HCA_MN_SEND_MAD>, nullptr},
    {"cancels_a_sent_datagram", "SendMad.RacesWithCancel_ResultWins",
     obeys_a_late_cancel<HCA_MN_SEND_MAD>, nullptr},
    {"lets_an_end_be_cancelled", "MadAgent.DeregistrationRacesWithCancel_IsNotCancelled",
     obeys_a_late_cancel<HCA_MN_DEREGISTER_MAD_AGENT>, nullptr},
    {"keeps_the_fatal_event_from_users", "User.PendedWaits_CompleteWithEvent",
     keeps_the_fatal_event_from_users, nullptr},
    {"fails_waits_of_users", "User.PendedWaits_CanBeCancelled", keeps_the_fatal_event_from_users,
     nullptr},
    {"closes_later", "CloseCa.PendedWaits_CancelledBeforeReturn", closes_later, nullptr},
    {"completes_with_a_lock_held", "Law.Completion_RunsWithoutLock", locks_queries,
     raises_with_the_lock_held},
};

} // namespace

const std::span<const defect> event_defects = defects;

} // namespace planted
