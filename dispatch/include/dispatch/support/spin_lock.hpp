// KSPIN_LOCK for callers that have found nothing instrumented: a free lock is acquired inline; the
// functions of spin_lock.h handle all other cases.
#pragma once

#include <dispatch/spin_lock.h>
#include <dispatch/support/processor.hpp>

namespace irpverbs::dispatch::detail {

/// The word of a held lock names its owner, which distinguishes a double acquisition from
/// contention.
inline ULONG_PTR owner_word(const processor& self) { return reinterpret_cast<ULONG_PTR>(&self); }

/// Acquires a lock whose word is `word`. False: the lock has another word, which is stored in
/// `word`.
inline bool try_acquire(const processor& self, KSPIN_LOCK& lock, KSPIN_LOCK& word) {
    return __atomic_compare_exchange_n(&lock, &word, owner_word(self), false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

/// Releases the lock and leaves the word `free` in it. False: `self` does not hold the lock, and
/// nothing has changed.
inline bool try_release(const processor& self, KSPIN_LOCK& lock, KSPIN_LOCK free = 0) {
    if (__atomic_load_n(&lock, __ATOMIC_RELAXED) != owner_word(self)) return false;
    __atomic_store_n(&lock, free, __ATOMIC_RELEASE);
    return true;
}

/// Hooks of an acquisition that raises the IRQL, and of a release. `wanted` precedes the
/// acquisition, `raises` and `raised` surround the raise, `acquired` follows the acquisition;
/// `releasing` and `released` surround the release, and `lower` sets the level after it.
struct no_lock_hooks {
    static void wanted() {}
    static void raises(KIRQL) {}
    static void raised() {}
    static void acquired() {}
    static void releasing() {}
    static void released() {}
    static void lower(processor& self, KIRQL level) { self.irql = level; }
};

/// Raises the level to DISPATCH_LEVEL and acquires a lock by `take`. Written once over hooks: with
/// no_lock_hooks it compiles to the steps alone. False: `take` returned false, and nothing has
/// changed.
template <class Hooks, class Take>
[[gnu::always_inline]] inline bool acquire_at_dpc(processor& self, KIRQL& old, Hooks& hooks,
                                                  Take take) {
    hooks.wanted();
    old = self.irql;
    hooks.raises(old);
    self.irql = old < DISPATCH_LEVEL ? KIRQL{DISPATCH_LEVEL} : old;
    hooks.raised();
    if (!take()) {
        self.irql = old;
        return false;
    }
    hooks.acquired();
    return true;
}

/// Releases a lock by `give` and sets the level. False: `give` returned false, and nothing has
/// changed.
template <class Hooks, class Give>
[[gnu::always_inline]] inline bool release_to(processor& self, KIRQL level, Hooks& hooks,
                                              Give give) {
    hooks.releasing();
    if (!give()) return false;
    hooks.released();
    hooks.lower(self, level);
    return true;
}

/// False: the lock is held or the level is above DISPATCH_LEVEL, and nothing has changed.
inline bool try_acquire_raising(processor& self, KSPIN_LOCK& lock, KIRQL& old) {
    if (self.irql > DISPATCH_LEVEL) return false;
    no_lock_hooks none;
    KSPIN_LOCK free = 0;
    return acquire_at_dpc(self, old, none, [&] { return try_acquire(self, lock, free); });
}

/// False: DPCs must run or a misuse must be reported, and nothing has changed.
inline bool try_release_lowering(processor& self, KSPIN_LOCK& lock, KIRQL level) {
    if (level < DISPATCH_LEVEL && self.dpcs.pending.load(std::memory_order_relaxed)) return false;
    no_lock_hooks none;
    return release_to(self, level, none, [&] { return try_release(self, lock); });
}

/// A bit of acquire_raising's result: the functions of spin_lock.h acquired the lock.
inline constexpr KIRQL acquired_by_function = 0x80;

/// Acquires the lock and returns the argument for release_lowering: the old level.
inline KIRQL acquire_raising(processor& self, KSPIN_LOCK& lock) {
    KIRQL old = PASSIVE_LEVEL;
    if (instrumented() || !try_acquire_raising(self, lock, old)) [[unlikely]]
        old = KeAcquireSpinLockRaiseToDpc(&lock) | acquired_by_function;
    return old;
}

inline bool has_dpcs_below(const processor& self, KIRQL level) {
    return level < DISPATCH_LEVEL && self.dpcs.pending.load(std::memory_order_relaxed);
}

/// Releases a lock that `self` is known to hold. Runs DPCs, and therefore may throw what a bug
/// check's handler throws. acquire_raising has tested instrumented().
inline void release_lowering(processor& self, KSPIN_LOCK& lock, KIRQL level) {
    if (has_dpcs_below(self, level) || level >= acquired_by_function) [[unlikely]] {
        KeReleaseSpinLock(&lock, level & ~acquired_by_function);
    } else {
        __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
        self.irql = level;
    }
}

/// Holds a spin lock for the life of the scope, at DISPATCH_LEVEL. IRQL: <= DISPATCH_LEVEL.
class spin_guard {
public:
    explicit spin_guard(KSPIN_LOCK& lock)
        : lock_(lock), self_(this_processor()), level_(acquire_raising(self_, lock)) {}
    ~spin_guard() noexcept(false) { release_lowering(self_, lock_, level_); }
    spin_guard(const spin_guard&) = delete;
    spin_guard& operator=(const spin_guard&) = delete;

    processor& self() const { return self_; }
    /// The result of acquire_raising.
    KIRQL level() const { return level_; }

private:
    KSPIN_LOCK& lock_;
    processor& self_;
    const KIRQL level_;
};

} // namespace irpverbs::dispatch::detail
