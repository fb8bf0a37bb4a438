// The completion of an IRP, location by location, written once over hooks: `no_hooks` compiles to
// the walk alone; the verifier's hooks observe each step of it.
#pragma once

#include "packet/irp_allocation.hpp"

namespace irpverbs::irp {

/// Hooks of the walk. `leave` precedes the end of the current location, and false stops the walk
/// there; the next hook is `call`, for a completion routine, or `pass`. `arrive` is called at the
/// top.
struct no_hooks {
    static bool begin_location(IRP*) { return true; }
    static NTSTATUS call(PIO_COMPLETION_ROUTINE routine, DEVICE_OBJECT* device, IRP* irp,
                         void* context) {
        return routine(device, irp, context);
    }
    static void skip_routine(IRP*) {}
    static void all_completed(IRP*) {}
};

// SL_INVOKE_ON_CANCEL if cancellation was requested.
inline int cancelled_bit(const IRP& irp) {
    static_assert(SL_INVOKE_ON_CANCEL == TRUE << 5);
    return __atomic_load_n(&irp.Cancel, __ATOMIC_RELAXED) << 5;
}

/// Completes the current location; true: the walk ends here. Only the IRP is kept across the
/// routine: reloading the other values costs less than saving them.
template <class Hooks>
[[gnu::always_inline]] inline bool complete_location(IRP* irp, CCHAR current, Hooks& hooks) {
    if (!hooks.begin_location(irp)) return true;
    PIO_STACK_LOCATION location = reinterpret_cast<PIO_STACK_LOCATION>(irp + 1) + current - 1;
    const NTSTATUS status = irp->IoStatus.Status;
    const UCHAR control = location->Control;
    const PIO_COMPLETION_ROUTINE routine = location->CompletionRoutine;
    irp->PendingReturned = control & SL_PENDING_RETURNED;
    location->MinorFunction = 0;
    location->Flags = 0;
    location->Control = 0;
    location->CompletionRoutine = nullptr;
    int called_for = cancelled_bit(*irp) | SL_INVOKE_ON_SUCCESS;
    if (!NT_SUCCESS(status)) {
        location->Control = SL_ERROR_RETURNED;
        called_for ^= SL_INVOKE_ON_SUCCESS | SL_INVOKE_ON_ERROR;
    }
    const bool originator = current == irp->StackCount;
    irp->CurrentLocation = static_cast<CCHAR>(current + 1);
    if ((control & called_for) != 0)
        return hooks.call(routine, originator ? nullptr : location[1].DeviceObject, irp,
                          location->Context) == STATUS_MORE_PROCESSING_REQUIRED;
    if (!originator) location[1].Control |= control & SL_PENDING_RETURNED;
    hooks.skip_routine(irp);
    return false;
}

/// Completes the remaining locations.
template <class Hooks>
void complete_locations(IRP* irp, Hooks& hooks) {
    while (irp->CurrentLocation <= irp->StackCount)
        if (complete_location(irp, irp->CurrentLocation, hooks)) return;
    hooks.all_completed(irp);
    if (needs_finalizing(*irp))
        finalize_irp(irp);
    else
        free_allocated_irp(irp);
}

} // namespace irpverbs::irp
