// The library's own threads, DPCs, timers and locks on the simulated machine.
#include <support/explore_gtest.hpp>

#include <dispatch/ke.h>
#include <dispatch/machine.hpp>

#include <string>

namespace irpverbs::dispatch {
namespace {

using irpverbs::testing::expect_explored;
using irpverbs::testing::expect_found;

LARGE_INTEGER from_now(LONGLONG ticks) {
    LARGE_INTEGER due;
    due.QuadPart = -ticks;
    return due;
}

constexpr LONGLONG millisecond = 10'000;

explore_options few() {
    explore_options options;
    options.random_runs = options.pct_runs = 200;
    return options;
}

// Tests that waits and timers follow virtual time under every schedule.
TEST(SimMachineDispatch, TimerAndTimeout_ExpireInVirtualTime) {
    expect_explored(few(), [](sim_machine& machine) {
        machine.spawn("waiter", [&] {
            KTIMER timer;
            KeInitializeTimer(&timer);
            KeSetTimer(&timer, from_now(3600'000 * millisecond), nullptr);
            LARGE_INTEGER soon = from_now(5 * millisecond);
            EXPECT_EQ(KeWaitForSingleObject(&timer, Executive, KernelMode, FALSE, &soon),
                      STATUS_TIMEOUT);
            EXPECT_GE(machine.interrupt_time(), 50'000u);
            EXPECT_LT(machine.interrupt_time(), 500'000u + machine.delayed_time());
            EXPECT_EQ(KeWaitForSingleObject(&timer, Executive, KernelMode, FALSE, nullptr),
                      STATUS_SUCCESS);
            EXPECT_GE(machine.interrupt_time(), 36'000'000'000u);
        });
        machine.run();
    });
}

struct counted_dpc {
    KDPC dpc;
    int runs = 0;
    ULONG processor = ~0u;
    KIRQL irql = 0;
    counted_dpc() {
        KeInitializeDpc(
            &dpc,
            [](KDPC*, void* context, void*, void*) {
                counted_dpc& self = *static_cast<counted_dpc*>(context);
                ++self.runs;
                self.processor = KeGetCurrentProcessorNumber();
                self.irql = KeGetCurrentIrql();
            },
            this);
    }
};

TEST(SimMachineDispatch, TargetedDpc_RunsOnItsProcessor) {
    expect_explored(few(), [](sim_machine& machine) {
        counted_dpc dpc;
        KeSetTargetProcessorDpc(&dpc.dpc, 1);
        machine.spawn("inserter",
                      [&] { EXPECT_TRUE(KeInsertQueueDpc(&dpc.dpc, nullptr, nullptr)); });
        machine.run();
        EXPECT_EQ(dpc.runs, 1);
        EXPECT_EQ(dpc.processor, 1u);
        EXPECT_EQ(dpc.irql, DISPATCH_LEVEL);
    });
}

// Tests that a one-shot timer fires although all actors have ended, and that a periodic one lets
// the run end.
TEST(SimMachineDispatch, ActorsEnded_OneShotTimerFiresAndPeriodicLetsRunEnd) {
    expect_explored(few(), [](sim_machine& machine) {
        counted_dpc once;
        counted_dpc often;
        KTIMER timer;
        KTIMER ticker;
        KeInitializeTimer(&timer);
        KeInitializeTimer(&ticker);
        machine.spawn("setter", [&] {
            KeSetTimer(&timer, from_now(60'000 * millisecond), &once.dpc);
            KeSetTimerEx(&ticker, from_now(1000 * millisecond), 1000, &often.dpc);
        });
        machine.run();
        EXPECT_EQ(once.runs, 1);
        EXPECT_GT(often.runs, 1);
        EXPECT_TRUE(KeCancelTimer(&ticker));
    });
}

TEST(SimMachineDispatch, QueuedWorkItem_RunsAtPassive) {
    expect_explored(few(), [](sim_machine& machine) {
        struct work {
            WORK_QUEUE_ITEM item;
            KIRQL irql = 99;
            KEVENT done;
        } work;
        KeInitializeEvent(&work.done, NotificationEvent, FALSE);
        ExInitializeWorkItem(
            &work.item,
            [](void* context) {
                auto& self = *static_cast<struct work*>(context);
                self.irql = KeGetCurrentIrql();
                KeSetEvent(&self.done, IO_NO_INCREMENT, FALSE);
            },
            &work);
        machine.spawn("queuer", [&] { ExQueueWorkItem(&work.item, DelayedWorkQueue); });
        machine.spawn("waiter", [&] {
            KeWaitForSingleObject(&work.done, Executive, KernelMode, FALSE, nullptr);
        });
        machine.run();
        EXPECT_EQ(work.irql, PASSIVE_LEVEL);
    });
}

// Tests that a spin lock excludes under every schedule with two preemptions.
TEST(SimMachineDispatch, SpinLockUnderTwoPreemptions_Excludes) {
    explore_options options = few();
    options.exhaustive_runs = 100'000;
    options.preemption_bound = 2;
    const explore_summary summary = expect_explored(options, [](sim_machine& machine) {
        KSPIN_LOCK lock;
        KeInitializeSpinLock(&lock);
        int inside = 0;
        for (const char* name : {"one", "two", "three"})
            machine.spawn(name, [&] {
                KIRQL old;
                KeAcquireSpinLock(&lock, &old);
                EXPECT_EQ(++inside, 1);
                machine.yield();
                --inside;
                KeReleaseSpinLock(&lock, old);
            });
        machine.run();
    });
    EXPECT_TRUE(summary.exhausted) << summary.text();
}

// Tests that two locks acquired in both orders are found to hang, and that the report names the
// spinning actors.
TEST(SimMachineDispatch, LockOrderInversion_HangsAndIsReported) {
    const explore_summary summary = expect_found(few(), [](sim_machine& machine) {
        KSPIN_LOCK locks[2];
        for (KSPIN_LOCK& each : locks)
            KeInitializeSpinLock(&each);
        const auto both = [&](int first) {
            KIRQL old;
            KeAcquireSpinLock(&locks[first], &old);
            KeAcquireSpinLockAtDpcLevel(&locks[1 - first]);
            KeReleaseSpinLockFromDpcLevel(&locks[1 - first]);
            KeReleaseSpinLock(&locks[first], old);
        };
        machine.spawn("up", [&] { both(0); });
        machine.spawn("down", [&] { both(1); });
        machine.run();
    });
    EXPECT_NE(summary.failure->what.find("up: spins at lock_acquire"), std::string::npos)
        << summary.text();
}

// Tests that a wake-up lost between a check and a wait is found as a hang at the wait.
TEST(SimMachineDispatch, LostWakeUp_ReportedAsHang) {
    const explore_summary summary = expect_found(few(), [](sim_machine& machine) {
        KEVENT event;
        KeInitializeEvent(&event, NotificationEvent, FALSE);
        machine.spawn("waiter", [&] {
            if (KeReadStateEvent(&event) != 0) return;
            KeClearEvent(&event); // planted: clears a signal that was set since
            KeWaitForSingleObject(&event, Executive, KernelMode, FALSE, nullptr);
        });
        machine.spawn("setter", [&] { KeSetEvent(&event, IO_NO_INCREMENT, FALSE); });
        machine.run();
    });
    EXPECT_NE(summary.failure->what.find("waiter: waits at wait"), std::string::npos)
        << summary.text();
}

// Tests that the thread outside a run may flush, wait and clean up.
TEST(SimMachineDispatch, ThreadOutsideRun_CanFlushAndDelay) {
    expect_explored(few(), [](sim_machine&) {
        counted_dpc dpc;
        KeSetTargetProcessorDpc(&dpc.dpc, 0);
        KeInsertQueueDpc(&dpc.dpc, nullptr, nullptr);
        KeFlushQueuedDpcs();
        EXPECT_EQ(dpc.runs, 1);
        LARGE_INTEGER delay = from_now(7 * millisecond);
        EXPECT_EQ(KeDelayExecutionThread(KernelMode, FALSE, &delay), STATUS_SUCCESS);
        EXPECT_GE(KeQueryInterruptTime(), 70'000u);
    });
}

} // namespace
} // namespace irpverbs::dispatch
