// DPCs and lock holds that last too long in machine time, and injected delays.
#include <dispatch/ke.h>

#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>
#include <support/findings.hpp>

#include <gtest/gtest.h>

namespace irpverbs::testing {
namespace {

using dispatch::sim_machine;
using dispatch::detail::check;
using dispatch::detail::settings;

constexpr ULONG seconds = 1'000'000; // in us

void stall(KDPC*, void* how_long, void*, void*) {
    KeStallExecutionProcessor(*static_cast<ULONG*>(how_long));
}

// Runs `count` DPCs without a pause, each of that length, on a simulated processor.
void run_dpcs(const findings& seen, int count, ULONG microseconds) {
    dispatch::random_choices chance(1);
    sim_machine machine(chance);
    const dispatch::machine::scope here(machine);
    const findings::on_this_machine collected(seen);
    machine.spawn("driver", [&] {
        std::vector<KDPC> dpcs(static_cast<std::size_t>(count));
        const at_dispatch_level raised;
        for (KDPC& each : dpcs) {
            KeInitializeDpc(&each, stall, &microseconds);
            KeInsertQueueDpc(&each, nullptr, nullptr);
        }
        KeLowerIrql(PASSIVE_LEVEL);
        KeRaiseIrqlToDpcLevel();
    });
    EXPECT_TRUE(machine.run()) << machine.last().report;
}

TEST(DpcTooLong, Broken_IsReported) {
    findings seen{check::watchdog};
    run_dpcs(seen, 1, 21 * seconds);
    EXPECT_TRUE(only_reported(seen, "DpcTooLong", DPC_WATCHDOG_VIOLATION, 0));
    EXPECT_EQ(seen.all()[0].parameters[1], 210'000'000u);
}

TEST(DpcTooLong, Kept_IsNotReported) {
    const findings seen{check::watchdog};
    run_dpcs(seen, 1, 19 * seconds);
    EXPECT_TRUE(nothing_reported(seen));
}

// A DPC that acquires a lock a hundred times and takes no time of its own.
void lock_often(KDPC*, void* lock, void*, void*) {
    for (int i = 0; i < 100; ++i) {
        KeAcquireSpinLockAtDpcLevel(static_cast<KSPIN_LOCK*>(lock));
        KeReleaseSpinLockFromDpcLevel(static_cast<KSPIN_LOCK*>(lock));
    }
}

// The machine's own delays are not the DPC's time.
TEST(DpcTooLongRule, DelaysOfTheMachine_AreNotCounted) {
    const auto usual = settings.dpc_limit.exchange(10);
    const auto usual_raised = settings.raised_limit.exchange(10);
    {
        const findings seen{check::watchdog};
        for (std::uint64_t seed = 0; seed < 10; ++seed) {
            dispatch::random_choices chance(seed);
            sim_machine::options options;
            options.delays = 2;
            sim_machine machine(chance, options);
            const dispatch::machine::scope here(machine);
            const findings::on_this_machine collected(seen);
            KSPIN_LOCK lock;
            KeInitializeSpinLock(&lock);
            KDPC dpc;
            KeInitializeDpc(&dpc, lock_often, &lock);
            machine.spawn("driver", [&] { KeInsertQueueDpc(&dpc, nullptr, nullptr); });
            EXPECT_TRUE(machine.run()) << machine.last().report;
        }
        EXPECT_TRUE(nothing_reported(seen));
    }
    settings.dpc_limit = usual;
    settings.raised_limit = usual_raised;
}

TEST(RaisedTooLong, Broken_IsReported) {
    findings seen{check::watchdog};
    run_dpcs(seen, 7, 19 * seconds);
    EXPECT_TRUE(only_reported(seen, "RaisedTooLong", DPC_WATCHDOG_VIOLATION, 1));
}

TEST(RaisedTooLong, Kept_IsNotReported) {
    const findings seen{check::watchdog};
    run_dpcs(seen, 6, 19 * seconds);
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(RaisedTooLongRule, SpinLockHeld121Seconds_IsReported) {
    findings seen{check::watchdog};
    dispatch::random_choices chance(1);
    sim_machine machine(chance);
    const dispatch::machine::scope here(machine);
    const findings::on_this_machine collected(seen);
    machine.spawn("driver", [] {
        KSPIN_LOCK lock;
        KeInitializeSpinLock(&lock);
        const KIRQL old = KeAcquireSpinLockRaiseToDpc(&lock);
        KeStallExecutionProcessor(121 * seconds);
        KeReleaseSpinLock(&lock, old);
    });
    EXPECT_TRUE(machine.run());
    EXPECT_TRUE(only_reported(seen, "RaisedTooLong", DPC_WATCHDOG_VIOLATION, 1));
    EXPECT_TRUE(seen.all()[0].has_stack("held since"));
}

// Returns the virtual time of a run that acquires a lock: 0 unless delays are injected.
std::uint64_t time_of_a_run(std::uint64_t seed) {
    dispatch::random_choices chance(seed);
    sim_machine::options options;
    options.delays = 0; // only the verifier injects them
    sim_machine machine(chance, options);
    machine.spawn("driver", [] {
        KSPIN_LOCK lock;
        KeInitializeSpinLock(&lock);
        for (int i = 0; i < 100; ++i)
            KeReleaseSpinLock(&lock, KeAcquireSpinLockRaiseToDpc(&lock));
    });
    EXPECT_TRUE(machine.run());
    return machine.last().time;
}

TEST(DelayInjection, EnabledInSimulator_SomeRunsLastLonger) {
    int delayed = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        EXPECT_EQ(time_of_a_run(seed), 0u);
        const checks_scope on{check::delays};
        delayed += time_of_a_run(seed) != 0;
    }
    EXPECT_GT(delayed, 0);
    EXPECT_LT(delayed, 20);
}

TEST(DelayInjection, EnabledOnRealMachine_ThreadsAreDelayed) {
    const std::uint32_t usual = settings.delay_one_in.exchange(1); // at each place
    {
        const checks_scope on{check::delays};
        KSPIN_LOCK lock;
        KeInitializeSpinLock(&lock);
        const ULONGLONG begun = KeQueryInterruptTime();
        for (int i = 0; i < 10; ++i)
            KeReleaseSpinLock(&lock, KeAcquireSpinLockRaiseToDpc(&lock));
        EXPECT_GE(KeQueryInterruptTime() - begun, 20u); // two places a turn, at least 100 ns
    }
    settings.delay_one_in = usual;
}

} // namespace
} // namespace irpverbs::testing
