// Threads that start each round together, with random offsets of a few nanoseconds.
#pragma once

#include <dispatch/ke.h>
#include <dispatch/machine.hpp>

#include <atomic>
#include <barrier>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace irpverbs::testing {

/// In each round, calls all `roles` at the same time, each on its own thread, which is attached to
/// `machine`; then calls `check` while the threads wait.
inline void run_concurrent_rounds(dispatch::machine& machine, int rounds,
                                  const std::vector<std::function<void(int round)>>& roles,
                                  const std::function<void(int round)>& check) {
    int round = 0;
    std::barrier begin(static_cast<std::ptrdiff_t>(roles.size()));
    const auto between = [&]() noexcept {
        check(round);
        ++round;
    };
    std::barrier end(static_cast<std::ptrdiff_t>(roles.size()), between);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < roles.size(); ++i)
        threads.emplace_back([&, i] {
            const dispatch::machine::scope inside(machine);
            std::uint64_t chance = i + 1;
            for (int turn = 0; turn < rounds; ++turn) {
                begin.arrive_and_wait();
                chance = chance * 6364136223846793005u + 1442695040888963407u;
                for (std::uint64_t spin = chance >> 57; spin > 0; --spin) // 0..127 turns apart
                    std::atomic_signal_fence(std::memory_order_seq_cst);
                roles[i](turn);
                end.arrive_and_wait();
            }
        });
    for (std::thread& each : threads)
        each.join();
}

} // namespace irpverbs::testing
