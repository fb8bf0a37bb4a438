#include <dispatch/support/biased_spin.hpp>

#include <dispatch/machine.hpp>
#include <dispatch/support/process_barrier.hpp>

namespace irpverbs::dispatch::detail {

namespace {

// A revocation takes microseconds, and an acquisition without a bias some ten nanoseconds more.
constexpr std::uint32_t real_threshold = 256;
constexpr std::uint32_t simulated_threshold = 2;

bool is_inside(const void* favoured) {
    return static_cast<const processor*>(favoured)->in_biased_lock.load(std::memory_order_acquire);
}

} // namespace

void biased_spin::allow_bias(machine& owner) {
    real_ = !owner.simulated();
    threshold_ = real_ ? real_threshold : simulated_threshold;
    if (!real_ || prepare_process_barrier()) machine_ = &owner;
}

// After the barrier either the favoured processor reads that it is not favoured any more, or its
// flag is visible here.
[[gnu::cold, gnu::noinline]] void biased_spin::revoke() noexcept {
    processor* const before = favoured_.load(std::memory_order_relaxed);
    favoured_.store(nullptr, std::memory_order_relaxed);
    processor* const self = current;
    if (real_ && before != self) process_barrier();
    for (unsigned turn = 0; is_inside(before); ++turn) {
        if (self != nullptr)
            self->owner->spin(*self, is_inside, before, turn);
        else
            spin_turn(turn);
    }
}

void biased_spin::lock() noexcept {
    word_.lock();
    last_ = nullptr;
    if (favoured_.load(std::memory_order_relaxed) != nullptr) revoke();
}

bool biased_spin::try_lock() noexcept {
    if (!word_.try_lock()) return false;
    last_ = nullptr;
    if (favoured_.load(std::memory_order_relaxed) != nullptr) revoke();
    return true;
}

// Called after the first acquisition in a row and after the last one that is needed.
[[gnu::noinline]] void biased_spin::count_anew(processor& self) noexcept {
    if (last_ == &self && self.owner == machine_) favoured_.store(&self, std::memory_order_relaxed);
    last_ = &self;
    acquisitions_ = 1;
}

} // namespace irpverbs::dispatch::detail
