// Work items for the packages above, whose own are prepared at any IRQL.
#pragma once

#include <dispatch/work_item.h>

namespace irpverbs::dispatch::detail {

/// ExInitializeWorkItem, at any IRQL.
NT_API void prepare_work_item(WORK_QUEUE_ITEM* item, PWORKER_THREAD_ROUTINE routine, void* context);

} // namespace irpverbs::dispatch::detail
