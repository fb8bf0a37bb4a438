// Names of locks in reports, beside their numbers.
#pragma once

namespace irpverbs::dispatch::detail {

/// The name that name_lock set, or null.
const char* name_of_lock(const void* lock);

} // namespace irpverbs::dispatch::detail
