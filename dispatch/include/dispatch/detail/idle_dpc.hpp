// For owners of a DPC that know when it is queued.
#pragma once

#include <dispatch/dpc.h>

namespace irpverbs::dispatch::detail {

/// KeInsertQueueDpc of a DPC that is not queued, and that nobody else queues meanwhile: then there
/// is nothing to decide.
NT_API void queue_idle_dpc(KDPC& dpc);

} // namespace irpverbs::dispatch::detail
