#include "hooks.hpp"

#include "lock_graph.hpp"
#include "lock_registry.hpp"
#include "processor_checks.hpp"
#include "queue_handles.hpp"
#include "verifier_rules.hpp"

#include <dispatch/machine.hpp>
#include <dispatch/support/checks.hpp>
#include <dispatch/support/locals.hpp>

#include <algorithm>

namespace irpverbs::dispatch::detail {
namespace {

constexpr std::uint32_t all_lock_checks = static_cast<std::uint32_t>(check::locks) |
                                          static_cast<std::uint32_t>(check::deadlocks) |
                                          static_cast<std::uint32_t>(check::lock_initialisation) |
                                          static_cast<std::uint32_t>(check::release_order);

lock_graph& graph_of(processor& self) { return records_of<lock_graph>(*self.owner); }

held_lock* find_held(verifier_state& state, const void* lock) {
    const auto found = std::find_if(state.held.rbegin(), state.held.rend(),
                                    [=](const held_lock& each) { return each.lock == lock; });
    return found != state.held.rend() ? &*found : nullptr;
}

void remove_held(verifier_state& state, const void* lock) {
    if (const held_lock* mine = find_held(state, lock))
        state.held.erase(state.held.begin() + (mine - state.held.data()));
}

void report_with(finding found, const char* label, const call_stack& where) {
    found.add_stack(label, where);
    report(found);
}

// True for a spin lock that KeInitializeSpinLock should have initialized. A reader-writer lock has
// no such function: it is zeroed. A machine's own lock needs none either: it is initialized with
// the machine.
bool needs_initialization(const processor& self, const acquisition& how) {
    return (how.kind == lock_kind::spin || how.kind == lock_kind::queued) &&
           how.lock != &self.owner->cancel_spin_lock;
}

void check_use(processor& self, const acquisition& how, const lock_identity& lock) {
    if (lock.mixed && enabled(check::locks))
        report(make_finding(verifier_rules::LockAcquireApi,
                            std::string("a lock is acquired as a ") + name_of(how.kind) +
                                " that was used with other functions before",
                            as_parameter(how.lock), self.number));
    if (!lock.initialised && needs_initialization(self, how) && enabled(check::lock_initialisation))
        report(make_finding(verifier_rules::LockUninitialised,
                            "a spin lock is acquired that KeInitializeSpinLock never saw",
                            as_parameter(how.lock), self.number));
}

// Reports a processor that acquires a lock that it holds: it waits for itself for ever, or, when
// both acquisitions are shared, while a writer waits in between.
void check_recursion(processor& self, const acquisition& how, const held_lock& mine) {
    const bool recursive = how.kind == lock_kind::shared && mine.kind == lock_kind::shared;
    const std::string text =
        std::string("a ") + name_of(how.kind) +
        (recursive ? " is acquired shared by the processor that holds it shared: a writer that "
                     "waits in between deadlocks with it"
                   : " is acquired by the processor that holds it");
    const bool queued = how.kind == lock_kind::queued;
    if (enabled(check::deadlocks))
        report_with(
            make_finding(verifier_rules::SelfDeadlock, text, as_parameter(how.lock), self.number),
            "held since", mine.where);
    else if (enabled(check::locks))
        report_with(make_finding(queued ? verifier_rules::QueuedSpinLock : verifier_rules::SpinLock,
                                 text, as_parameter(how.lock), self.number),
                    "held since", mine.where);
    if (is_spin_lock(how.kind) && !recursive)
        bug_check(SPIN_LOCK_ALREADY_OWNED, "a spin lock is acquired by the processor that holds it",
                  as_parameter(how.lock));
}

// Reports a handle that is another entry in a queue already: both users wait on one place, and the
// first release gives both of them the lock.
void check_handle(processor& self, const acquisition& how, const lock_holder& user) {
    if (how.handle == nullptr || !enabled(check::locks)) return;
    const std::optional<lock_holder> other = queue_handles::of(self).begin(how.handle, user);
    if (other)
        report_with(make_finding(verifier_rules::QueueHandleInUse,
                                 "an in-stack queued lock is acquired with the queue handle that "
                                 "processor " +
                                     std::to_string(other->who->number) + " uses",
                                 as_parameter(how.handle), as_parameter(how.lock), self.number),
                    "in use since", other->since);
}

void check_order_of_waits(processor& self, const verifier_state& state, const acquisition& how,
                          const lock_identity& lock, const call_stack& where) {
    if (!lock.stable || !enabled(check::deadlocks)) return;
    if (state.held.empty() && how.kind != lock_kind::exclusive) return; // no cycle can close
    const std::optional<finding> cycle =
        graph_of(self).wait_for(state.held, {how.lock, lock.id, how.kind}, where, self.number);
    if (cycle) report(*cycle);
}

void forget(processor& self, const held_lock& released) {
    lock_registry::get().released(released.lock);
    if (released.handle != nullptr) queue_handles::of(self).end(released.handle);
}

void report_not_held(processor& self, const void* lock, lock_kind kind, bool is_free) {
    const std::optional<lock_holder> holder = lock_registry::get().holder_of(lock);
    if (holder && holder->who != &self) {
        report_with(make_finding(verifier_rules::LockWrongThread,
                                 std::string("a ") + name_of(kind) +
                                     " is released that processor " +
                                     std::to_string(holder->who->number) + " holds",
                                 as_parameter(lock), self.number, holder->who->number),
                    "held since", holder->since);
    } else if (is_free) {
        const rule& which = kind == lock_kind::queued ? verifier_rules::QueuedSpinLockRelease
                            : is_spin_lock(kind)      ? verifier_rules::SpinlockRelease
                                                      : verifier_rules::LockNotAcquired;
        report(make_finding(which,
                            std::string("a ") + name_of(kind) + " is released that has no holder",
                            as_parameter(lock), self.number));
    }
}

// The newest spin lock, unless it is `mine`.
const held_lock* newer_spin_lock(const verifier_state& state, const held_lock& mine) {
    const auto newest =
        std::find_if(state.held.rbegin(), state.held.rend(), [&](const held_lock& each) {
            return each.lock == mine.lock || is_spin_lock(each.kind);
        });
    return newest != state.held.rend() && newest->lock != mine.lock ? &*newest : nullptr;
}

void check_order(processor& self, const verifier_state& state, const held_lock& mine,
                 std::optional<KIRQL> to) {
    const held_lock* other = nullptr;
    if (to && *to < DISPATCH_LEVEL)
        other = first_held_spin_lock(self, mine.lock);
    else if (enabled(check::release_order))
        other = newer_spin_lock(state, mine);
    if (other == nullptr || !is_spin_lock(mine.kind)) return;
    finding found = make_finding(
        verifier_rules::LockReleaseOrder,
        to && *to < DISPATCH_LEVEL
            ? "a spin lock is released to an IRQL below DISPATCH_LEVEL while another is held"
            : "spin locks are released in another order than the reverse",
        as_parameter(mine.lock), as_parameter(other->lock), self.number);
    found.add_stack("released lock held since", mine.where);
    found.add_stack("other lock held since", other->where);
    report(found);
}

void check_hold_time(processor& self, const held_lock& mine) {
    if (mine.since == no_deadline || !enabled(check::watchdog) || !is_spin_lock(mine.kind)) return;
    const std::uint64_t limit = settings.raised_limit.load(std::memory_order_relaxed);
    const std::uint64_t held =
        without(self.owner->interrupt_time() - mine.since, injected_delays(*self.owner));
    if (held <= limit) return;
    report_with(make_finding(verifier_rules::RaisedTooLong,
                             "a spin lock was held for " + std::to_string(held / 10'000) + " ms",
                             static_cast<ULONG_PTR>(held), static_cast<ULONG_PTR>(limit)),
                "held since", mine.where);
}

void report_held(processor& self, const void* lock, const std::optional<lock_holder>& holder) {
    if (!holder || !enabled(check::locks)) return;
    report_with(make_finding(verifier_rules::LockReinitialised,
                             "a lock is initialised anew while processor " +
                                 std::to_string(holder->who->number) + " holds it",
                             as_parameter(lock), self.number),
                "held since", holder->since);
}

} // namespace

bool lock_checks_enabled() noexcept {
    return enabled(all_lock_checks | static_cast<std::uint32_t>(check::watchdog));
}

void lock_requested(processor& self, const acquisition& how, const call_stack& where) {
    check_freed_use(how.lock, "a lock is acquired");
    verifier_state& state = verifier_state_of(self);
    const lock_identity lock = lock_registry::get().identify(how.lock, how.kind);
    check_use(self, how, lock);
    if (!how.waits) return;
    if (const held_lock* mine = find_held(state, how.lock))
        return check_recursion(self, how, *mine);
    check_order_of_waits(self, state, how, lock, where);
    check_handle(self, how, {&self, how.kind, state.epoch, where});
}

void lock_acquired(processor& self, const acquisition& how, const call_stack& where) {
    lock_registry& registry = lock_registry::get();
    const lock_identity lock = registry.identify(how.lock, how.kind);
    verifier_state& state = verifier_state_of(self);
    registry.acquired(how.lock, {&self, how.kind, state.epoch, where});
    held_lock held;
    held.lock = how.lock;
    held.kind = how.kind;
    held.to_dpc = how.to_dpc;
    held.handle = how.handle;
    held.where = where;
    if (lock.stable && enabled(check::deadlocks))
        held.node = graph_of(self).node_of({how.lock, lock.id, how.kind});
    if (enabled(check::watchdog)) held.since = self.owner->interrupt_time();
    state.held.push_back(held);
}

void lock_converted(processor& self, const void* lock, lock_kind kind) {
    if (held_lock* mine = find_held(verifier_state_of(self), lock)) mine->kind = kind;
}

void lock_released(processor& self, const void* lock, lock_kind kind, bool is_free,
                   std::optional<KIRQL> to) {
    verifier_state& state = verifier_state_of(self);
    const held_lock* found = find_held(state, lock);
    if (found == nullptr) {
        if (enabled(check::locks)) report_not_held(self, lock, kind, is_free);
        return;
    }
    const held_lock mine = *found; // a copy, since each report may change or clear the records
    if (mine.kind != kind && enabled(check::locks))
        report_with(make_finding(verifier_rules::LockReleaseApi,
                                 std::string("a ") + name_of(mine.kind) + " is released as a " +
                                     name_of(kind),
                                 as_parameter(lock), self.number),
                    "held since", mine.where);
    if (enabled(check::locks)) check_order(self, state, mine, to);
    check_hold_time(self, mine);
    remove_held(verifier_state_of(self), lock);
    forget(self, mine);
}

void lock_initialised(processor& self, const void* lock) {
    report_held(self, lock, lock_registry::get().add(lock));
}

KSPIN_LOCK spin_lock_initialised(processor& self, const KSPIN_LOCK* lock) {
    report_held(self, lock, lock_registry::get().add_marked(lock));
    return mark_of_lock(lock);
}

KSPIN_LOCK mark_of_lock(const KSPIN_LOCK* lock) { return lock_registry::get().mark_of(lock); }

void check_wait_with_locks(processor& self, const char* function) {
    if (!enabled(check::locks)) return;
    const held_lock* held = first_held_spin_lock(self);
    if (held == nullptr) return;
    report_with(make_finding(verifier_rules::SpinLock,
                             std::string(function) + " waits with a spin lock held",
                             as_parameter(held->lock), self.number),
                "held since", held->where);
}

void check_locks_at_thread_end(processor& self) {
    verifier_state& state = verifier_state_of(self);
    const std::vector<held_lock> left = std::move(state.held);
    state.held.clear();
    for (const held_lock& each : left) {
        forget(self, each);
        if (enabled(check::locks))
            report_with(
                make_finding(verifier_rules::LockThreadExit,
                             std::string("a thread ends that holds a ") + name_of(each.kind),
                             as_parameter(each.lock), self.number),
                "held since", each.where);
    }
}

} // namespace irpverbs::dispatch::detail
