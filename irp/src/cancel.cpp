#include "packet.hpp"

#include <dispatch/detail/checks.hpp>

using namespace irpverbs::irp;
using namespace irpverbs::dispatch::detail;

namespace {
constinit KSPIN_LOCK cancel_lock = 0;

PDRIVER_CANCEL exchange_routine(IRP* irp, PDRIVER_CANCEL routine) {
    return __atomic_exchange_n(&irp->CancelRoutine, routine, __ATOMIC_SEQ_CST);
}

[[gnu::cold, gnu::noinline]] PDRIVER_CANCEL exchange_instrumented(IRP* irp,
                                                                  PDRIVER_CANCEL routine) {
    sched_point_slow(point::cancel_exchange, irp);
    return exchange_routine(irp, routine);
}

} // namespace

extern "C" {

PDRIVER_CANCEL IoSetCancelRoutine(PIRP Irp, PDRIVER_CANCEL CancelRoutine) {
    if (instrumented()) return exchange_instrumented(Irp, CancelRoutine);
    return exchange_routine(Irp, CancelRoutine);
}

void IoAcquireCancelSpinLock(PKIRQL Irql) { *Irql = KeAcquireSpinLockRaiseToDpc(&cancel_lock); }
void IoReleaseCancelSpinLock(KIRQL Irql) { KeReleaseSpinLock(&cancel_lock, Irql); }

BOOLEAN IoCancelIrp(PIRP Irp) {
    KIRQL old = PASSIVE_LEVEL;
    IoAcquireCancelSpinLock(&old);
    __atomic_store_n(&Irp->Cancel, BOOLEAN{TRUE}, __ATOMIC_SEQ_CST);
    const PDRIVER_CANCEL routine = IoSetCancelRoutine(Irp, nullptr);
    if (routine == nullptr) {
        IoReleaseCancelSpinLock(old);
        return FALSE;
    }
    if (Irp->CurrentLocation > Irp->StackCount)
        bug_check(CANCEL_STATE_IN_COMPLETED_IRP,
                  "IoCancelIrp: the IRP is complete and has a cancel routine",
                  reinterpret_cast<ULONG_PTR>(Irp));
    Irp->CancelIrql = old;
    routine(IoGetCurrentIrpStackLocation(Irp)->DeviceObject, Irp);
    return TRUE;
}

} // extern "C"
