#pragma once

#include <irp/shutdown.h>

namespace irpverbs::irp {

/// Ends the registrations of a device, at any IRQL up to DISPATCH_LEVEL.
void forget_shutdown(DEVICE_OBJECT& device);

} // namespace irpverbs::irp
