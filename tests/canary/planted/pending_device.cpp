#include "planted.hpp"

namespace planted {
namespace {

using namespace irpverbs::testing;

// A list of pending IRPs without IO_CSQ, by the rules of the WDK.
struct pending_queue {
    KSPIN_LOCK lock;
    LIST_ENTRY waiting;
    IRP* other = nullptr; // an IRP that the driver does not own

    pending_queue() {
        KeInitializeSpinLock(&lock);
        InitializeListHead(&waiting);
    }
    IRP* newest() const {
        return IsListEmpty(&waiting)
                   ? nullptr
                   : CONTAINING_RECORD(waiting.Blink, IRP, Tail.Overlay.ListEntry);
    }
};

pending_queue& queue_of(IRP* irp) {
    return *static_cast<pending_queue*>(irp->Tail.Overlay.DriverContext[0]);
}

void unlink(IRP* irp) { RemoveEntryList(&irp->Tail.Overlay.ListEntry); }

void cancel_pending(DEVICE_OBJECT*, IRP* irp) {
    pending_queue& its = queue_of(irp);
    IoReleaseCancelSpinLock(irp->CancelIrql);
    KIRQL level = PASSIVE_LEVEL;
    if (planted("CancelRoutineIrql")) KeRaiseIrql(APC_LEVEL, &level);
    KeAcquireSpinLock(&its.lock, &level);
    unlink(irp);
    KeReleaseSpinLock(&its.lock, level);
    if (planted("WrongIrpCancelled")) {
        IoSetCancelRoutine(its.other, nullptr);
        unlink(its.other);
        std::swap(irp, its.other);
    }
    if (planted("CancelLatency")) {
        LARGE_INTEGER long_time;
        long_time.QuadPart = -10'000'000ll * 3600;
        KeDelayExecutionThread(KernelMode, FALSE, &long_time);
    }
    complete(irp, STATUS_CANCELLED);
}

// Sets the cancel routine; true if the IRP pends.
bool arm(IRP* irp) {
    if (planted("CancelLockRequired")) {
        IoSetCancelRoutine(irp, cancel_pending);
        return true;
    }
    KIRQL level = PASSIVE_LEVEL;
    IoAcquireCancelSpinLock(&level);
    IoSetCancelRoutine(irp, cancel_pending);
    const bool cancelled = !planted("IrpCancelField") && irp->Cancel != 0;
    const bool mine = cancelled && IoSetCancelRoutine(irp, nullptr) != nullptr;
    IoReleaseCancelSpinLock(level);
    return !mine;
}

NTSTATUS pend(pending_queue& its, IRP* irp) {
    irp->Tail.Overlay.DriverContext[0] = &its;
    const bool early = !planted("MarkingQueuedIrps") && !planted("MarkIrpPending2") &&
                       !planted("MarkingInterlockedQueuedIrps");
    if (early) IoMarkIrpPending(irp);
    if (planted("MarkingQueuedIrps")) IoSetCancelRoutine(irp, cancel_pending);
    KIRQL level = PASSIVE_LEVEL;
    KeAcquireSpinLock(&its.lock, &level);
    InsertTailList(&its.waiting, &irp->Tail.Overlay.ListEntry);
    const bool waits = planted("MarkingInterlockedQueuedIrps") || arm(irp);
    if (!waits) unlink(irp);
    KeReleaseSpinLock(&its.lock, level);
    if (planted("MarkingInterlockedQueuedIrps")) IoMarkIrpPending(irp);
    if (!waits) complete(irp, STATUS_CANCELLED);
    return STATUS_PENDING;
}

void serve(pending_queue& its) {
    KIRQL level = PASSIVE_LEVEL;
    KeAcquireSpinLock(&its.lock, &level);
    IRP* irp = its.newest();
    const bool mine = irp != nullptr && (IoSetCancelRoutine(irp, nullptr) != nullptr ||
                                         planted("MarkingInterlockedQueuedIrps"));
    if (mine) unlink(irp);
    KeReleaseSpinLock(&its.lock, level);
    if (irp != nullptr && (mine || planted("CancelRoutineOwnsIrp"))) complete(irp, STATUS_SUCCESS);
}

} // namespace

void pends_requests(sim_machine& sim) {
    pending_queue its;
    const lambda_driver driver([&](DEVICE_OBJECT*, IRP* irp) { return pend(its, irp); });
    request first;
    request second;
    its.other = second.irp();
    second.send(driver);
    const bool lone = planted("LostIrp") || planted("FreedInUse") || planted("InitializedInUse") ||
                      planted("MarkIrpPending2");
    sim.spawn("send", [&] { first.send(driver); });
    if (!lone) sim.spawn("cancel", [&] { IoCancelIrp(first.irp()); });
    if (!lone && !planted("IrpCancelField") && !planted("WrongIrpCancelled"))
        sim.spawn("serve", [&] { serve(its); });
    sim.run();
    if (planted("LostIrp")) VerifierCheckQuiescence();
    if (planted("FreedInUse")) IoFreeIrp(first.irp());
    if (planted("InitializedInUse")) IoReuseIrp(first.irp(), STATUS_SUCCESS);
    serve(its);
    serve(its);
}

} // namespace planted
