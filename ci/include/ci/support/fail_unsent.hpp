// The completion of calls that have no object to send the IRP to.
#pragma once

#include <irp/wdm.h>

namespace irpverbs::ci::detail {

/// Completes an IRP of the caller that was not sent, with Information 0. IRQL: <= DISPATCH_LEVEL.
NT_API void fail_unsent(IRP* irp, NTSTATUS status);

} // namespace irpverbs::ci::detail
