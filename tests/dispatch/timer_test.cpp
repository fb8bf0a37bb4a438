#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>
#include <support/ke_shorthand.hpp>

#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <vector>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

struct timer : KTIMER {
    explicit timer(TIMER_TYPE type = NotificationTimer) { KeInitializeTimerEx(this, type); }
    bool set(LONGLONG distance, LONG period = 0, KDPC* dpc = nullptr) {
        return KeSetTimerEx(this, from_now(distance), period, dpc) != FALSE;
    }
    bool cancel() { return KeCancelTimer(this) != FALSE; }
    bool signalled() { return KeReadStateTimer(this) != FALSE; }
};

class Timers : public BothMachines {};

TEST_P(Timers, NewTimer_IsNeitherSetNorSignalled) {
    timer fresh;
    EXPECT_FALSE(fresh.signalled());
    EXPECT_FALSE(fresh.cancel());
    KeInitializeTimer(&fresh);
    EXPECT_FALSE(fresh.signalled());
}

TEST_P(Timers, RelativeDueTime_ExpiresNotEarly) {
    timer one;
    const ULONGLONG start = KeQueryInterruptTime();
    EXPECT_FALSE(one.set(3 * millisecond));
    EXPECT_EQ(wait(&one), STATUS_SUCCESS);
    EXPECT_GE(KeQueryInterruptTime() - start, 3ull * millisecond);
    EXPECT_TRUE(one.signalled());
    EXPECT_FALSE(one.cancel());
}

TEST_P(Timers, AbsoluteDueTime_ExpiresNotEarly) {
    timer one;
    LARGE_INTEGER due = system_time();
    due.QuadPart += 3 * millisecond;
    KeSetTimer(&one, due, nullptr);
    EXPECT_EQ(wait(&one), STATUS_SUCCESS);
    EXPECT_GE(system_time().QuadPart, due.QuadPart);
}

TEST_P(Timers, PastDueTime_ExpiresAtOnce) {
    for (const LONGLONG due_time : {LONGLONG{1}, LONGLONG{0}}) {
        timer one;
        LARGE_INTEGER due;
        due.QuadPart = due_time;
        KeSetTimer(&one, due, nullptr);
        EXPECT_EQ(wait(&one), STATUS_SUCCESS);
    }
}

TEST_P(Timers, SetOfSignalledTimer_ClearsSignal) {
    timer one;
    one.set(0);
    wait(&one);
    EXPECT_TRUE(one.signalled());
    EXPECT_FALSE(one.set(1000 * second));
    EXPECT_FALSE(one.signalled());
    EXPECT_TRUE(one.cancel());
    EXPECT_FALSE(one.signalled());
}

TEST_P(Timers, SetAgain_ReplacesDueTimeAndDpc) {
    timer one;
    counted_dpc never;
    signaling_dpc second_dpc;
    EXPECT_FALSE(one.set(1000 * second, 0, &never));
    EXPECT_TRUE(one.set(millisecond, 0, &second_dpc));
    wait(&second_dpc.done);
    EXPECT_EQ(never.runs, 0);
    EXPECT_EQ(second_dpc.runs, 1);
}

TEST_P(Timers, Cancel_ReturnsWhetherTimerWasSet) {
    timer one;
    one.set(1000 * second);
    EXPECT_TRUE(one.cancel());
    EXPECT_FALSE(one.cancel());
    EXPECT_EQ(try_wait(&one), STATUS_TIMEOUT);
}

TEST_P(Timers, SatisfiedWait_ResetsSynchronizationTimerOnly) {
    timer all(NotificationTimer);
    timer one(SynchronizationTimer);
    all.set(0);
    one.set(0);
    EXPECT_EQ(wait(&all), STATUS_SUCCESS);
    EXPECT_EQ(try_wait(&all), STATUS_SUCCESS);
    EXPECT_EQ(wait(&one), STATUS_SUCCESS);
    EXPECT_EQ(try_wait(&one), STATUS_TIMEOUT);
    EXPECT_FALSE(one.signalled());
}

TEST_P(Timers, TimerDpc_RunsAtDispatchOnActiveProcessor) {
    timer one;
    signaling_dpc dpc;
    one.set(millisecond, 0, &dpc);
    wait(&dpc.done);
    EXPECT_EQ(dpc.irql, DISPATCH_LEVEL);
    EXPECT_LT(dpc.processor, KeQueryActiveProcessorCount(nullptr));
}

TEST_P(Timers, TargetedTimerDpc_RunsOnItsProcessor) {
    timer one;
    signaling_dpc dpc;
    KeSetTargetProcessorDpc(&dpc, 1);
    one.set(millisecond, 0, &dpc);
    wait(&dpc.done);
    EXPECT_EQ(dpc.processor, 1u);
}

// The period may be no multiple of the clock's tick.
TEST_P(Timers, PeriodicTimer_KeepsPeriod) {
    timer one;
    signaling_dpc dpc(20);
    const ULONGLONG start = KeQueryInterruptTime();
    one.set(millisecond, 1, &dpc);
    wait(&dpc.done);
    EXPECT_GE(KeQueryInterruptTime() - start, 20ull * millisecond);
    EXPECT_TRUE(one.cancel());
    KeFlushQueuedDpcs();
}

