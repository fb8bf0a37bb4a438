// Memory of simulated runs that failed: they are abandoned, not unwound, so it is never freed
// (docs/decisions/simulated-runs.md).
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define IRPVERBS_FINDS_LEAKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IRPVERBS_FINDS_LEAKS 1
#endif
#endif
#ifdef IRPVERBS_FINDS_LEAKS
#include <sanitizer/lsan_interface.h>
#endif

namespace irpverbs::testing {

/// For campaigns in which many runs are to fail: allocations of this scope are no leaks.
class abandoned_runs {
public:
#ifdef IRPVERBS_FINDS_LEAKS
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
