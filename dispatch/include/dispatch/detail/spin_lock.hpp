// The KSPIN_LOCK of whoever has found nothing instrumented: a free lock is taken inline, all else
// is left to the functions of spin_lock.h.
#pragma once

#include <dispatch/detail/processor.hpp>
#include <dispatch/spin_lock.h>

namespace irpverbs::dispatch::detail {

/// The word of a lock that is held: its owner, which tells a double acquisition from contention.
inline ULONG_PTR owner_word(const processor& self) { return reinterpret_cast<ULONG_PTR>(&self); }

/// Acquires a lock whose word is `word`; false: the word is another, which `word` is then.
inline bool try_acquire(const processor& self, KSPIN_LOCK& lock, KSPIN_LOCK& word) {
    return __atomic_compare_exchange_n(&lock, &word, owner_word(self), false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

/// Leaves the word `free` in the lock; false, and nothing is done, when `self` does not hold it.
inline bool try_release(const processor& self, KSPIN_LOCK& lock, KSPIN_LOCK free = 0) {
    if (__atomic_load_n(&lock, __ATOMIC_RELAXED) != owner_word(self)) return false;
    __atomic_store_n(&lock, free, __ATOMIC_RELEASE);
    return true;
}

/// False, and nothing is done, when the lock is held or the level is above DISPATCH_LEVEL.
inline bool try_acquire_raising(processor& self, KSPIN_LOCK& lock, KIRQL& old) {
    KSPIN_LOCK free = 0;
    if (self.irql > DISPATCH_LEVEL || !try_acquire(self, lock, free)) return false;
    old = self.irql;
    self.irql = DISPATCH_LEVEL;
    return true;
}

/// False, and nothing is done, when there is more to it: DPCs to run, or a misuse to report.
inline bool try_release_lowering(processor& self, KSPIN_LOCK& lock, KIRQL level) {
    if (level < DISPATCH_LEVEL && self.dpcs.pending.load(std::memory_order_relaxed)) return false;
    if (!try_release(self, lock)) return false;
    self.irql = level;
    return true;
}

/// What acquire_raising gives besides the level, when the functions of spin_lock.h took the lock.
inline constexpr KIRQL taken_by_function = 0x80;

/// Gives what release_lowering wants: the level that it raised from.
inline KIRQL acquire_raising(processor& self, KSPIN_LOCK& lock) {
    KIRQL old = PASSIVE_LEVEL;
    if (instrumented() || !try_acquire_raising(self, lock, old)) [[unlikely]]
        old = KeAcquireSpinLockRaiseToDpc(&lock) | taken_by_function;
    return old;
}

inline bool has_dpcs_below(const processor& self, KIRQL level) {
    return level < DISPATCH_LEVEL && self.dpcs.pending.load(std::memory_order_relaxed);
}

/// Of a lock that `self` holds for sure. Runs DPCs, and so may throw what a bug check's handler
/// throws. Whether anything is instrumented was asked when the lock was taken.
inline void release_lowering(processor& self, KSPIN_LOCK& lock, KIRQL level) {
    if (has_dpcs_below(self, level) || level >= taken_by_function) [[unlikely]] {
        KeReleaseSpinLock(&lock, level & ~taken_by_function);
    } else {
        __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
        self.irql = level;
    }
}

/// Holds a spin lock for the life of the scope. IRQL: <= DISPATCH_LEVEL; there meanwhile.
class spin_guard {
public:
    explicit spin_guard(KSPIN_LOCK& lock)
        : lock_(lock), self_(this_processor()), level_(acquire_raising(self_, lock)) {}
    ~spin_guard() noexcept(false) { release_lowering(self_, lock_, level_); }
    spin_guard(const spin_guard&) = delete;
    spin_guard& operator=(const spin_guard&) = delete;

private:
    KSPIN_LOCK& lock_;
    processor& self_;
    const KIRQL level_;
};

} // namespace irpverbs::dispatch::detail
