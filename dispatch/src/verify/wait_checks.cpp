#include "hooks.hpp"

#include "verifier_rules.hpp"
#include "wait/waiting.hpp"

#include <dispatch/support/machine_hooks.hpp>

#include <algorithm>

namespace irpverbs::dispatch::detail {
namespace {

bool owned_by(const DISPATCHER_HEADER& object, const processor& self) {
    const auto& mutex = reinterpret_cast<const KMUTANT&>(object);
    return __atomic_load_n(&mutex.OwnerThread, __ATOMIC_RELAXED) == self.thread;
}

bool is_recorded(processor& self, const void* lock) {
    const std::span<const held_lock> held = held_locks(self);
    return std::any_of(held.begin(), held.end(),
                       [=](const held_lock& each) { return each.lock == lock; });
}

} // namespace

void wait_checks::before(const char* function) {
    for (const KWAIT_BLOCK& each : blocks_)
        check_freed_use(each.Object, "an object is waited for");
    check_wait_irql(self_, function, !is_poll(), timeout_ == nullptr);
    if (!is_poll()) check_wait_with_locks(self_, function);
    if (blocks_.size() == 1 && timeout_ == nullptr) notify_wait(blocks_[0].Object);
    if (!lock_checks_enabled()) return;
    const call_stack where = capture_stack(1, 16);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        const DISPATCHER_HEADER& object = *blocks_[i].Object;
        if (object.Type != mutant_object) continue;
        mutexes_ |= std::uint64_t{1} << i;
        if (!owned_by(object, self_))
            lock_requested(self_, {&object, lock_kind::mutex, all_ && timeout_ == nullptr}, where);
    }
}

void wait_checks::after(NTSTATUS status) const {
    if (blocks_.size() == 1 && timeout_ == nullptr) notify_wait(nullptr);
    if (mutexes_ == 0 || status == STATUS_TIMEOUT) return;
    const call_stack where = capture_stack(1, 16);
    if (all_) {
        for (std::size_t i = 0; i < blocks_.size(); ++i)
            record_acquired(i, where);
        return;
    }
    const auto index = static_cast<std::size_t>(
        status >= STATUS_ABANDONED_WAIT_0 ? status - STATUS_ABANDONED_WAIT_0 : status);
    if (index < blocks_.size()) record_acquired(index, where);
}

// A mutex that is acquired again is recorded already.
void wait_checks::record_acquired(std::size_t which, const call_stack& where) const {
    if ((mutexes_ >> which & 1) == 0) return;
    DISPATCHER_HEADER* object = blocks_[which].Object;
    if (owned_by(*object, self_) && !is_recorded(self_, object))
        lock_acquired(self_, {object, lock_kind::mutex}, where);
}

void check_event_wait(processor& self) {
    if (self.irql <= APC_LEVEL || !enabled(check::irql)) return;
    report(make_finding(verifier_rules::IrqlKeSetEvent,
                        "KeSetEvent is called with Wait above APC_LEVEL, where no wait may follow",
                        self.irql, APC_LEVEL));
}

void mutex_released(processor& self, const KMUTANT& mutex) {
    if (!lock_checks_enabled()) return;
    const bool mine = owned_by(mutex.Header, self);
    if (mine && mutex.Header.SignalState != 0)
        return; // the mutex was acquired more than once and
                // stays acquired
    const bool is_free = __atomic_load_n(&mutex.OwnerThread, __ATOMIC_RELAXED) == nullptr;
    lock_released(self, &mutex, lock_kind::mutex, is_free);
}

} // namespace irpverbs::dispatch::detail
