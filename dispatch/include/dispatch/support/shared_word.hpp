// Words of memory that two processes share.
#pragma once

#include <dispatch/support/processor.hpp>

#include <atomic>
#include <cstdint>

namespace irpverbs::dispatch::detail {

/// A word that a process writes and another one reads. In a simulated run other actors may run
/// before each access, and a store may be visible to them later (testing/store_buffers.hpp).
class shared_word {
public:
    std::uint64_t load(std::memory_order order) const {
        return instrumented() ? load_slow(order) : value_.load(order);
    }
    void store(std::uint64_t value, std::memory_order order) {
        if (instrumented())
            store_slow(value, order);
        else
            value_.store(value, order);
    }

private:
    NT_API std::uint64_t load_slow(std::memory_order order) const;
    NT_API void store_slow(std::uint64_t value, std::memory_order order);

    std::atomic<std::uint64_t> value_;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

NT_API void shared_fence_slow();
/// Stands between a store to one word and a load of another: the store is visible before the load.
inline void shared_fence() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (instrumented()) shared_fence_slow();
}

} // namespace irpverbs::dispatch::detail
