#pragma once

#include <dispatch/ke.h>

namespace irpverbs::ci {

/// Holds a spin lock for the life of the scope.
class spin_guard {
public:
    explicit spin_guard(KSPIN_LOCK& lock)
        : lock_(lock), level_(KeAcquireSpinLockRaiseToDpc(&lock)) {}
    ~spin_guard() { KeReleaseSpinLock(&lock_, level_); }
    spin_guard(const spin_guard&) = delete;
    spin_guard& operator=(const spin_guard&) = delete;

private:
    KSPIN_LOCK& lock_;
    KIRQL level_;
};

} // namespace irpverbs::ci
