#include "cancel_steps.hpp"
#include "irql_rules.hpp"
#include "require.hpp"
#include "verify/hooks.hpp"

#include <dispatch/support/checks.hpp>

using namespace irpverbs::irp;
using namespace irpverbs::dispatch::detail;

namespace {

// A simulated run may switch to another actor between the two steps.
struct scheduled_hooks : no_cancel_hooks {
    static void before_exchange(IRP* irp) { sched_point(point::cancel_exchange, irp); }
};

// Handles every case; IoCancelIrp itself handles only the one without a wait.
[[gnu::cold, gnu::noinline]] BOOLEAN cancel_slowly(IRP* irp) {
    if (instrumented()) require_irp(irp, "IoCancelIrp: the IRP is NULL");
    VERIFY_IRQL(IoCancelIrp);
    if (verify::tracking()) return verify::cancel(irp);
    const KIRQL old = KeAcquireSpinLockRaiseToDpc(&cancel_lock_of(this_processor()));
    scheduled_hooks hooks;
    return cancel_under_lock(irp, old, hooks);
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
    no_cancel_hooks none;
    return cancel_under_lock(Irp, old, none);
}

} // extern "C"
