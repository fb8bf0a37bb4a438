#include "processor_checks.hpp"

#include "hooks.hpp"
#include "lock_registry.hpp"

#include <algorithm>

namespace irpverbs::dispatch::detail {

std::atomic<std::uint32_t> check_epoch{0};

verifier_state& verifier_state_of(processor& self) {
    if (self.verifier == nullptr) self.verifier = new verifier_state;
    const std::uint32_t now = check_epoch.load(std::memory_order_relaxed);
    if (self.verifier->epoch != now) {
        *self.verifier = {};
        self.verifier->epoch = now;
    }
    return *self.verifier;
}

// Drops the records, held locks included: a simulated run that did not finish leaves locks held for
// ever.
void drop_verifier_state(processor& gone) {
    for (const held_lock& each : held_locks(gone))
        lock_registry::get().released(each.lock);
    delete gone.verifier;
    gone.verifier = nullptr;
}

std::span<const held_lock> held_locks(processor& self) {
    if (self.verifier == nullptr) return {};
    return verifier_state_of(self).held;
}

std::size_t held_spin_locks(processor& self) {
    const std::span<const held_lock> all = held_locks(self);
    return static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [](const held_lock& each) { return is_spin_lock(each.kind); }));
}

const held_lock* first_held_spin_lock(processor& self, const void* but) {
    for (const held_lock& each : held_locks(self))
        if (is_spin_lock(each.kind) && each.lock != but) return &each;
    return nullptr;
}

} // namespace irpverbs::dispatch::detail
