// Reports of broken rules, and the table of IRQL preconditions.
#pragma once

#include <dispatch/support/processor.hpp>

namespace irpverbs::dispatch::detail {

/// Stops the system with a text that names the error.
[[noreturn]] NT_API void bug_check(ULONG code, const char* text, ULONG_PTR p1 = 0, ULONG_PTR p2 = 0,
                                   ULONG_PTR p3 = 0, ULONG_PTR p4 = 0);

/// Reports a broken verifier rule to the bug-check handler; returns when the handler returns.
NT_API void violation(ULONG code, ULONG_PTR id, const char* rule, const char* text,
                      ULONG_PTR p2 = 0, ULONG_PTR p3 = 0, ULONG_PTR p4 = 0);

enum class irql_bound : std::uint8_t { at_most, at_least, exactly };

struct irql_rule {
    const char* function;
    irql_bound bound;
    KIRQL level;
    ULONG id; // parameter 1 of bug check 0xC4
    const char* sdv;
};

NT_API void check_irql(const irql_rule& rule);

/// Checks the IRQL of a function that begins with a scheduling point, then lets another actor run.
/// Callers test instrumented() first, so that both steps together cost one test where nothing is
/// instrumented.
NT_API void instrumented_call(const irql_rule& rule, point kind, const void* object);

} // namespace irpverbs::dispatch::detail
