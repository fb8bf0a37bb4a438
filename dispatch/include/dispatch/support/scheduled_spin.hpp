// Short locks whose release is a scheduling point.
#pragma once

#include <dispatch/support/processor.hpp>

namespace irpverbs::dispatch::detail {

/// A raw_spin_lock after whose release another actor may run, before the caller acts on what it did
/// under the lock. For locks of the whole process, which no scheduling point may stand under: a
/// simulated run that fails would leave them held. The caller must hold no other raw_spin_lock.
class process_spin {
public:
    void lock() noexcept { lock_.lock(); }
    void unlock() noexcept { unlock(point::lock_release, this); }
    /// Releases the lock before the caller does `next` to `object`, which reports of hangs name.
    void unlock(point next, const void* object) noexcept {
        lock_.unlock();
        sched_point(next, object);
    }
    /// The lock alone, for a caller that passes a scheduling point next.
    raw_spin_lock& without_point() noexcept { return lock_; }

private:
    raw_spin_lock lock_;
};

/// A machine_spin_lock whose holder lets another actor run also before the release, so that a
/// simulated run meets it held. For tables and queues of a machine that are not on the common
/// paths. The caller must hold no raw_spin_lock.
class scheduled_spin {
public:
    void lock() noexcept { lock_.lock(); }
    void unlock() noexcept {
        sched_point(point::lock_release, this);
        lock_.unlock();
        sched_point(point::lock_release, this);
    }

private:
    machine_spin_lock lock_;
};

} // namespace irpverbs::dispatch::detail
