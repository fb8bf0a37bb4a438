#include "planted.hpp"

#include <optional>

namespace planted {
namespace {

using namespace irpverbs::testing;

struct stack {
    IO_REMOVE_LOCK* removal = nullptr; // of the top device
    IRP* pended = nullptr;
    lambda_driver bottom{pend_in(pended)};
    lambda_driver middle{bottom, [this](DEVICE_OBJECT*, IRP* irp) {
                             IoSkipCurrentIrpStackLocation(irp);
                             return IoCallDriver(bottom.device(), irp);
                         }};
    std::optional<lambda_driver> top;
    bool first = true;

    stack() {
        top.emplace(middle, [this](DEVICE_OBJECT* self, IRP* irp) { return pass(self, irp); });
        removal = &top->remove_lock();
        IoInitializeRemoveLock(removal, 0, 0, 0);
    }
    NTSTATUS pass(DEVICE_OBJECT* self, IRP* irp);
    NTSTATUS send_down(IRP* irp);
    void complete_pending() {
        if (pended != nullptr) complete(std::exchange(pended, nullptr), STATUS_SUCCESS);
    }
};

NTSTATUS came_up(DEVICE_OBJECT*, IRP* irp, void* context) {
    KIRQL level = PASSIVE_LEVEL;
    if (irp->PendingReturned && !planted("PendingPropagated")) IoMarkIrpPending(irp);
    if (planted("CompletionRoutineIrql")) KeRaiseIrql(DISPATCH_LEVEL, &level);
    if (planted("CompletionRoutineApcs")) KeEnterCriticalRegion();
    if (!planted("RemoveLockForward") && !planted("RemoveLockCheck"))
        IoReleaseRemoveLock(static_cast<stack*>(context)->removal, irp);
    if (planted("CompleteRequest")) IoCompleteRequest(irp, IO_NO_INCREMENT);
    return STATUS_CONTINUE_COMPLETION;
}

void cancel_passed(DEVICE_OBJECT*, IRP* irp) { IoReleaseCancelSpinLock(irp->CancelIrql); }

// Memory allocations fail during the call.
NTSTATUS refused(DEVICE_OBJECT* self, IRP* irp, void* context) {
    namespace detail = irpverbs::dispatch::detail;
    const std::uint32_t calm = detail::enabled_checks.load();
    detail::settings.fault_one_in = 1;
    detail::set_enabled_checks(calm | static_cast<std::uint32_t>(detail::check::low_resources));
    const NTSTATUS status = IoSetCompletionRoutineEx(self, irp, came_up, context, TRUE, TRUE, TRUE);
    detail::set_enabled_checks(calm);
    detail::settings.fault_one_in = 17;
    return status;
}

NTSTATUS stack::send_down(IRP* irp) {
    KIRQL level = PASSIVE_LEVEL;
    if (planted("IoCallDriverIrql")) KeRaiseIrql(HIGH_LEVEL, &level);
    if (planted("ForwardedAtBadIrql")) KeRaiseIrql(DISPATCH_LEVEL, &level);
    const auto& next = planted("SkippedDevice") ? bottom : middle;
    IO_STACK_LOCATION* own = IoGetCurrentIrpStackLocation(irp);
    const NTSTATUS status = IoCallDriver(next.device(), irp);
    if (planted("UseAfterSend")) IoSetNextIrpStackLocation(irp);
    if (planted("WriteAfterSend")) own->Parameters.Others.Argument1 = irp;
    if (planted("ForwardedTwice")) return IoCallDriver(next.device(), irp);
    if (planted("CancelRoutineBelow")) IoSetCancelRoutine(irp, cancel_passed);
    if (planted("PendedCompletedRequest2")) return complete(irp, STATUS_CANCELLED);
    return planted("LowerDriverReturn") ? STATUS_SUCCESS : status;
}

NTSTATUS stack::pass(DEVICE_OBJECT* self, IRP* irp) {
    const bool held = !planted("RemoveLockForward") || std::exchange(first, false);
    if (held) IoAcquireRemoveLock(removal, irp);
    if (planted("RemoveLockForward") && held) IoReleaseRemoveLock(removal, irp);
    if (planted("ControlNotZeroed") || planted("ForwardedWithCancelRoutine")) IoMarkIrpPending(irp);
    if (planted("ForwardedWithCancelRoutine")) IoSetCancelRoutine(irp, cancel_passed);
    if (planted("ControlNotZeroed")) {
        IoSkipCurrentIrpStackLocation(irp);
        return send_down(irp);
    }
    if (planted("CopiedCompletionRoutine")) {
        *IoGetNextIrpStackLocation(irp) = *IoGetCurrentIrpStackLocation(irp);
        return send_down(irp);
    }
    IoCopyCurrentIrpStackLocationToNext(irp);
    if (planted("IoSetCompletionExCompleteIrp") && !NT_SUCCESS(refused(self, irp, this)))
        return send_down(irp);
    DEVICE_OBJECT* owner =
        planted("IoSetCompletionRoutineExCheckDeviceObject") ? middle.device() : self;
    IoSetCompletionRoutineEx(owner, irp, came_up, this, TRUE, TRUE, TRUE);
    return planted("CompletionRoutineRegistered") ? complete(irp, STATUS_SUCCESS) : send_down(irp);
}

} // namespace

void filters_requests(sim_machine& sim) {
    stack its;
    request asked(planted("IrpStackLocations") ? 2 : 3, IRP_MJ_CREATE);
    const bool late = planted("ForwardedTwice") || planted("CancelRoutineBelow") ||
                      planted("PendedCompletedRequest2") || planted("LowerDriverReturn") ||
                      planted("RemoveLockCheck");
    sim.spawn("send", [&] { asked.send(*its.top); });
    if (!late) sim.spawn("complete", [&] { its.complete_pending(); });
    sim.run();
    if (planted("RemoveLockCheck")) its.top.reset();
    its.complete_pending();
    DEVICE_OBJECT* found = IoGetAttachedDeviceReference(its.bottom.device());
    if (!planted("DanglingDeviceObjectReference")) ObDereferenceObject(found);
    request again(3, IRP_MJ_CREATE);
    if (planted("DeleteDevice")) {
        ObReferenceObject(its.top->device());
        IoDetachDevice(its.middle.device());
        IoDeleteDevice(its.top->device());
    }
    again.send(*its.top);
    its.complete_pending();
}

} // namespace planted
