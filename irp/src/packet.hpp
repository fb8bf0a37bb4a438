// How an IRP's memory and state are kept, inside the library.
#pragma once

#include <irp/device.h>
#include <irp/irp.h>

namespace irpverbs::irp {

// IRP.Type
inline constexpr CSHORT live_packet = 6;
inline constexpr CSHORT freed_packet = 0x0BAD;

// IRP.AllocationFlags
inline constexpr UCHAR from_allocate = 0x04;
inline constexpr UCHAR under_watch = 0x40; // made while the verifier was on

// IoCallDriver and IoCompleteRequest as such, for the verifier, which does the rest around them.
NTSTATUS send_unwatched(DEVICE_OBJECT* device, IRP* irp);
void complete_unwatched(IRP* irp);
inline constexpr UCHAR thread_bound = 0x08; // built for a caller that never frees it

// The last stage of completion has somebody to tell.
inline bool has_receiver(const IRP& irp) {
    return irp.Flags != 0 || irp.UserIosb != nullptr || irp.UserEvent != nullptr;
}

inline void free_packet(IRP* irp) {
    if ((irp->AllocationFlags & from_allocate) != 0) IoFreeIrp(irp);
}

/// No completion routine took the IRP back, and its originator is to be told in other ways.
void last_stage(IRP* irp);

} // namespace irpverbs::irp
