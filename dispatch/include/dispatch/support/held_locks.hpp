// The locks that a processor holds, as far as it acquired them while check::locks or
// check::deadlocks was on.
#pragma once

#include <dispatch/support/verify.hpp>

#include <cstddef>
#include <span>

namespace irpverbs::dispatch::detail {

/// The family of functions that acquired a lock and must release it.
enum class lock_kind : std::uint8_t {
    spin,   // KeAcquireSpinLock and its forms
    queued, // KeAcquireInStackQueuedSpinLock
    shared, // ExAcquireSpinLockShared
    exclusive,
    fast_mutex,
    mutex,
};

/// True for a spin lock: it is held at DISPATCH_LEVEL, and never across a completion or a wait.
constexpr bool is_spin_lock(lock_kind kind) noexcept { return kind < lock_kind::fast_mutex; }

struct held_lock {
    static constexpr std::uint32_t no_node = ~std::uint32_t{0};

    const void* lock = nullptr;
    lock_kind kind = lock_kind::spin;
    bool to_dpc = false;               // acquired by KeAcquireSpinLockRaiseToDpc itself
    std::uint32_t node = no_node;      // in the graph of lock orders
    const void* handle = nullptr;      // the KLOCK_QUEUE_HANDLE of a queued lock
    std::uint64_t since = no_deadline; // machine time, while check::watchdog is on
    call_stack where;                  // the acquisition
};

/// Returns the held locks, oldest first. Only the thread that is `self` may call this; the span is
/// valid until that thread acquires or releases a lock.
NT_API std::span<const held_lock> held_locks(processor& self);

/// Returns the number of held spin locks.
NT_API std::size_t held_spin_locks(processor& self);

/// Returns the first held spin lock other than `but`, or null.
NT_API const held_lock* first_held_spin_lock(processor& self, const void* but = nullptr);

/// Returns whether that processor holds the plain spin lock, checked or not.
NT_API bool holds_spin_lock(const processor& self, const KSPIN_LOCK* lock);

/// Sets the name of the lock at that address in later reports: "cancel spin lock". `name` is a
/// literal; null removes the name.
NT_API void name_lock(const void* lock, const char* name);

} // namespace irpverbs::dispatch::detail
