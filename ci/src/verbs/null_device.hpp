// The device for IRPs of no HCA: an IRP must be sent before it is completed.
#pragma once

#include <irp/wdm.h>

namespace irpverbs::ci::detail {

/// Sends an IRP, whose next stack location has its major and minor function, to a device that
/// completes it with `status` and Information 0. Returns `status`. IRQL: <= DISPATCH_LEVEL.
NTSTATUS send_to_null_device(IRP* irp, NTSTATUS status);

} // namespace irpverbs::ci::detail
