// Threads of the real machine park and are unparked.
#include <dispatch/asio_machine.hpp>
#include <dispatch/support/processor.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace {

using namespace irpverbs::dispatch;

constexpr std::uint64_t second = 10'000'000;

// Two unparks follow each other so closely that the second often arrives while the first is being
// consumed. At its deadline the sleeper checks whether both were sent and one was lost.
class ProcessorParkStress : public ::testing::Test {
protected:
    static constexpr int rounds = 100'000;

    void be_woken() {
        const machine::scope inside(machine_);
        detail::processor& self = detail::this_processor();
        sleeper_ = &self;
        for (int round = 1; round <= rounds; ++round) {
            while (first_.load(std::memory_order_relaxed) != round ||
                   second_.load(std::memory_order_relaxed) != round)
                if (!woken(self, round)) {
                    lost_ = round;
                    over_ = true;
                    return;
                }
            done_.store(round, std::memory_order_release);
        }
        over_ = true;
    }
    bool woken(detail::processor& self, int round) {
        for (;;) {
            if (machine_.park(self, machine_.interrupt_time() + second)) return true;
            const bool both_came = woken_twice_.load(std::memory_order_acquire) == round;
            if (both_came && !machine_.park(self, machine_.interrupt_time())) return false;
        }
    }
    void wake() {
        while (sleeper_ == nullptr)
            std::this_thread::yield();
        std::uint32_t chance = 1;
        for (int round = 1; round <= rounds && !over_; ++round) {
            first_.store(round, std::memory_order_relaxed);
            machine_.unpark(*sleeper_);
            chance = chance * 1664525u + 1013904223u;
            for (std::uint32_t spin = chance >> 20; spin > 0; --spin) // 0 to 4095 turns
                std::atomic_signal_fence(std::memory_order_seq_cst);
            second_.store(round, std::memory_order_relaxed);
            machine_.unpark(*sleeper_);
            woken_twice_.store(round, std::memory_order_release);
            while (done_.load(std::memory_order_acquire) != round && !over_)
                std::this_thread::yield();
        }
    }

    asio_machine machine_{{.processors = 1}};
    std::atomic<detail::processor*> sleeper_{nullptr};
    std::atomic<int> first_{0}, second_{0}, woken_twice_{0}, done_{0}, lost_{0};
    std::atomic<bool> over_{false};
};

TEST_F(ProcessorParkStress, UnparkRacesWithPark_NoWakeLost) {
    std::thread sleeper([this] { be_woken(); });
    wake();
    sleeper.join();
    EXPECT_EQ(lost_, 0);
}

} // namespace
