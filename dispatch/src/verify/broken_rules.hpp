// The rules of this package by name, and helpers that make their parameters.
#pragma once

#include <dispatch/bugcheck.h>
#include <dispatch/detail/verify.hpp>

namespace irpverbs::dispatch::detail::rule_of {
#define X(name, code, id, meaning, blind) inline constexpr rule name{#name, code, id};
#include "rules.def"
#undef X
} // namespace irpverbs::dispatch::detail::rule_of

namespace irpverbs::dispatch::detail {
inline ULONG_PTR number(const void* address) { return reinterpret_cast<ULONG_PTR>(address); }
} // namespace irpverbs::dispatch::detail
