#include "ours_pend.hpp"

namespace irpverbs::bench {
namespace {

BENCH_OPAQUE void pend_cancelled(PDEVICE_OBJECT device, PIRP irp) {
    IoReleaseCancelSpinLock(irp->CancelIrql);
    static_cast<pended_irp*>(context_of(device))->pended = nullptr;
    complete(irp, STATUS_CANCELLED, 0);
}

} // namespace

BENCH_OPAQUE NTSTATUS pend(PDEVICE_OBJECT device, PIRP irp) {
    auto* place = static_cast<pended_irp*>(context_of(device));
    IoMarkIrpPending(irp);
    place->pended = irp;
    IoSetCancelRoutine(irp, pend_cancelled);
    if (irp->Cancel && IoSetCancelRoutine(irp, nullptr) != nullptr) {
        place->pended = nullptr;
        complete(irp, STATUS_CANCELLED, 0);
    }
    return STATUS_PENDING;
}

} // namespace irpverbs::bench
