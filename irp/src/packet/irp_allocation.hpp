// The memory and the state of an IRP, inside the library.
#pragma once

#include <irp/device.h>
#include <irp/irp.h>

namespace irpverbs::irp {

// IRP.Type
inline constexpr CSHORT live_irp_type = 6;
inline constexpr CSHORT freed_irp_type = 0x0BAD;

// IRP.AllocationFlags
inline constexpr UCHAR allocated_irp = 0x04;
inline constexpr UCHAR verified_irp = 0x40; // allocated while the verifier was on

// IoCallDriver and IoCompleteRequest without checks; the verifier's versions wrap them.
NTSTATUS call_driver_unchecked(DEVICE_OBJECT* device, IRP* irp);
void complete_request_unchecked(IRP* irp);
inline constexpr UCHAR thread_bound = 0x08; // built for a caller that never frees it

// The last stage of completion has a receiver of the result.
inline bool needs_finalizing(const IRP& irp) {
    return irp.Flags != 0 || irp.UserIosb != nullptr || irp.UserEvent != nullptr;
}

inline void free_allocated_irp(IRP* irp) {
    if ((irp->AllocationFlags & allocated_irp) != 0) IoFreeIrp(irp);
}

/// Reports the result to the originator of an IRP that no completion routine kept.
void finalize_irp(IRP* irp);

} // namespace irpverbs::irp
