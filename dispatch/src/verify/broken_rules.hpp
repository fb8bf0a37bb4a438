// This package's rules, by name.
#pragma once

#include <dispatch/bugcheck.h>
#include <dispatch/detail/verify.hpp>

namespace irpverbs::dispatch::detail::rule_of {
#define X(name, code, id, meaning, blind) inline constexpr rule name{#name, code, id};
#include "rules.def"
#undef X
} // namespace irpverbs::dispatch::detail::rule_of
