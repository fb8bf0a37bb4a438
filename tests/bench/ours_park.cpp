#include "ours_park.hpp"

namespace irpverbs::bench {
namespace {

BENCH_OPAQUE void park_cancelled(PDEVICE_OBJECT device, PIRP irp) {
    IoReleaseCancelSpinLock(irp->CancelIrql);
    static_cast<parking_place*>(context_of(device))->parked = nullptr;
    complete(irp, STATUS_CANCELLED, 0);
}

} // namespace

BENCH_OPAQUE NTSTATUS park(PDEVICE_OBJECT device, PIRP irp) {
    auto* place = static_cast<parking_place*>(context_of(device));
    IoMarkIrpPending(irp);
    place->parked = irp;
    IoSetCancelRoutine(irp, park_cancelled);
    if (irp->Cancel && IoSetCancelRoutine(irp, nullptr) != nullptr) {
        place->parked = nullptr;
        complete(irp, STATUS_CANCELLED, 0);
    }
    return STATUS_PENDING;
}

} // namespace irpverbs::bench
