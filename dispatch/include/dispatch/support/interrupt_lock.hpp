// The spin lock of an interrupt, which is held at the level of a device.
#pragma once

#include <dispatch/spin_lock.h>

namespace irpverbs::dispatch::detail {

/// Acquires and releases a spin lock without changing the level. IRQL: > DISPATCH_LEVEL.
NT_API void acquire_interrupt_lock(KSPIN_LOCK& lock);
NT_API void release_interrupt_lock(KSPIN_LOCK& lock);

} // namespace irpverbs::dispatch::detail
