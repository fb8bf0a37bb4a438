// The rules of this package by name, and helpers that make their parameters.
#pragma once

#include <dispatch/bugcheck.h>
#include <dispatch/support/verify.hpp>

namespace irpverbs::dispatch::detail::verifier_rules {
#define X(name, code, id, meaning, blind) inline constexpr rule name{#name, code, id};
#include "rules.def"
#undef X
} // namespace irpverbs::dispatch::detail::verifier_rules

namespace irpverbs::dispatch::detail {
inline ULONG_PTR as_parameter(const void* address) { return reinterpret_cast<ULONG_PTR>(address); }
} // namespace irpverbs::dispatch::detail
