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

/// A function is called that says so at a scheduling point: where nothing is instrumented, both
/// together cost one test.
inline void enter_slow(const dispatch::detail::irql_rule& rule, dispatch::detail::point kind,
                       const void* object) {
    if (dispatch::detail::verifying()) dispatch::detail::check_irql(rule);
    dispatch::detail::sched_point_slow(kind, object);
}
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
