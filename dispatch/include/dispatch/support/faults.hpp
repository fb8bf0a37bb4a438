// Fault points: places where the library can fail for want of resources. The sweep of a fault_plan
// decides whether a fault point fails; without a plan, a fault_mode decides while
// check::low_resources is on.
#pragma once

#include <dispatch/support/verify.hpp>

#include <optional>

namespace irpverbs::dispatch::detail {

NT_API bool fault_point_slow(const char* site);

/// Returns whether the operation of `site` fails at this call; the caller then behaves as if memory
/// were short. `site` is a literal "kind.operation", such as "pool.allocate".
inline bool fault_point(const char* site) { return instrumented() && fault_point_slow(site); }

enum class fault_mode : std::uint8_t {
    random,
    each_stack, // each distinct call stack, the first time it is seen
};

/// Sets the mode and clears the record of call stacks.
NT_API void set_fault_mode(fault_mode mode);

/// A failure that a fault point caused.
struct injected_fault {
    const char* site = nullptr;
    call_stack where;
};

/// Returns a copy of the last injected fault on that machine, if there was one.
NT_API std::optional<injected_fault> last_fault(machine& where);

/// Returns the number of injected faults on that machine so far.
NT_API std::uint64_t faults_injected(machine& where);

} // namespace irpverbs::dispatch::detail
