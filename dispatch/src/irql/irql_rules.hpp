// The IRQL preconditions of dispatch's functions, by name.
#pragma once

#include <dispatch/support/checks.hpp>

namespace irpverbs::dispatch::detail::irql_rules {
#define X(function, bound, level, id, sdv)                                                         \
    inline constexpr irql_rule function{#function, irql_bound::bound, level, id, #sdv};
#include "irql_rules.def"
#undef X
} // namespace irpverbs::dispatch::detail::irql_rules

#define VERIFY_IRQL(function)                                                                      \
    do {                                                                                           \
        if (::irpverbs::dispatch::detail::verifying())                                             \
            ::irpverbs::dispatch::detail::check_irql(                                              \
                ::irpverbs::dispatch::detail::irql_rules::function);                               \
    } while (false)
