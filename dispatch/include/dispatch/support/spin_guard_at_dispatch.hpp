// A spin lock that is acquired while the level is DISPATCH_LEVEL already.
#pragma once

#include <dispatch/support/spin_lock.hpp>

namespace irpverbs::dispatch::detail {

/// Holds a spin lock for the life of the scope, as spin_guard does. IRQL: DISPATCH_LEVEL, which the
/// caller keeps for the life of the scope.
class spin_guard_at_dispatch {
public:
    /// `self` is the calling thread's processor, which the holder of another lock has at hand.
    spin_guard_at_dispatch(const processor& self, KSPIN_LOCK& lock) : lock_(lock) {
        KSPIN_LOCK free = 0;
        if (instrumented() || !try_acquire(self, lock, free)) [[unlikely]] {
            KeAcquireSpinLockAtDpcLevel(&lock);
            by_function_ = true;
        }
    }
    ~spin_guard_at_dispatch() noexcept(false) {
        if (by_function_) [[unlikely]]
            KeReleaseSpinLockFromDpcLevel(&lock_);
        else
            __atomic_store_n(&lock_, 0, __ATOMIC_RELEASE);
    }
    spin_guard_at_dispatch(const spin_guard_at_dispatch&) = delete;
    spin_guard_at_dispatch& operator=(const spin_guard_at_dispatch&) = delete;

private:
    KSPIN_LOCK& lock_;
    bool by_function_ = false;
};

} // namespace irpverbs::dispatch::detail
