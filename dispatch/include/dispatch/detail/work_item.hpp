// Work items for the packages above: their own are prepared at any IRQL, and let others by.
#pragma once

#include <dispatch/work_item.h>

namespace irpverbs::dispatch::detail {

/// ExInitializeWorkItem, at any IRQL.
NT_API void prepare_work_item(WORK_QUEUE_ITEM* item, PWORKER_THREAD_ROUTINE routine, void* context);

/// Whether some wait for a worker: then whoever has much to do goes behind them. IRQL: any.
NT_API bool work_items_wait();

} // namespace irpverbs::dispatch::detail
