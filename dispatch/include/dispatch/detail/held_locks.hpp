// The locks that a processor holds, as far as they were acquired while watch::locks or
// watch::deadlocks was on.
#pragma once

#include <dispatch/detail/verify.hpp>

#include <cstddef>
#include <span>

namespace irpverbs::dispatch::detail {

/// What a lock is acquired with, and must be released with.
enum class lock_kind : std::uint8_t {
    spin,   // KeAcquireSpinLock and its forms
    queued, // KeAcquireInStackQueuedSpinLock
    shared, // ExAcquireSpinLockShared
    exclusive,
    fast_mutex,
    mutex,
};

/// A spin lock: held at DISPATCH_LEVEL, and never across a completion or a wait.
constexpr bool is_spin_lock(lock_kind kind) noexcept { return kind < lock_kind::fast_mutex; }

struct held_lock {
    static constexpr std::uint32_t no_node = ~std::uint32_t{0};

    const void* lock = nullptr;
    lock_kind kind = lock_kind::spin;
    bool to_dpc = false;               // by KeAcquireSpinLockRaiseToDpc itself
    std::uint32_t node = no_node;      // in the graph of lock orders
    std::uint64_t since = no_deadline; // machine time, while watch::watchdog is on
    call_stack where;                  // of the acquisition
};

/// Oldest first. Valid until `self` acquires or releases a lock; only for the thread that is
/// `self`.
NT_API std::span<const held_lock> held_locks(processor& self);

/// How many of them are spin locks.
NT_API std::size_t held_spin_locks(processor& self);

/// The first spin lock among them that is not `but`, or null.
NT_API const held_lock* first_held_spin_lock(processor& self, const void* but = nullptr);

/// Whether that processor has the plain spin lock, watched or not.
NT_API bool holds_spin_lock(const processor& self, const KSPIN_LOCK* lock);

/// What reports call the lock at that address from now on: "cancel spin lock". `name` is a literal;
/// null: a lock like others.
NT_API void name_lock(const void* lock, const char* name);

} // namespace irpverbs::dispatch::detail
