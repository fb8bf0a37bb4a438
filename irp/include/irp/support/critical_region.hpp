// Locks that are acquired only where no normal APC is delivered.
#pragma once

#include <dispatch/ntdef.h>

namespace irpverbs::irp::verify {

/// Checks a call of `function` on an ERESOURCE or push lock. `id`: of bug check 0xC4.
NT_API void check_critical_region(const void* lock, const char* function, ULONG_PTR id);

} // namespace irpverbs::irp::verify
