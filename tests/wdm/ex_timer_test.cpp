// EX_TIMER: its periods, its end, and the races of both.
#include <atomic>
#include <gtest/gtest.h>
#include <irp/testing/explore.hpp>

#include <ntddk.h>

namespace {

using irpverbs::dispatch::explore_options;
using irpverbs::dispatch::explore_summary;
using irpverbs::dispatch::sim_machine;

constexpr LONGLONG ms = 10'000;

/// A timer's callback and its end.
struct counted {
    std::atomic<int> calls{0};
    std::atomic<int> ends{0};

    static void call(PEX_TIMER, PVOID context) {
        EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
        ++static_cast<counted*>(context)->calls;
    }
    static void end(PVOID context) { ++static_cast<counted*>(context)->ends; }
    EXT_DELETE_PARAMETERS parameters() {
        EXT_DELETE_PARAMETERS all;
        ExInitializeDeleteTimerParameters(&all);
        all.DeleteCallback = end;
        all.DeleteContext = this;
        return all;
    }
};

template <class Body>
void explore(const Body& body) {
    explore_options options;
    options.random_runs = 400;
    options.pct_runs = 400;
    const explore_summary summary = irpverbs::irp::explore(options, body);
    EXPECT_FALSE(summary.failure) << summary.text();
}

TEST(ExTimer, Periods_AreRoundedUpAndEndWithTheCancellation) {
    explore([](sim_machine& sim) {
        counted seen;
        sim.spawn("driver", [&] {
            PEX_TIMER const timer = ExAllocateTimer(counted::call, &seen, 0);
            EXPECT_FALSE(ExSetTimer(timer, -ms, ms / 2, nullptr));
            while (seen.calls < 3)
                KeWaitForSingleObject(timer, Executive, KernelMode, FALSE, nullptr);
            EXPECT_TRUE(ExCancelTimer(timer, nullptr));
            EXPECT_FALSE(ExCancelTimer(timer, nullptr));
            EXPECT_FALSE(ExDeleteTimer(timer, TRUE, TRUE, nullptr));
        });
        EXPECT_TRUE(sim.run());
    });
}

TEST(ExTimer, DeletedWhileItFires_EndsOnceAfterTheCallback) {
    for (const bool waits : {false, true})
        explore([waits](sim_machine& sim) {
            counted seen;
            PEX_TIMER const timer = ExAllocateTimer(counted::call, &seen, 0);
            ExSetTimer(timer, -1, 0, nullptr);
            sim.spawn("driver", [&] {
                EXT_DELETE_PARAMETERS parameters = seen.parameters();
                const BOOLEAN cancelled = ExDeleteTimer(timer, TRUE, waits, &parameters);
                if (!waits) return;
                EXPECT_EQ(seen.ends, 1);
                EXPECT_EQ(seen.calls, cancelled ? 0 : 1);
            });
            EXPECT_TRUE(sim.run());
            EXPECT_EQ(seen.ends, 1);
        });
}

TEST(ExTimer, DeletedWithoutCancellation_FiresFirst) {
    explore([](sim_machine& sim) {
        counted seen;
        sim.spawn("driver", [&] {
            PEX_TIMER const timer = ExAllocateTimer(counted::call, &seen, 0);
            EXT_DELETE_PARAMETERS parameters = seen.parameters();
            ExSetTimer(timer, -ms, 0, nullptr);
            EXPECT_FALSE(ExDeleteTimer(timer, FALSE, FALSE, &parameters));
        });
        EXPECT_TRUE(sim.run());
        EXPECT_EQ(seen.calls, 1);
        EXPECT_EQ(seen.ends, 1);
    });
}

TEST(ExTimer, NeverSet_IsDeletedAtOnce) {
    explore([](sim_machine& sim) {
        counted seen;
        sim.spawn("driver", [&] {
            EXT_DELETE_PARAMETERS parameters = seen.parameters();
            ExDeleteTimer(ExAllocateTimer(nullptr, nullptr, EX_TIMER_NOTIFICATION), FALSE, FALSE,
                          &parameters);
        });
        EXPECT_TRUE(sim.run());
        EXPECT_EQ(seen.ends, 1);
    });
}

} // namespace
