// Fault points: places where the library can be made to fail for want of resources. Who decides:
// the sweep of a fault_plan, else a fault_order while watch::low_resources is on.
#pragma once

#include <dispatch/detail/verify.hpp>

#include <optional>

namespace irpverbs::dispatch::detail {

NT_API bool fault_point_slow(const char* site);

/// Says whether what `site` stands for ("pool.allocate", a literal: kind, then what) fails here
/// and now. Then the caller does as if memory were short.
inline bool fault_point(const char* site) { return instrumented() && fault_point_slow(site); }

enum class fault_order : std::uint8_t {
    chance,
    each_stack, // each distinct call stack, when it comes the first time
};

/// Also begins anew: every call stack is unknown again.
NT_API void set_fault_order(fault_order order);

/// A failure that a fault point brought about.
struct injected_fault {
    const char* site = nullptr;
    call_stack where;
};

/// A copy of the last one on that machine, if there was one.
NT_API std::optional<injected_fault> last_fault(machine& where);

/// Those so far.
NT_API std::uint64_t faults_injected(machine& where);

} // namespace irpverbs::dispatch::detail
