#include "hooks.hpp"

#include "processor_checks.hpp"

#include <dispatch/machine.hpp>
#include <dispatch/sim_machine.hpp>
#include <dispatch/support/verify.hpp>

namespace irpverbs::dispatch::detail {
namespace {

// Delays from 0.1 us to 100 us; each doubling is as likely as the one before.
constexpr std::uint64_t doublings = 11;

bool is_blocking_point(point kind) {
    switch (kind) {
    case point::lock_acquire:
    case point::lock_release:
    case point::wait:
    case point::signal:
    case point::cancel_exchange:
        return true;
    default:
        return false;
    }
}

} // namespace

void maybe_delay(processor& self, point kind) {
    machine& owner = *self.owner;
    if (owner.simulated() || !is_blocking_point(kind)) return;
    if (!owner.fires("delay", settings.delay_one_in.load(std::memory_order_relaxed))) return;
    owner.stall(self, std::uint64_t{1} << owner.random() % doublings);
}

std::uint64_t injected_delays(machine& where) {
    return where.simulated() ? static_cast<sim_machine&>(where).delayed_time() : 0;
}

} // namespace irpverbs::dispatch::detail
