// Rules about the acquisition and release of locks of all kinds. The functions are called on the
// slow path, while anything is watched; each tests whether its own rules are watched.
#pragma once

#include "processor_checks.hpp"

#include <optional>

namespace irpverbs::dispatch::detail {

struct acquisition {
    const void* lock;
    lock_kind kind;
    bool waits = true;   // true: the acquisition waits until the lock is free; false: it gives up
    bool to_dpc = false; // acquired by KeAcquireSpinLockRaiseToDpc itself
};

/// True when any rule of this file is watched.
bool lock_checks_enabled() noexcept;

/// Checks an acquisition that is about to begin. The lock has not changed yet, so a handler may
/// throw.
void lock_requested(processor& self, const acquisition& how, const call_stack& where);
void lock_acquired(processor& self, const acquisition& how, const call_stack& where);

/// Records that the caller holds `lock` as another kind from now on.
void lock_converted(processor& self, const void* lock, lock_kind kind);

/// Checks a release that is about to begin. `is_free`: no processor holds the lock. `to`: the IRQL
/// after the release.
void lock_released(processor& self, const void* lock, lock_kind kind, bool is_free,
                   std::optional<KIRQL> to = std::nullopt);

/// Records that the memory becomes a new lock, and reports a holder of the old one.
void lock_initialised(processor& self, const void* lock);
/// Records a new spin lock as lock_initialised does. Returns the mark that its word must hold, by
/// which the verifier recognizes the lock.
KSPIN_LOCK spin_lock_initialised(processor& self, const KSPIN_LOCK* lock);
/// Returns the mark of a spin lock that is released; 0: the lock has none.
KSPIN_LOCK mark_of_lock(const KSPIN_LOCK* lock);

/// Reports the spin locks that the caller holds when it is about to wait.
void check_wait_with_locks(processor& self, const char* function);

/// Reports the locks that the thread of `self` holds when it ends.
void check_locks_at_thread_end(processor& self);

} // namespace irpverbs::dispatch::detail
