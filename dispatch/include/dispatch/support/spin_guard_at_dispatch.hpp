// A spin lock that is acquired while the level is DISPATCH_LEVEL already.
#pragma once

#include <dispatch/support/spin_lock.hpp>

namespace irpverbs::dispatch::detail {

/// Holds a spin lock for the life of the scope, as spin_guard does, inside the scope of another
/// guard. IRQL: DISPATCH_LEVEL.
class spin_guard_at_dispatch {
public:
    spin_guard_at_dispatch(const spin_guard& outer, KSPIN_LOCK& lock)
        : lock_(lock), how_(outer.level()) {
        KSPIN_LOCK free = 0;
        if (is_by_function() || !try_acquire(outer.self(), lock, free)) [[unlikely]] {
            KeAcquireSpinLockAtDpcLevel(&lock);
            how_ |= acquired_by_function;
        }
    }
    ~spin_guard_at_dispatch() noexcept(false) {
        if (is_by_function()) [[unlikely]]
            KeReleaseSpinLockFromDpcLevel(&lock_);
        else
            __atomic_store_n(&lock_, 0, __ATOMIC_RELEASE);
    }
    spin_guard_at_dispatch(const spin_guard_at_dispatch&) = delete;
    spin_guard_at_dispatch& operator=(const spin_guard_at_dispatch&) = delete;

private:
    bool is_by_function() const { return how_ >= acquired_by_function; }

    KSPIN_LOCK& lock_;
    KIRQL how_; // as spin_guard::level()
};

} // namespace irpverbs::dispatch::detail
