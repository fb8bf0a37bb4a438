// Work items for the packages above, which prepare theirs at any IRQL and yield to waiting ones.
#pragma once

#include <dispatch/work_item.h>

namespace irpverbs::dispatch::detail {

/// ExInitializeWorkItem, at any IRQL.
NT_API void initialize_work_item(WORK_QUEUE_ITEM* item, PWORKER_THREAD_ROUTINE routine,
                                 void* context);

/// Returns true when work items wait for a worker; a routine with much left to do then queues
/// itself behind them. IRQL: any.
NT_API bool work_items_queued();

} // namespace irpverbs::dispatch::detail
