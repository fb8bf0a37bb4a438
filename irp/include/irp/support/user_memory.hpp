// The buffers of user mode that a METHOD_NEITHER request brings as they are.
#pragma once

#include <dispatch/ntdef.h>

#include <cstddef>

namespace irpverbs::irp::verify {

/// A driver has probed that memory, or locked its pages.
NT_API void user_memory_probed(const volatile void* address, std::size_t length);

} // namespace irpverbs::irp::verify
