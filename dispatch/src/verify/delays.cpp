#include "delays.hpp"

#include <dispatch/detail/verify.hpp>
#include <dispatch/machine.hpp>

namespace irpverbs::dispatch::detail {
namespace {

// Delays from 0.1 us to 100 us; each doubling is as likely as the one before.
constexpr std::uint64_t doublings = 11;

bool is_a_place_to_wait(point kind) {
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

void delay_sometimes(processor& self, point kind) {
    machine& owner = *self.owner;
    if (owner.simulated() || !is_a_place_to_wait(kind)) return;
    if (!owner.fires("delay", settings.delay_one_in.load(std::memory_order_relaxed))) return;
    owner.stall(self, std::uint64_t{1} << owner.random() % doublings);
}

} // namespace irpverbs::dispatch::detail
