// For calls that have nobody to go to.
#pragma once

#include <irp/wdm.h>

namespace irpverbs::ci::detail {

/// Completes an IRP of the caller's own that was not sent, Information 0. IRQL: <= DISPATCH_LEVEL.
NT_API void refuse(IRP* irp, NTSTATUS status);

} // namespace irpverbs::ci::detail
