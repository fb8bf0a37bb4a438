// The IRQL preconditions of irp's functions, by name.
#pragma once

#include <dispatch/detail/checks.hpp>

namespace irpverbs::irp {

namespace irql_rules {
using dispatch::detail::irql_bound;
#define X(function, bound, level, id, sdv)                                                         \
    inline constexpr dispatch::detail::irql_rule function{#function, irql_bound::bound, level, id, \
                                                          sdv};
#include "irql_rules.def"
#undef X
} // namespace irql_rules

/// What a hot function does first where something is instrumented.
inline void enter_slow(const dispatch::detail::irql_rule& rule, dispatch::detail::point kind,
                       const void* object) {
    if (dispatch::detail::verifying()) dispatch::detail::check_irql(rule);
    dispatch::detail::sched_point_slow(kind, object);
}

/// The same where a function does not mind the test.
inline void enter(const dispatch::detail::irql_rule& rule, dispatch::detail::point kind,
                  const void* object) {
    if (dispatch::detail::instrumented()) enter_slow(rule, kind, object);
}

} // namespace irpverbs::irp

#define VERIFY_IRQL(function)                                                                      \
    do {                                                                                           \
        if (::irpverbs::dispatch::detail::verifying())                                             \
            ::irpverbs::dispatch::detail::check_irql(::irpverbs::irp::irql_rules::function);       \
    } while (false)
