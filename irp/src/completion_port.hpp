// Completion ports as the rest of the package needs them.
#pragma once

#include <irp/completion_port.h>

namespace irpverbs::irp {

/// The IRP, which has a completion context, goes to its port.
void post_completion(IRP* irp);

/// A device gives up its completion context; null: it had none.
void drop_completion_context(IO_COMPLETION_CONTEXT* context);

} // namespace irpverbs::irp
