#pragma once

#include <dispatch/detail/processor.hpp>
#include <dispatch/dpc.h>

namespace irpverbs::dispatch::detail {

/// What to run; the KDPC may be queued again or gone meanwhile.
struct dpc_call {
    PKDEFERRED_ROUTINE routine;
    void* context;
    void* argument1;
    void* argument2;

    void operator()(KDPC* dpc) const { routine(dpc, context, argument1, argument2); }
};

/// Queues without a scheduling point and without running it; the target is told. False: it was
/// queued.
bool enqueue_dpc(processor& self, KDPC& dpc, void* argument1, void* argument2);

/// The queue's machine is no more: no DPC waits in it.
void let_go_of_dpcs(dpc_queue& queue);

/// Runs the threaded DPCs that wait for `self`, at PASSIVE_LEVEL.
void run_threaded_dpcs(processor& self);

} // namespace irpverbs::dispatch::detail
