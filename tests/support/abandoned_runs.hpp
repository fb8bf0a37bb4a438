// Memory of simulated runs that failed: they are abandoned, not unwound, so it is never freed
// (docs/decisions/simulated-runs.md).
#pragma once

#include <dispatch/support/sanitizers.hpp>

#if IRPVERBS_ADDRESS_SANITIZER
#include <sanitizer/lsan_interface.h>
#endif

namespace irpverbs::testing {

/// For campaigns in which many runs are to fail: allocations of this scope are no leaks.
class abandoned_runs {
public:
#if IRPVERBS_ADDRESS_SANITIZER
    abandoned_runs() { __lsan_disable(); }
    ~abandoned_runs() { __lsan_enable(); }
#else
    abandoned_runs() {}
    ~abandoned_runs() {}
#endif
    abandoned_runs(const abandoned_runs&) = delete;
    abandoned_runs& operator=(const abandoned_runs&) = delete;
};

} // namespace irpverbs::testing
