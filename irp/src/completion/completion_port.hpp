// The interface of completion ports to the rest of the package.
#pragma once

#include <irp/completion_port.h>

namespace irpverbs::irp {

/// Posts the IRP, which has a completion context, to its port.
void post_completion(IRP* irp);

/// Creates a key of the port and stores it in `place`, which owns a reference to the port from then
/// on. STATUS_SUCCESS; STATUS_INVALID_PARAMETER: the place is not empty; statuses of
/// IoCreateCompletionContext.
NTSTATUS associate_port(IO_COMPLETION_CONTEXT*& place, void* port, void* key);

/// Releases the completion context of a device or file; null: it had none.
void dereference_completion_context(IO_COMPLETION_CONTEXT* context);

} // namespace irpverbs::irp
