#include "standard.hpp"

#include <dispatch/rundown.h>
#include <windows/wdk/executive.h>

// One count for all processors: it differs from Windows' in speed only.
struct _EX_RUNDOWN_REF_CACHE_AWARE {
    EX_RUNDOWN_REF users;
};

extern "C" {

PEX_RUNDOWN_REF_CACHE_AWARE ExAllocateCacheAwareRundownProtection(POOL_TYPE PoolType,
                                                                  ULONG PoolTag) {
    auto* const made = static_cast<PEX_RUNDOWN_REF_CACHE_AWARE>(
        ExAllocatePoolWithTag(PoolType, sizeof(_EX_RUNDOWN_REF_CACHE_AWARE), PoolTag));
    if (made != nullptr) ExInitializeRundownProtection(&made->users);
    return made;
}
void ExFreeCacheAwareRundownProtection(PEX_RUNDOWN_REF_CACHE_AWARE RunRef) { ExFreePool(RunRef); }

BOOLEAN ExAcquireRundownProtectionCacheAware(PEX_RUNDOWN_REF_CACHE_AWARE RunRef) {
    return ExAcquireRundownProtection(&RunRef->users);
}
BOOLEAN ExAcquireRundownProtectionCacheAwareEx(PEX_RUNDOWN_REF_CACHE_AWARE RunRef, ULONG Count) {
    return ExAcquireRundownProtectionEx(&RunRef->users, Count);
}
void ExReleaseRundownProtectionCacheAware(PEX_RUNDOWN_REF_CACHE_AWARE RunRef) {
    ExReleaseRundownProtection(&RunRef->users);
}
void ExReleaseRundownProtectionCacheAwareEx(PEX_RUNDOWN_REF_CACHE_AWARE RunRef, ULONG Count) {
    ExReleaseRundownProtectionEx(&RunRef->users, Count);
}
void ExWaitForRundownProtectionReleaseCacheAware(PEX_RUNDOWN_REF_CACHE_AWARE RunRef) {
    ExWaitForRundownProtectionRelease(&RunRef->users);
}
void ExRundownCompletedCacheAware(PEX_RUNDOWN_REF_CACHE_AWARE RunRef) {
    ExRundownCompleted(&RunRef->users);
}
void ExReInitializeRundownProtectionCacheAware(PEX_RUNDOWN_REF_CACHE_AWARE RunRef) {
    ExReInitializeRundownProtection(&RunRef->users);
}

} // extern "C"
