// Instrumented acquisition and release: the slow paths of all lock functions.
#pragma once

#include "irql/irql_rules.hpp"
#include "verify/hooks.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <optional>

namespace irpverbs::dispatch::detail {

/// Kept out of the fast paths, so that they need not save its registers.
#define NT_SLOW_PATH [[gnu::noinline, gnu::cold]]

/// Acquires a lock by `take` at DISPATCH_LEVEL, while nothing is instrumented. Returns the old
/// IRQL.
template <class Acquire>
KIRQL acquire_unchecked(processor& self, Acquire acquire) {
    no_lock_hooks none;
    KIRQL old = PASSIVE_LEVEL;
    acquire_at_dpc(self, old, none, [&] { return acquire(), true; });
    return old;
}

struct checked_acquisition {
    processor& self;
    acquisition how;
    const irql_rule& bound;

    /// `acquire` acquires the lock. Returns the old IRQL.
    template <class Acquire>
    KIRQL raising(Acquire acquire) const {
        hooks steps{*this, {}};
        KIRQL old = PASSIVE_LEVEL;
        acquire_at_dpc(self, old, steps, [&] { return acquire(), true; });
        return old;
    }
    template <class Acquire>
    void at_level(Acquire acquire) const {
        const call_stack where = before();
        sched_point(point::lock_acquire, how.lock);
        acquire();
        after(where);
    }
    /// `acquire` tries to acquire the lock, and returns whether it did.
    template <class Acquire>
    bool trying(Acquire acquire) const {
        const call_stack where = before();
        sched_point(point::lock_acquire, how.lock);
        if (!acquire()) return false;
        after(where);
        return true;
    }

private:
    struct hooks {
        const checked_acquisition& of;
        call_stack where;

        void wanted() { where = of.before(); }
        void raises(KIRQL from) const {
            if (verifying()) record_raise(of.self, from, of.how.lock, where);
        }
        void raised() const { sched_point(point::lock_acquire, of.how.lock); }
        void acquired() const { of.after(where); }
    };

    call_stack before() const {
        if (verifying()) check_irql(bound);
        if (!lock_checks_enabled()) return {};
        const call_stack where = capture_stack(1, 16);
        lock_requested(self, how, where);
        return where;
    }
    void after(const call_stack& where) const {
        if (where.count != 0) lock_acquired(self, how, where);
    }
};

struct checked_release {
    processor& self;
    const void* lock;
    lock_kind kind;
    const irql_rule& bound;
    bool is_free;            // no processor holds the lock
    std::optional<KIRQL> to; // the IRQL after the release

    template <class Release>
    void operator()(Release release) const {
        release_to(self, to.value_or(self.irql), *this, [&] { return release(), true; });
    }

    void releasing() const {
        if (!verifying()) return;
        check_irql(bound);
        if (lock_checks_enabled()) lock_released(self, lock, kind, is_free, to);
        if (to) check_release_irql(self, lock, *to);
    }
    void released() const { sched_point(point::lock_release, lock); }
    void lower(processor& its_self, KIRQL level) const {
        if (to) lower_irql(its_self, level);
    }
};

/// Begins the life of a mutex or fast mutex.
inline void register_lock(const void* lock, const char* kind) {
    name_object(lock, kind);
    if (lock_checks_enabled()) lock_initialised(this_processor(), lock);
}

/// Begins the life of a spin lock. Returns the word that marks it as free.
inline KSPIN_LOCK register_spin_lock(const KSPIN_LOCK* lock) {
    name_object(lock, "lock");
    return lock_checks_enabled() ? spin_lock_initialised(this_processor(), lock) : 0;
}

/// Returns the word that marks a spin lock as free when it is released.
inline KSPIN_LOCK free_word_of(const KSPIN_LOCK* lock) {
    return lock_checks_enabled() ? mark_of_lock(lock) : 0;
}

} // namespace irpverbs::dispatch::detail
