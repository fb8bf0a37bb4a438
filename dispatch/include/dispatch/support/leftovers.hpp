// Handles and reference-counted objects, while the pool is checked: what is left of them when the
// drivers of a machine are unloaded.
#pragma once

#include <dispatch/object.h>

#include <string_view>

namespace irpverbs::dispatch::detail {

/// Reports the handles that are open on the calling thread's machine, and the objects to which a
/// reference is left. The caller knows that drivers alone could have them. `type`: of objects of
/// that type ("file"); empty: of all.
NT_API void check_leftovers(std::string_view type = {});

} // namespace irpverbs::dispatch::detail
