#include "cancel_lock.hpp"
#include "require.hpp"
#include "rules.hpp"
#include "verify/hooks.hpp"
#include "verify/options.hpp"

#include <dispatch/detail/checks.hpp>
#include <dispatch/probe.hpp>

using namespace irpverbs::irp;
using namespace irpverbs::dispatch::detail;

namespace {

[[noreturn, gnu::cold, gnu::noinline]] void cancelled_complete_irp(const IRP* irp) {
    bug_check(CANCEL_STATE_IN_COMPLETED_IRP,
              "IoCancelIrp: the IRP is complete and has a cancel routine",
              reinterpret_cast<ULONG_PTR>(irp));
}

// The routine releases the cancel spin lock.
[[gnu::always_inline]] inline BOOLEAN call_routine(PDRIVER_CANCEL routine, IRP* irp, KIRQL level) {
    if (irp->CurrentLocation > irp->StackCount) [[unlikely]]
        cancelled_complete_irp(irp);
    irp->CancelIrql = level;
    routine(IoGetCurrentIrpStackLocation(irp)->DeviceObject, irp);
    return TRUE;
}

[[gnu::noinline]] BOOLEAN let_go(KIRQL level) {
    IRPVERBS_PROBE("cancel.found_no_routine");
    IoReleaseCancelSpinLock(level);
    return FALSE;
}

// In every case; IoCancelIrp itself knows only the one where it has nothing to wait for.
[[gnu::cold, gnu::noinline]] BOOLEAN cancel_slowly(IRP* irp) {
    if (instrumented()) require_irp(irp, "IoCancelIrp: the IRP is NULL");
    VERIFY_IRQL(IoCancelIrp);
    if (verify::tracking()) return verify::cancel(irp);
    const KIRQL old = KeAcquireSpinLockRaiseToDpc(&cancel_lock_of(this_processor()));
    store_cancel(irp);
    const PDRIVER_CANCEL routine = IoSetCancelRoutine(irp, nullptr);
    return routine != nullptr ? call_routine(routine, irp, old) : let_go(old);
}

} // namespace

extern "C" {

PDRIVER_CANCEL IoSetCancelRoutine(PIRP Irp, PDRIVER_CANCEL CancelRoutine) {
    if (instrumented()) return verify::exchange_cancel_routine(Irp, CancelRoutine);
    return exchange_routine(Irp, CancelRoutine);
}

void IoAcquireCancelSpinLock(PKIRQL Irql) {
    VERIFY_IRQL(IoAcquireCancelSpinLock);
    *Irql = KeAcquireSpinLockRaiseToDpc(&cancel_lock_of(this_processor()));
}

void IoReleaseCancelSpinLock(KIRQL Irql) {
    VERIFY_IRQL(IoReleaseCancelSpinLock);
    processor& self = this_processor();
    if (instrumented() || !try_release_cancel_lock(self, Irql)) {
        verify::check_cancel_release();
        KeReleaseSpinLock(&cancel_lock_of(self), Irql);
    }
}

BOOLEAN IoCancelIrp(PIRP Irp) {
    processor* self = current;
    KIRQL old = PASSIVE_LEVEL;
    if (instrumented() || self == nullptr || !try_acquire_cancel_lock(*self, old))
        return cancel_slowly(Irp);
    store_cancel(Irp);
    const PDRIVER_CANCEL routine = exchange_routine(Irp, nullptr);
    return routine != nullptr ? call_routine(routine, Irp, old) : let_go(old);
}

} // extern "C"
