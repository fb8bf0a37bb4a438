#include <dispatch/detail/processor.hpp>
#include <dispatch/detail/spin.hpp>
#include <dispatch/machine.hpp>

namespace irpverbs::dispatch::detail {

namespace {

bool is_taken(const void* flag) {
    return static_cast<const std::atomic<bool>*>(flag)->load(std::memory_order_relaxed);
}

} // namespace

void machine_spin::wait_and_lock() noexcept {
    processor* self = current;
    unsigned turn = 0;
    while (!try_lock())
        for (; is_taken(&taken_); ++turn) {
            if (self != nullptr)
                self->owner->spin(*self, is_taken, &taken_, turn);
            else
                spin_turn(turn);
        }
}

} // namespace irpverbs::dispatch::detail
