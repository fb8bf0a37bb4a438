// Rules about pool memory. Blocks are known by address, beside them, so that what was allocated
// while nobody looked on is freed like any other, and the other way round.
#pragma once

#include "processor_checks.hpp"

#include <dispatch/pool.h>
#include <dispatch/work_item.h>

namespace irpverbs::dispatch::detail {

/// ExAllocatePoolWithTag and ExFreePoolWithTag when somebody looks on.
void* allocate_watched(POOL_TYPE type, SIZE_T size, ULONG tag);
void free_watched(void* block, ULONG tag);

/// A work item is about to be queued.
void check_work_item_address(const WORK_QUEUE_ITEM* item);

} // namespace irpverbs::dispatch::detail
