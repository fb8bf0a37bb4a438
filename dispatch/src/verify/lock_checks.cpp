#include "lock_checks.hpp"

#include "broken_rules.hpp"
#include "lock_graph.hpp"
#include "lock_registry.hpp"

#include <dispatch/detail/checks.hpp>
#include <dispatch/machine.hpp>

#include <algorithm>

namespace irpverbs::dispatch::detail {
namespace {

constexpr std::uint32_t all_watches = static_cast<std::uint32_t>(watch::locks) |
                                      static_cast<std::uint32_t>(watch::deadlocks) |
                                      static_cast<std::uint32_t>(watch::lock_initialisation) |
                                      static_cast<std::uint32_t>(watch::release_order);

lock_graph& graph_of(processor& self) {
    return ledger_of<lock_graph>(*self.owner, ledger_slot::locks);
}

held_lock* find_held(verifier_state& state, const void* lock) {
    const auto found = std::find_if(state.held.rbegin(), state.held.rend(),
                                    [=](const held_lock& each) { return each.lock == lock; });
    return found != state.held.rend() ? &*found : nullptr;
}

void forget_held(verifier_state& state, const void* lock) {
    if (const held_lock* mine = find_held(state, lock))
        state.held.erase(state.held.begin() + (mine - state.held.data()));
}

void report_with(finding found, const char* label, const call_stack& where) {
    found.keep(label, where);
    report(found);
}

// True for a spin lock that KeInitializeSpinLock should have initialized. A reader-writer lock has
// no such function: it is zeroed. A machine's own lock needs none either: it is initialized with
// the machine.
bool needs_its_function(const processor& self, const acquisition& how) {
    return (how.kind == lock_kind::spin || how.kind == lock_kind::queued) &&
           how.lock != &self.owner->system_lock;
}

void check_use(processor& self, const acquisition& how, const lock_identity& lock) {
    if (lock.mixed && watching(watch::locks))
        report(broken(rule_of::LockAcquireApi,
                      std::string("a lock is acquired as a ") + name_of(how.kind) +
                          " that was used with other functions before",
                      number(how.lock), self.number));
    if (!lock.initialised && needs_its_function(self, how) && watching(watch::lock_initialisation))
        report(broken(rule_of::LockUninitialised,
                      "a spin lock is acquired that KeInitializeSpinLock never saw",
                      number(how.lock), self.number));
}

// Reports a processor that acquires a lock that it holds: it waits for itself for ever, or, when
// both acquisitions are shared, while a writer waits in between.
void check_twice(processor& self, const acquisition& how, const held_lock& mine) {
    const bool recursive = how.kind == lock_kind::shared && mine.kind == lock_kind::shared;
    const std::string text =
        std::string("a ") + name_of(how.kind) +
        (recursive ? " is acquired shared by the processor that holds it shared: a writer that "
                     "waits in between deadlocks with it"
                   : " is acquired by the processor that holds it");
    const bool queued = how.kind == lock_kind::queued;
    if (watching(watch::deadlocks))
        report_with(broken(rule_of::SelfDeadlock, text, number(how.lock), self.number),
                    "held since", mine.where);
    else if (watching(watch::locks))
        report_with(broken(queued ? rule_of::QueuedSpinLock : rule_of::SpinLock, text,
                           number(how.lock), self.number),
                    "held since", mine.where);
    if (is_spin_lock(how.kind) && !recursive)
        bug_check(SPIN_LOCK_ALREADY_OWNED, "a spin lock is acquired by the processor that holds it",
                  number(how.lock));
}

void report_not_held(processor& self, const void* lock, lock_kind kind, bool is_free) {
    const std::optional<lock_holder> holder = lock_registry::get().holder_of(lock);
    if (holder && holder->who != &self) {
        report_with(broken(rule_of::LockWrongThread,
                           std::string("a ") + name_of(kind) + " is released that processor " +
                               std::to_string(holder->who->number) + " holds",
                           number(lock), self.number, holder->who->number),
                    "held since", holder->since);
    } else if (is_free) {
        const rule& which = kind == lock_kind::queued ? rule_of::QueuedSpinLockRelease
                            : is_spin_lock(kind)      ? rule_of::SpinlockRelease
                                                      : rule_of::LockNotAcquired;
        report(broken(which, std::string("a ") + name_of(kind) + " is released that nobody holds",
                      number(lock), self.number));
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
    else if (watching(watch::release_order))
        other = newer_spin_lock(state, mine);
    if (other == nullptr || !is_spin_lock(mine.kind)) return;
    finding found =
        broken(rule_of::LockReleaseOrder,
               to && *to < DISPATCH_LEVEL
                   ? "a spin lock is released to an IRQL below DISPATCH_LEVEL while another is held"
                   : "spin locks are released in another order than the reverse",
               number(mine.lock), number(other->lock), self.number);
    found.keep("released lock held since", mine.where);
    found.keep("other lock held since", other->where);
    report(found);
}

void check_time(processor& self, const held_lock& mine) {
    if (mine.since == no_deadline || !watching(watch::watchdog) || !is_spin_lock(mine.kind)) return;
    const std::uint64_t limit = settings.raised_limit.load(std::memory_order_relaxed);
    const std::uint64_t held = self.owner->interrupt_time() - mine.since;
    if (held <= limit) return;
    report_with(broken(rule_of::RaisedTooLong,
                       "a spin lock was held for " + std::to_string(held / 10'000) + " ms",
                       static_cast<ULONG_PTR>(held), static_cast<ULONG_PTR>(limit)),
                "held since", mine.where);
}

void report_held(processor& self, const void* lock, const std::optional<lock_holder>& holder) {
    if (!holder || !watching(watch::locks)) return;
    report_with(broken(rule_of::LockReinitialised,
                       "a lock is initialised anew while processor " +
                           std::to_string(holder->who->number) + " holds it",
                       number(lock), self.number),
                "held since", holder->since);
}

} // namespace

bool watching_locks() noexcept {
    return watching(all_watches | static_cast<std::uint32_t>(watch::watchdog));
}

void lock_wanted(processor& self, const acquisition& how, const call_stack& where) {
    verifier_state& state = checks_of(self);
    const lock_identity lock = lock_registry::get().meet(how.lock, how.kind);
    check_use(self, how, lock);
    if (!how.waits) return;
    if (const held_lock* mine = find_held(state, how.lock)) return check_twice(self, how, *mine);
    if (!lock.stable || !watching(watch::deadlocks)) return;
    if (state.held.empty() && how.kind != lock_kind::exclusive) return; // no cycle can close
    const std::optional<finding> cycle =
        graph_of(self).wait_for(state.held, {how.lock, lock.id, how.kind}, where, self.number);
    if (cycle) report(*cycle);
}

void lock_acquired(processor& self, const acquisition& how, const call_stack& where) {
    lock_registry& registry = lock_registry::get();
    const lock_identity lock = registry.meet(how.lock, how.kind);
    verifier_state& state = checks_of(self);
    registry.taken(how.lock, {&self, how.kind, state.epoch, where});
    held_lock held;
    held.lock = how.lock;
    held.kind = how.kind;
    held.to_dpc = how.to_dpc;
    held.where = where;
    if (lock.stable && watching(watch::deadlocks))
        held.node = graph_of(self).node_of({how.lock, lock.id, how.kind});
    if (watching(watch::watchdog)) held.since = self.owner->interrupt_time();
    state.held.push_back(held);
}

void lock_converted(processor& self, const void* lock, lock_kind kind) {
    if (held_lock* mine = find_held(checks_of(self), lock)) mine->kind = kind;
}

void lock_released(processor& self, const void* lock, lock_kind kind, bool is_free,
                   std::optional<KIRQL> to) {
    verifier_state& state = checks_of(self);
    const held_lock* found = find_held(state, lock);
    if (found == nullptr) {
        if (watching(watch::locks)) report_not_held(self, lock, kind, is_free);
        return;
    }
    const held_lock mine = *found; // a copy, since each report may change or clear the records
    if (mine.kind != kind && watching(watch::locks))
        report_with(
            broken(rule_of::LockReleaseApi,
                   std::string("a ") + name_of(mine.kind) + " is released as a " + name_of(kind),
                   number(lock), self.number),
            "held since", mine.where);
    if (watching(watch::locks)) check_order(self, state, mine, to);
    check_time(self, mine);
    forget_held(checks_of(self), lock);
    lock_registry::get().dropped(lock);
}

void lock_initialised(processor& self, const void* lock) {
    report_held(self, lock, lock_registry::get().begin(lock));
}

KSPIN_LOCK spin_lock_initialised(processor& self, const KSPIN_LOCK* lock) {
    report_held(self, lock, lock_registry::get().begin_marked(lock));
    return mark_of_lock(lock);
}

KSPIN_LOCK mark_of_lock(const KSPIN_LOCK* lock) { return lock_registry::get().mark_of(lock); }

void wait_with_locks(processor& self, const char* function) {
    if (!watching(watch::locks)) return;
    const held_lock* held = first_held_spin_lock(self);
    if (held == nullptr) return;
    report_with(broken(rule_of::SpinLock, std::string(function) + " waits with a spin lock held",
                       number(held->lock), self.number),
                "held since", held->where);
}

void thread_ends_with_locks(processor& self) {
    verifier_state& state = checks_of(self);
    const std::vector<held_lock> left = std::move(state.held);
    state.held.clear();
    for (const held_lock& each : left) {
        lock_registry::get().dropped(each.lock);
        if (watching(watch::locks))
            report_with(broken(rule_of::LockThreadExit,
                               std::string("a thread ends that holds a ") + name_of(each.kind),
                               number(each.lock), self.number),
                        "held since", each.where);
    }
}

} // namespace irpverbs::dispatch::detail
