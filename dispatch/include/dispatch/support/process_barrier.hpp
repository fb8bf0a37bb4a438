// The slow half of an asymmetric lock: its fast half needs no instruction that orders memory, since
// the slow half orders the memory of every thread of the process (membarrier(2)).
#pragma once

#include <dispatch/ntdef.h>

namespace irpverbs::dispatch::detail {

/// Registers the process at the first call, which takes 15 ms in a process with threads. False: the
/// kernel has no such barrier, and process_barrier() must not be called. IRQL: PASSIVE_LEVEL.
NT_API bool prepare_process_barrier();

/// A full memory barrier in every running thread of the process. Takes microseconds. A thread's
/// accesses before the barrier are visible afterwards, if the thread keeps the compiler from
/// reordering them. IRQL: any.
NT_API void process_barrier() noexcept;

} // namespace irpverbs::dispatch::detail
