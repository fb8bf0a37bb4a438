// The messages of drivers.
#pragma once

#include <dispatch/ntdef.h>

namespace irpverbs::irp {

/// Whether DbgPrint and its like write to stderr, as they do at first.
NT_API void set_debug_output(bool shown);

} // namespace irpverbs::irp
