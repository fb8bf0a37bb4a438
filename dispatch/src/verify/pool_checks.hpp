// Rules about pool memory. The records of blocks are kept by address, apart from the blocks, so
// that a block that was allocated while nothing was watched is freed like any other, and the
// reverse.
#pragma once

#include "processor_checks.hpp"

#include <dispatch/pool.h>
#include <dispatch/work_item.h>

namespace irpverbs::dispatch::detail {

/// ExAllocatePoolWithTag and ExFreePoolWithTag while the pool is watched.
void* allocate_checked(POOL_TYPE type, SIZE_T size, ULONG tag);
void free_checked(void* block, ULONG tag);

/// Checks the memory of a work item that is about to be queued.
void check_work_item_address(const WORK_QUEUE_ITEM* item);

} // namespace irpverbs::dispatch::detail