TEST_P(Timers, PeriodicSynchronizationTimer_ReleasesOneWaitPerPeriod) {
    timer one(SynchronizationTimer);
    one.set(millisecond, 1);
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(wait(&one), STATUS_SUCCESS);
    EXPECT_TRUE(one.cancel());
}

TEST_P(Timers, HugeDueTime_IsSetAndCancelled) {
    constexpr LONGLONG most = std::numeric_limits<LONGLONG>::max();
    for (const LONGLONG time : {most, -most, std::numeric_limits<LONGLONG>::min()}) {
        timer one;
        LARGE_INTEGER due;
        due.QuadPart = time;
        KeSetTimer(&one, due, nullptr);
        EXPECT_FALSE(one.signalled());
        EXPECT_TRUE(one.cancel());
    }
}

// Timers with equal due times all expire, and none before an earlier one.
TEST_P(Timers, ThousandsOfTimers_ExpireInOrder) {
    static std::vector<LONGLONG> order;
    order.clear();
    static event last;
    KeInitializeEvent(&last, NotificationEvent, FALSE);
    constexpr int count = 2000;
    struct one : timer, KDPC {
        LONGLONG due = 0;
    };
    const auto timers = std::make_unique<one[]>(count);
    std::uint64_t mixed = 1;
    for (int i = 0; i < count; ++i) {
        one& each = timers[static_cast<std::size_t>(i)];
        mixed = mixed * 6364136223846793005u + 1442695040888963407u;
        each.due = static_cast<LONGLONG>(mixed >> 60) * millisecond;
        KeInitializeDpc(
            &each,
            [](KDPC*, PVOID context, PVOID, PVOID) {
                order.push_back(static_cast<one*>(context)->due);
                if (order.size() == count) set(last);
            },
            &each);
        KeSetTargetProcessorDpc(&each, 0);
    }
    const LONGLONG start = system_time().QuadPart + 2 * millisecond;
    for (int i = 0; i < count; ++i) {
        one& each = timers[static_cast<std::size_t>(i)];
        LARGE_INTEGER due;
        due.QuadPart = start + each.due;
        KeSetTimer(&each, due, &each);
    }
    wait(&last);
    EXPECT_EQ(order.size(), static_cast<std::size_t>(count));
    if (simulated()) { // on the real machine some timers were due already when they were set
        EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    }
}

TEST_P(Timers, ThousandsOfTimers_AreAllCancelled) {
    constexpr std::size_t count = 5000;
    const auto timers = std::make_unique<timer[]>(count);
    for (std::size_t i = 0; i < count; ++i)
        timers[i].set(static_cast<LONGLONG>(1 + i * i) * second);
    for (std::size_t i = count; i-- > 0;)
        EXPECT_TRUE(timers[i].cancel());
    EXPECT_FALSE(machine().has_one_shot_timers());
}

IRPVERBS_ON_BOTH_MACHINES(Timers);

TEST(TimersOnTwoMachines, SetOnAnotherMachine_MovesTimer) {
    random_choices chance(1);
    sim_machine simulated(chance);
    asio_machine real({.processors = 1});
    timer one;
    {
        const machine::scope here(simulated);
        EXPECT_FALSE(one.set(1000 * second));
    }
    const machine::scope here(real);
    EXPECT_TRUE(one.set(1000 * second));
    EXPECT_FALSE(simulated.has_one_shot_timers());
    EXPECT_TRUE(one.cancel());
}

TEST(TimersOnTwoMachines, ExpiredTimer_OutlivesItsMachine) {
    timer one;
    for (int i = 0; i < 2; ++i) {
        random_choices chance(1);
        auto world = std::make_unique<sim_machine>(chance);
        {
            const machine::scope here(*world);
            EXPECT_FALSE(one.set(millisecond));
            EXPECT_EQ(wait(&one), STATUS_SUCCESS);
        }
        world.reset();
        EXPECT_FALSE(one.cancel());
    }
}

// Sets timers that are due at the same time and cancels them, inner neighbours first.
void set_and_cancel(std::array<timer, 4>& some) {
    for (timer& each : some)
        EXPECT_FALSE(each.set(1000 * second));
    for (const std::size_t i : {1u, 2u, 0u, 3u})
        EXPECT_TRUE(some[i].cancel());
}

