#include "planted.hpp"

namespace planted {
namespace {

using namespace irpverbs::testing;

void cancel_waiting(DEVICE_OBJECT* device, IRP* irp) {
    const bool waits =
        KeRemoveEntryDeviceQueue(&device->DeviceQueue, &irp->Tail.Overlay.DeviceQueueEntry);
    IoReleaseCancelSpinLock(irp->CancelIrql);
    if (!waits) {
        const KIRQL level = KeRaiseIrqlToDpcLevel();
        IoStartNextPacket(device, TRUE);
        KeLowerIrql(level);
    }
    complete(irp, STATUS_CANCELLED);
}

NTSTATUS queue_it(DEVICE_OBJECT* device, IRP* irp) {
    IoMarkIrpPending(irp);
    IoStartPacket(device, irp, nullptr, planted("StartIoCancel") ? nullptr : cancel_waiting);
    return STATUS_PENDING;
}

// A started IRP can't be cancelled any more.
void start(DEVICE_OBJECT* device, IRP* irp) {
    KIRQL level = DISPATCH_LEVEL;
    IoAcquireCancelSpinLock(&level);
    const bool mine = device->CurrentIrp == irp && !irp->Cancel;
    if (mine) IoSetCancelRoutine(irp, nullptr);
    IoReleaseCancelSpinLock(level);
    if (!mine) return;
    IoStartNextPacket(device, TRUE);
    complete(irp, STATUS_SUCCESS);
}

} // namespace

void starts_io(sim_machine& sim) {
    lambda_driver driver(queue_it);
    driver.device()->DriverObject->DriverStartIo = start;
    IoSetStartIoAttributes(driver.device(), !planted("StartIoRecursion"), FALSE);
    request first;
    request second;
    sim.spawn("first", [&] { first.send(driver); });
    sim.spawn("second", [&] { second.send(driver); });
    sim.run();
}

} // namespace planted
