// The memory and the state of an IRP, inside the library.
#pragma once

#include <irp/device.h>
#include <irp/irp.h>

namespace irpverbs::irp {

// IRP.Type
inline constexpr CSHORT live_packet = 6;
inline constexpr CSHORT freed_packet = 0x0BAD;

// IRP.AllocationFlags
inline constexpr UCHAR from_allocate = 0x04;
inline constexpr UCHAR under_watch = 0x40; // allocated while the verifier was on

// IoCallDriver and IoCompleteRequest without checks; the verifier's versions wrap them.
NTSTATUS send_unwatched(DEVICE_OBJECT* device, IRP* irp);
void complete_unwatched(IRP* irp);
inline constexpr UCHAR thread_bound = 0x08; // built for a caller that never frees it

// The last stage of completion has a receiver of the result.
inline bool has_receiver(const IRP& irp) {
    return irp.Flags != 0 || irp.UserIosb != nullptr || irp.UserEvent != nullptr;
}

inline void free_packet(IRP* irp) {
    if ((irp->AllocationFlags & from_allocate) != 0) IoFreeIrp(irp);
}

/// Reports the result to the originator of an IRP that no completion routine kept.
void last_stage(IRP* irp);

} // namespace irpverbs::irp
