// The interface of completion ports to the rest of the package.
#pragma once

#include <irp/completion_port.h>

namespace irpverbs::irp {

/// Posts the IRP, which has a completion context, to its port.
void post_completion(IRP* irp);

/// Releases the completion context of a device; null: it had none.
void dereference_completion_context(IO_COMPLETION_CONTEXT* context);

} // namespace irpverbs::irp
