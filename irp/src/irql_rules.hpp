// The IRQL preconditions of irp's functions, by name.
#pragma once

#include <dispatch/support/checks.hpp>

namespace irpverbs::irp {

namespace irql_rules {
using dispatch::detail::irql_bound;
#define X(function, bound, level, id, sdv)                                                         \
    inline constexpr dispatch::detail::irql_rule function{#function, irql_bound::bound, level, id, \
                                                          sdv};
#include "irql_rules.def"
#undef X
} // namespace irql_rules

} // namespace irpverbs::irp

#define VERIFY_IRQL(function)                                                                      \
    do {                                                                                           \
        if (::irpverbs::dispatch::detail::verifying())                                             \
            ::irpverbs::dispatch::detail::check_irql(::irpverbs::irp::irql_rules::function);       \
    } while (false)
