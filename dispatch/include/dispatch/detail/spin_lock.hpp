// The KSPIN_LOCK of whoever has found nothing instrumented: a free lock is taken inline, all else
// is left to the functions of spin_lock.h.
#pragma once

#include <dispatch/detail/processor.hpp>
#include <dispatch/spin_lock.h>

namespace irpverbs::dispatch::detail {

/// The word of a lock that is held: its owner, which tells a double acquisition from contention.
inline ULONG_PTR owner_word(const processor& self) {
    return reinterpret_cast<ULONG_PTR>(&self) | 1;
}

/// False: somebody holds it.
inline bool take_free_lock(const processor& self, KSPIN_LOCK& lock) {
    KSPIN_LOCK free = 0;
    return __atomic_compare_exchange_n(&lock, &free, owner_word(self), false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

/// False: `self` does not hold it.
inline bool give_back_lock(const processor& self, KSPIN_LOCK& lock) {
    if (__atomic_load_n(&lock, __ATOMIC_RELAXED) != owner_word(self)) return false;
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
    return true;
}

} // namespace irpverbs::dispatch::detail
