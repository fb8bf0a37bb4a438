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

} // namespace irpverbs::irp
