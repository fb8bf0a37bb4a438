// Locks that are acquired only where no normal APC is delivered.
#pragma once

#include <dispatch/ntdef.h>

namespace irpverbs::irp::verify {

/// Checks a call of `function` on an ERESOURCE or push lock. `id`: of bug check 0xC4.
NT_API void check_critical_region(const void* lock, const char* function, ULONG_PTR id);

/// Records that the calling thread has acquired an ERESOURCE or push lock, which its dispatch
/// routine must release.
NT_API void region_lock_acquired(const void* lock);
/// Records that it is released, or has another owner.
NT_API void region_lock_released(const void* lock);

} // namespace irpverbs::irp::verify
