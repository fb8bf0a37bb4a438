// The IRQL preconditions of these functions, by name. After Windows' headers.
#ifndef IRPVERBS_IRP_SRC_WINDOWS_IRQL_RULES_HPP
#define IRPVERBS_IRP_SRC_WINDOWS_IRQL_RULES_HPP

#include <dispatch/support/checks.hpp>
#include <dispatch/support/verify.hpp>

namespace irpverbs::windows {

namespace irql_rules {
using dispatch::detail::irql_bound;
#define X(function, bound, level, id, sdv)                                                         \
    inline constexpr dispatch::detail::irql_rule function{#function, irql_bound::bound, level, id, \
                                                          sdv};
#include "irql_rules.def"
#undef X
} // namespace irql_rules

inline void check_irql_of(dispatch::detail::irql_rule rule) {
    namespace core = dispatch::detail;
    if (rule.bound == core::irql_bound::exactly && rule.level == PASSIVE_LEVEL &&
        !core::settings.strict_sdv_irql) {
        rule.bound = core::irql_bound::at_most;
        rule.level = APC_LEVEL;
    }
    core::check_irql(rule);
}

} // namespace irpverbs::windows

#define VERIFY_IRQL(function)                                                                      \
    do {                                                                                           \
        if (::irpverbs::dispatch::detail::verifying())                                             \
            ::irpverbs::windows::check_irql_of(::irpverbs::windows::irql_rules::function);         \
    } while (false)

#endif