// The first thread alone sets timers so often that its processor becomes the favoured one of the
// timers' lock; each call of the other thread revokes that.
TEST(TimersOnTwoThreads, Timers_SetByAFavouredProcessorAndAnother_CancelledOnceEach) {
    asio_machine machine({.processors = 1});
    const machine::scope here(machine);
    std::atomic<bool> over{false};
    system_thread often([&] {
        std::array<timer, 4> some;
        for (int i = 0; i < 100'000; ++i)
            set_and_cancel(some);
        over = true;
    });
    system_thread seldom([&] {
        std::array<timer, 4> some;
        while (!over) {
            set_and_cancel(some);
            KeStallExecutionProcessor(10);
        }
    });
    often.join();
    seldom.join();
    EXPECT_FALSE(machine.has_one_shot_timers());
}

// A cancellation that returns TRUE keeps the DPC from running; after FALSE the DPC runs.
TEST(TimersExplored, CancelRacesWithExpiry_DpcRunsOnlyIfNotCancelled) {
    int cancelled = 0, expired = 0;
    explore_options options = thorough();
    options.machine.delays = 8; // so that the canceller is late at times
    expect_explored(options, [&](sim_machine& machine) {
        timer one;
        counted_dpc dpc;
        bool won = false;
        machine.spawn("canceller", [&] {
            one.set(millisecond, 0, &dpc);
            delay(millisecond);
            won = one.cancel();
        });
        machine.run();
        EXPECT_EQ(dpc.runs, won ? 0 : 1);
        EXPECT_EQ(one.signalled(), !won);
        (won ? cancelled : expired) += 1;
    });
    EXPECT_GT(cancelled, 0);
    EXPECT_GT(expired, 0);
}

// The teardown of WDM drivers: after it neither the timer nor the DPC is accessed.
TEST(TimersExplored, FreedAfterCancelRemoveAndFlush_IsNotAccessed) {
    explore_options options = thorough();
    options.required_probes = {"timer.cancelled_with_its_dpc_queued"};
    // Every millisecond of a delay would be another call of the DPC.
    expect_explored(without_delays(options), [](sim_machine& machine) {
        struct owned {
            timer one;
            counted_dpc dpc;
        };
        auto object = std::make_unique<owned>();
        KeSetTargetProcessorDpc(&object->dpc, 1); // not the processor that keeps the time
        machine.spawn("owner", [&] {
            object->one.set(millisecond, 1, &object->dpc);
            delay(3 * millisecond);
            object->one.cancel();
            KeRemoveQueueDpc(&object->dpc); // an earlier call of the DPC may still run
            KeFlushQueuedDpcs();
            object.reset();
        });
        machine.spawn("bystander", [] { delay(3 * millisecond); });
        machine.run();
    });
}

// The timers are set at the same time.
TEST(TimersExplored, SeveralTimers_ExpireInOrderOfVirtualTime) {
    expect_explored(without_delays(thorough()), [](sim_machine& machine) {
        std::vector<int> order;
        timer timers[4];
        for (int i = 0; i < 4; ++i)
            machine.spawn("waiter" + std::to_string(i), [&, i] {
                timers[i].set((4 - i) * 1000 * millisecond);
                wait(&timers[i]);
                order.push_back(i);
            });
        machine.run();
        EXPECT_EQ(order, (std::vector<int>{3, 2, 1, 0}));
    });
}

class Clocks : public BothMachines {};

TEST_P(Clocks, AllClocks_ShowSameTime) {
    const ULONGLONG before = KeQueryInterruptTime();
    LARGE_INTEGER ticks, frequency;
    KeQueryTickCount(&ticks);
    const LARGE_INTEGER counter = KeQueryPerformanceCounter(&frequency);
    const ULONGLONG system_before = machine().system_time();
    const auto system = static_cast<ULONGLONG>(system_time().QuadPart);
    const ULONGLONG system_after = machine().system_time();
    const ULONGLONG after = KeQueryInterruptTime();
    const auto between = [&](LONGLONG time) {
        return static_cast<ULONGLONG>(time) >= before && static_cast<ULONGLONG>(time) <= after;
    };
    EXPECT_EQ(frequency.QuadPart, second);
    EXPECT_TRUE(between(counter.QuadPart));
    EXPECT_GE(system, system_before);
    EXPECT_LE(system, system_after);
    const LONGLONG increment = KeQueryTimeIncrement();
    EXPECT_GE(ticks.QuadPart, static_cast<LONGLONG>(before) / increment);
    EXPECT_LE(ticks.QuadPart, static_cast<LONGLONG>(after) / increment);
    EXPECT_GE(KeQueryPerformanceCounter(nullptr).QuadPart, static_cast<LONGLONG>(after));
}

TEST_P(Clocks, SystemTime_CountsFrom1601) {
    constexpr LONGLONG year = 365LL * 24 * 3600 * second;
    EXPECT_GT(system_time().QuadPart, (2020 - 1601) * year);
    EXPECT_LT(system_time().QuadPart, (2200 - 1601) * year);
}

TEST_P(Clocks, Stall_LastsAtLeastRequestedTime) {
    const ULONGLONG before = KeQueryInterruptTime();
    KeStallExecutionProcessor(50);
    EXPECT_GE(KeQueryInterruptTime() - before, 50ull * microsecond);
    KeStallExecutionProcessor(0);
}

TEST_P(Clocks, StallAtHighLevel_IsAllowed) {
    KIRQL old;
    KeRaiseIrql(HIGH_LEVEL, &old);
    KeStallExecutionProcessor(1);
    EXPECT_EQ(KeGetCurrentIrql(), HIGH_LEVEL);
    KeLowerIrql(old);
}

IRPVERBS_ON_BOTH_MACHINES(Clocks);

} // namespace
