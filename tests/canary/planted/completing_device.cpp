#include "planted.hpp"

namespace planted {
namespace {

using namespace irpverbs::testing;

int other_tag;

void keeps_remove_locks(IO_REMOVE_LOCK& lock, IRP* irp) {
    IoAcquireRemoveLock(&lock, irp);
    IO_REMOVE_LOCK second;
    if (planted("MultRemoveLock")) {
        IoInitializeRemoveLock(&second, 0, 0, 0);
        IoAcquireRemoveLock(&second, irp);
        IoReleaseRemoveLock(&second, irp);
    }
    if (planted("RemoveLockInitialize")) IoInitializeRemoveLock(&lock, 0, 0, 0);
    if (planted("IoReleaseRemoveLockAndWaitOutsideRemoveDevice"))
        return IoReleaseRemoveLockAndWait(&lock, irp);
    if (planted("RemoveLockRelease2")) return;
    IoReleaseRemoveLock(&lock, planted("RemoveLockRelease") ? &other_tag : static_cast<void*>(irp));
}

void leaves_surroundings(KSPIN_LOCK& lock) {
    KIRQL level = PASSIVE_LEVEL;
    if (planted("IrqlReturn")) KeRaiseIrql(APC_LEVEL, &level);
    if (planted("ApcStateReturn")) KeEnterCriticalRegion();
    if (planted("CancelSpinLock")) IoAcquireCancelSpinLock(&level);
    if (planted("SpinLockReturn")) KeAcquireSpinLock(&lock, &level);
    if (planted("CancelSpinlockRelease")) {
        KeRaiseIrql(DISPATCH_LEVEL, &level);
        IoReleaseCancelSpinLock(level);
    }
}

void complete_it(IRP* irp, KSPIN_LOCK& lock) {
    KIRQL level = PASSIVE_LEVEL;
    if (planted("SpinLockSafe")) KeAcquireSpinLock(&lock, &level);
    if (planted("IoCompleteRequestIrql")) KeRaiseIrql(HIGH_LEVEL, &level);
    if (planted("TrashedLocation")) IoGetCurrentIrpStackLocation(irp)->DeviceObject = nullptr;
    irp->IoStatus.Status = planted("CompletedWithPending") ? STATUS_PENDING : STATUS_SUCCESS;
    irp->IoStatus.Information = planted("InformationSize") ? 17 : 16;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    if (planted("UseAfterCompletion")) IoSetNextIrpStackLocation(irp);
    if (planted("DoubleCompletion")) IoCompleteRequest(irp, IO_NO_INCREMENT);
}

NTSTATUS complete_locked(IRP* irp, IO_REMOVE_LOCK& removal, KSPIN_LOCK& lock) {
    keeps_remove_locks(removal, irp);
    const bool pends = planted("PendedCompletedRequest");
    const bool armed = planted("CompletedWithCancelRoutine");
    if (pends || armed || planted("MarkIrpPending")) IoMarkIrpPending(irp);
    if (armed)
        IoSetCancelRoutine(
            irp, [](DEVICE_OBJECT*, IRP* mine) { IoReleaseCancelSpinLock(mine->CancelIrql); });
    if (!planted("IrpProcessingComplete")) complete_it(irp, lock);
    leaves_surroundings(lock);
    if (planted("CompleteRequestStatusCheck")) return STATUS_UNSUCCESSFUL;
    return pends || armed ? STATUS_PENDING : STATUS_SUCCESS;
}

// The removal of a driver.
void take_down() {
    IO_REMOVE_LOCK lock;
    IoInitializeRemoveLock(&lock, 0, 0, 0);
    IoAcquireRemoveLock(&lock, &lock);
    if (planted("RemoveLock")) return;
    IoReleaseRemoveLockAndWait(
        &lock, planted("RemoveLockReleaseAndWait") ? &other_tag : static_cast<void*>(&lock));
}

} // namespace

void completes_requests(sim_machine& sim) {
    IO_REMOVE_LOCK* removal = nullptr;
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    char buffer[16] = {};
    const lambda_driver driver(
        [&](DEVICE_OBJECT*, IRP* irp) { return complete_locked(irp, *removal, lock); });
    removal = &driver.remove_lock();
    IoInitializeRemoveLock(removal, 0, 0, 0);
    sim.spawn("ask", [&] {
        request asked(1, IRP_MJ_DEVICE_CONTROL);
        asked.irp()->AssociatedIrp.SystemBuffer = buffer;
        IoGetNextIrpStackLocation(asked.irp())->Parameters.DeviceIoControl.OutputBufferLength =
            sizeof buffer;
        asked.send(driver);
    });
    sim.run();
    take_down();
}

} // namespace planted
