// Rules about acquiring and releasing locks of all kinds. Called on the slow path, while something
// is watched; each looks itself for what.
#pragma once

#include "processor_checks.hpp"

#include <optional>

namespace irpverbs::dispatch::detail {

struct acquisition {
    const void* lock;
    lock_kind kind;
    bool waits = true;   // until the lock is free, rather than giving up
    bool to_dpc = false; // by KeAcquireSpinLockRaiseToDpc itself
};

/// Something of what follows is watched.
bool watching_locks() noexcept;

/// The caller is about to acquire; nothing has changed yet, so a handler may throw.
void lock_wanted(processor& self, const acquisition& how, const call_stack& where);
void lock_acquired(processor& self, const acquisition& how, const call_stack& where);

/// The caller holds `lock` as another kind from now on.
void lock_converted(processor& self, const void* lock, lock_kind kind);

/// The caller is about to release. `is_free`: nobody holds it. `to`: the IRQL falls there.
void lock_released(processor& self, const void* lock, lock_kind kind, bool is_free,
                   std::optional<KIRQL> to = std::nullopt);

/// The memory of a lock is made a new one.
void lock_initialised(processor& self, const void* lock);
/// The same for a spin lock, whose word is to hold what this gives: a mark to know it again by.
KSPIN_LOCK spin_lock_initialised(processor& self, const KSPIN_LOCK* lock);
/// The mark of a spin lock that is released, 0 for none.
KSPIN_LOCK mark_of_lock(const KSPIN_LOCK* lock);

/// The caller is about to wait for something while spin locks may be held.
void wait_with_locks(processor& self, const char* function);

/// The thread that was `self` ends.
void thread_ends_with_locks(processor& self);

} // namespace irpverbs::dispatch::detail
