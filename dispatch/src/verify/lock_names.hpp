// Names that reports use for locks, besides numbers.
#pragma once

namespace irpverbs::dispatch::detail {

/// What name_lock said, or null.
const char* name_of_lock(const void* lock);

} // namespace irpverbs::dispatch::detail
