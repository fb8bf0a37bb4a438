#pragma once

#include <dispatch/dpc.h>
#include <dispatch/support/processor.hpp>

namespace irpverbs::dispatch::detail {

/// The routine and arguments of one call. During the call the KDPC may be queued again or freed.
struct dpc_call {
    PKDEFERRED_ROUTINE routine;
    void* context;
    void* argument1;
    void* argument2;

    void operator()(KDPC* dpc) const { routine(dpc, context, argument1, argument2); }
};

/// Inserts the DPC without a scheduling point and without running it, and unparks the target.
/// False: the DPC was queued already.
bool enqueue_dpc(processor& self, KDPC& dpc, void* argument1, void* argument2);

/// Marks all DPCs of the queue as not queued, when the queue's machine has ended.
void unlink_dpcs(dpc_queue& queue);

/// Runs the threaded DPCs queued to `self`, at PASSIVE_LEVEL.
void run_threaded_dpcs(processor& self);

} // namespace irpverbs::dispatch::detail
