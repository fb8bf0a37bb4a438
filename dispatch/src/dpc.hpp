#pragma once

#include <dispatch/detail/processor.hpp>

namespace irpverbs::dispatch::detail {

/// Queues without a scheduling point and without running it; the target is told. False: it was
/// queued.
bool enqueue_dpc(processor& self, KDPC& dpc, void* argument1, void* argument2);

/// Runs the threaded DPCs that wait for `self`, at PASSIVE_LEVEL.
void run_threaded_dpcs(processor& self);

} // namespace irpverbs::dispatch::detail
