#include <dispatch/machine.hpp>
#include <dispatch/support/processor.hpp>
#include <dispatch/support/spin.hpp>

namespace irpverbs::dispatch::detail {

namespace {

bool is_locked(const void* flag) {
    return static_cast<const std::atomic<bool>*>(flag)->load(std::memory_order_relaxed);
}

} // namespace

void machine_spin_lock::wait_and_lock() noexcept {
    processor* self = current;
    unsigned turn = 0;
    while (!try_lock())
        for (; is_locked(&locked_); ++turn) {
            if (self != nullptr)
                self->owner->spin(*self, is_locked, &locked_, turn);
            else
                spin_turn(turn);
        }
}

} // namespace irpverbs::dispatch::detail
