// IoCancelIrp after it has acquired the cancel spin lock, written once over hooks:
// `no_cancel_hooks` compiles to the steps alone; the verifier's hooks observe each step.
#pragma once

#include "cancel_lock.hpp"

#include <dispatch/support/checks.hpp>
#include <dispatch/testing/probe.hpp>
#include <irp/device.h>

namespace irpverbs::irp {

/// Hooks of a cancellation. `step` performs one step on the IRP; false: the IRP was freed, and the
/// step was not performed. `before_exchange` precedes the exchange of the cancel routine,
/// `exchanged` is called within that step. The last hook is either `call` or `release`, which
/// releases the cancel spin lock.
struct no_cancel_hooks {
    template <class Step>
    static bool step(Step perform) {
        perform();
        return true;
    }
    static void before_exchange(IRP*) {}
    static void exchanged(PDRIVER_CANCEL) {}
    static void call(PDRIVER_CANCEL routine, DEVICE_OBJECT* device, IRP* irp) {
        routine(device, irp);
    }
    [[gnu::noinline]] static BOOLEAN release(KIRQL level) {
        IRPVERBS_PROBE("cancel.found_no_routine");
        IoReleaseCancelSpinLock(level);
        return FALSE;
    }
};

[[noreturn, gnu::cold, gnu::noinline]] inline void cancelled_complete_irp(const IRP* irp) {
    dispatch::detail::bug_check(CANCEL_STATE_IN_COMPLETED_IRP,
                                "IoCancelIrp: the IRP is complete and has a cancel routine",
                                reinterpret_cast<ULONG_PTR>(irp));
}

/// The caller holds the cancel spin lock and raised the IRQL from `level`. The cancel routine
/// releases the lock; without a routine it is released here. Returns the result of IoCancelIrp.
template <class Hooks>
[[gnu::always_inline]] inline BOOLEAN cancel_under_lock(IRP* irp, KIRQL level, Hooks& hooks) {
    if (!hooks.step([irp] { store_cancel(irp); })) return hooks.release(level);
    hooks.before_exchange(irp);
    PDRIVER_CANCEL routine = nullptr;
    const bool taken = hooks.step([&routine, &hooks, irp] {
        routine = exchange_routine(irp, nullptr);
        hooks.exchanged(routine);
    });
    if (!taken || routine == nullptr) return hooks.release(level);
    if (irp->CurrentLocation > irp->StackCount) [[unlikely]]
        cancelled_complete_irp(irp);
    irp->CancelIrql = level;
    hooks.call(routine, IoGetCurrentIrpStackLocation(irp)->DeviceObject, irp);
    return TRUE;
}

} // namespace irpverbs::irp
