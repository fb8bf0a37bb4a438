#include "packet.hpp"
#include "rules.hpp"
#include "verify/hooks.hpp"
#include "verify/options.hpp"
#include "verify/returned.hpp"

#include <dispatch/detail/checks.hpp>

using namespace irpverbs::irp;
using namespace irpverbs::dispatch::detail;

namespace {
constinit KSPIN_LOCK cancel_lock = 0;

PDRIVER_CANCEL exchange_routine(IRP* irp, PDRIVER_CANCEL routine) {
    return __atomic_exchange_n(&irp->CancelRoutine, routine, __ATOMIC_SEQ_CST);
}

} // namespace

KSPIN_LOCK* verify::cancel_spin_lock() { return &cancel_lock; }

extern "C" {

PDRIVER_CANCEL IoSetCancelRoutine(PIRP Irp, PDRIVER_CANCEL CancelRoutine) {
    if (instrumented()) return verify::exchange_cancel_routine(Irp, CancelRoutine);
    return exchange_routine(Irp, CancelRoutine);
}

void IoAcquireCancelSpinLock(PKIRQL Irql) {
    VERIFY_IRQL(IoAcquireCancelSpinLock);
    *Irql = KeAcquireSpinLockRaiseToDpc(&cancel_lock);
}

void IoReleaseCancelSpinLock(KIRQL Irql) {
    VERIFY_IRQL(IoReleaseCancelSpinLock);
    if (instrumented()) verify::check_cancel_release(&cancel_lock);
    KeReleaseSpinLock(&cancel_lock, Irql);
}

BOOLEAN IoCancelIrp(PIRP Irp) {
    VERIFY_IRQL(IoCancelIrp);
    if (instrumented() && verify::tracking()) return verify::cancel(Irp, &cancel_lock);
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
