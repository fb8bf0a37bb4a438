// Insertion of a DPC by an owner that keeps track of whether it is queued.
#pragma once

#include <dispatch/dpc.h>

namespace irpverbs::dispatch::detail {

/// Inserts a DPC as KeInsertQueueDpc does. The DPC must not be queued, and no other thread may
/// queue it during the call, so the call can't fail.
NT_API void insert_unqueued_dpc(KDPC& dpc);

} // namespace irpverbs::dispatch::detail
