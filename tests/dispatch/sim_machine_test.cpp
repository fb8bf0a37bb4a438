// Actors and the library's own threads, from their start to the end of a run; delays and faults.
#include "irql_level.hpp"
#include "sim_steps.hpp"

#include <dispatch/support/scheduled_spin.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

namespace irpverbs::dispatch {
namespace {

using detail::this_processor;

// Tests that a switch inside an exception handler does not mix up the actors' current exceptions.
TEST(SimMachine, SwitchInsideCatch_KeepsEachActorsException) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        random_choices source(seed);
        sim_machine machine(source);
        for (const char* name : {"one", "two", "three"})
            machine.spawn(name, [name] {
                try {
                    throw std::runtime_error(name);
                } catch (const std::exception&) {
                    points(3);
                    try {
                        throw;
                    } catch (const std::exception& again) {
                        EXPECT_STREQ(again.what(), name);
                    }
                }
            });
        EXPECT_TRUE(machine.run()) << machine.last().report;
    }
}

// Tests that actors can be spawned between runs and during one.
TEST(SimMachine, SpawnDuringAndBetweenRuns_ActorsRun) {
    random_choices source(1);
    sim_machine machine(source);
    std::string order;
    machine.spawn("first", [&] {
        machine.spawn("inner", [&] { order += 'b'; });
        order += 'a';
    });
    EXPECT_EQ(order, "");
    EXPECT_TRUE(machine.run());
    EXPECT_EQ(order, "ab");
    machine.spawn("second", [&] { order += 'c'; });
    EXPECT_TRUE(machine.run());
    EXPECT_EQ(order, "abc");
}

TEST(SimMachine, JobNeverRun_IsDestroyed) {
    const auto held = std::make_shared<int>(1);
    {
        random_choices source(1);
        sim_machine machine(source);
        machine.spawn("never", [held] {});
        EXPECT_EQ(held.use_count(), 2);
    }
    EXPECT_EQ(held.use_count(), 1);
}

// Tests that a polling loop which yields lets others run under PCT, where the poller may rank
// highest.
TEST(SimMachine, YieldingPollerUnderPct_OtherActorsRun) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        pct_choices source(seed, 3, 20);
        sim_machine machine(source);
        bool flag = false;
        machine.spawn("poller", [&] {
            while (!flag)
                machine.yield();
        });
        machine.spawn("setter", [&] {
            points(3);
            flag = true;
        });
        ASSERT_TRUE(machine.run()) << seed;
        EXPECT_LT(machine.last().steps, 50u);
    }
}

// Tests that an actor of the highest rank that polls at scheduling points only does not starve the
// others.
TEST(SimMachine, PollerAtHighestPriority_OtherActorsRun) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        pct_choices source(seed, 1, 20);
        sim_machine machine(source);
        bool flag = false;
        machine.spawn("poller", [&] {
            while (!flag)
                points(1);
        });
        machine.spawn("setter", [&] { flag = true; });
        ASSERT_TRUE(machine.run()) << seed << machine.last().report;
    }
}

// A model of a dedicated processor: works, then parks until there is more work or a timer is due.
struct library_thread {
    sim_machine& machine;
    detail::processor* main;
    detail::processor* self = nullptr;
    std::uint64_t period;
    int turns = 0;
    bool stopping = false;
    bool ended = false;

    library_thread(sim_machine& owner, std::uint64_t every)
        : machine(owner), main(&this_processor()), period(every) {
        machine.start_thread(
            0, [](void* held) { static_cast<library_thread*>(held)->run(); }, this);
    }

    void run() {
        const machine::scope here(machine);
        self = &this_processor();
        for (; !stopping; ++turns)
            park(machine, period == 0 ? detail::no_deadline : machine.interrupt_time() + period);
        ended = true;
        machine.unpark(*main);
    }

    void stop() {
        stopping = true;
        if (self != nullptr) machine.unpark(*self);
        while (!ended)
            park(machine);
    }
};

// Tests that the library's own threads neither keep a run from ending nor end with it.
TEST(SimMachine, LibraryThread_OutlivesRun) {
    random_choices source(1);
    sim_machine machine(source);
    const machine::scope here(machine);
    library_thread thread(machine, 0);
    machine.spawn("user", [&] {
        while (thread.self == nullptr)
            machine.yield();
        machine.unpark(*thread.self);
    });
    EXPECT_TRUE(machine.run());
    EXPECT_EQ(thread.turns, 1);
    EXPECT_FALSE(thread.ended);
    thread.stop();
    EXPECT_TRUE(thread.ended);
}

// Tests that periodic work continues for the drain time after the last actor, and no longer.
TEST(SimMachine, PeriodicWork_EndsWithDrainTime) {
    random_choices source(1);
    sim_machine::options options;
    options.drain_time = 1000;
    sim_machine machine(source, options);
    const machine::scope here(machine);
    library_thread thread(machine, 100);
    machine.spawn("user", [&] { stall(machine, 550); });
    EXPECT_TRUE(machine.run());
    EXPECT_EQ(machine.last().time, 1500u);
    EXPECT_EQ(thread.turns, 15);
    thread.stop();
}

TEST(SimMachine, DelaysEnabled_ActorsAreDelayed) {
    bool seen = false;
    for (std::uint64_t seed = 0; seed < 20 && !seen; ++seed) {
        random_choices source(seed);
        sim_machine::options options;
        options.delays = 2;
        sim_machine machine(source, options);
        machine.spawn("one", [] { points(20); });
        EXPECT_TRUE(machine.run());
        seen = machine.last().time > 0;
    }
    EXPECT_TRUE(seen);
}

/// Runs `body` in runs that draw delays often, with `options` otherwise.
template <class Body>
void run_delayed(const Body& body, sim_machine::options options = {}) {
    options.delays = 2;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        random_choices source(seed);
        sim_machine machine(source, options);
        const machine::scope here(machine);
        body(machine);
    }
}

// One actor alone takes exactly its own time and its delays.
TEST(SimMachine, DelayedTime_IsTheTimeBeyondTheActorsOwn) {
    run_delayed([](sim_machine& machine) {
        machine.spawn("one", [&] {
            points(10);
            stall(machine, 1000);
            EXPECT_FALSE(park(machine, machine.interrupt_time() + 500));
            EXPECT_EQ(machine.interrupt_time(), 1500 + machine.delayed_time());
        });
        EXPECT_TRUE(machine.run());
        EXPECT_EQ(machine.last().time, 1500 + machine.delayed_time());
    });
}

// The time of a delay that goes on counts as far as it has passed: an actor that takes no time of
// its own and has not ended was delayed all the while.
TEST(SimMachine, DelayedTime_DuringADelay_CountsTheTimeThatHasPassed) {
    bool seen = false;
    run_delayed([&](sim_machine& machine) {
        bool ended = false;
        machine.spawn("delayed", [&] {
            points(20);
            ended = true;
        });
        machine.spawn("observer", [&] {
            const std::uint64_t before = machine.delayed_time();
            stall(machine, 10);
            if (ended) return;
            EXPECT_GE(machine.delayed_time() - before, 10u);
            seen = true;
        });
        EXPECT_TRUE(machine.run());
    });
    EXPECT_TRUE(seen);
}

// The library holds its own locks below DISPATCH_LEVEL too.
TEST(SimMachine, HolderOfALockIsDelayed_SpinsAtDispatchLevelAreShort) {
    constexpr std::uint64_t longest = 1'000'000; // 100 ms
    std::uint64_t seen = 0;
    run_delayed([&](sim_machine& machine) {
        detail::scheduled_spin lock;
        machine.spawn("holder", [&] { const std::lock_guard guard(lock); });
        machine.spawn("spinner", [&] {
            const irpverbs::testing::at_level above(DISPATCH_LEVEL);
            const std::uint64_t before = machine.interrupt_time();
            const std::lock_guard guard(lock);
            seen = std::max(seen, machine.interrupt_time() - before);
        });
        EXPECT_TRUE(machine.run());
    });
    EXPECT_GT(seen, 0u);
    EXPECT_LE(seen, longest);
}

TEST(SimMachine, EndDelays_DelayedActorsContinueAtOnce) {
    run_delayed([](sim_machine& machine) {
        for (const char* name : {"one", "two"})
            machine.spawn(name, [] { points(20); });
        machine.spawn("ends the delays", [&] {
            points(5);
            machine.end_delays();
            const std::uint64_t ended = machine.interrupt_time();
            const std::uint64_t delayed = machine.delayed_time();
            machine.spawn("later", [&machine, ended, delayed] {
                points(20);
                stall(machine, 1000);
                EXPECT_EQ(machine.interrupt_time(), ended + 1000);
                EXPECT_EQ(machine.delayed_time(), delayed);
            });
        });
        EXPECT_TRUE(machine.run());
    });
}

// A wait whose time-out is late ends at its own time, or at once when that has passed.
TEST(SimMachine, EndDelays_LateTimeOutIsDueAtItsOwnTime) {
    for (const std::uint64_t when : {50u, 150u}) {
        run_delayed([when](sim_machine& machine) {
            constexpr std::uint64_t own = 100;
            std::uint64_t woken = 0;
            std::uint64_t begun = 0;
            std::uint64_t ended = 0;
            machine.spawn("waits", [&] {
                begun = machine.interrupt_time();
                EXPECT_FALSE(park(machine, begun + own));
                woken = machine.interrupt_time();
            });
            machine.spawn("ends the delays", [&] {
                stall(machine, when);
                machine.end_delays();
                ended = machine.interrupt_time();
            });
            EXPECT_TRUE(machine.run());
            EXPECT_GE(woken, begun + own);
            EXPECT_LE(woken, std::max(begun + own, ended));
        });
    }
}

TEST(SimMachine, EndDelays_LaterRunDrawsNone) {
    run_delayed([](sim_machine& machine) {
        machine.end_delays();
        machine.spawn("one", [] { points(20); });
        EXPECT_TRUE(machine.run());
        EXPECT_EQ(machine.last().time, 0u);
    });
}

/// A timer without a period that its DPC sets again, once a second for a minute: it outlives the
/// actors of a run.
struct timer_chain {
    explicit timer_chain(sim_machine& its_machine) : machine(its_machine) {
        KeInitializeTimer(&timer);
        KeInitializeDpc(&dpc, tick, this);
    }
    void set() {
        LARGE_INTEGER second;
        second.QuadPart = -10'000'000;
        KeSetTimer(&timer, second, &dpc);
    }
    static void tick(KDPC*, void* context, void*, void*) {
        auto& self = *static_cast<timer_chain*>(context);
        self.delayed[self.ticks] = self.machine.delayed_time();
        if (++self.ticks != self.delayed.size()) self.set();
    }

    sim_machine& machine;
    KTIMER timer{};
    KDPC dpc{};
    std::size_t ticks = 0;
    std::array<std::uint64_t, 60> delayed{}; // the delayed time at each tick
};

TEST(SimMachine, AfterDrainTime_NoDelayIsDrawn) {
    sim_machine::options options;
    options.drain_time = 1000;
    run_delayed(
        [](sim_machine& machine) {
            timer_chain chain(machine);
            machine.spawn("starts", [&] { chain.set(); });
            EXPECT_TRUE(machine.run());
            ASSERT_EQ(chain.ticks, chain.delayed.size());
            EXPECT_EQ(chain.delayed[30], chain.delayed.back()); // earlier delays last 13 s
        },
        options);
}

// A DPC runs before the end of the run even when its delay exceeds the drain time.
TEST(SimMachine, DelayBeyondDrainTime_DpcRunsBeforeRunEnds) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        random_choices source(seed);
        sim_machine::options options;
        options.delays = 2;
        options.drain_time = 1;
        sim_machine machine(source, options);
        const machine::scope here(machine);
        int runs = 0;
        KDPC dpc;
        KeInitializeDpc(
            &dpc, [](KDPC*, void* context, void*, void*) { ++*static_cast<int*>(context); }, &runs);
        KeSetTargetProcessorDpc(&dpc, 0);
        machine.spawn("one", [&] { KeInsertQueueDpc(&dpc, nullptr, nullptr); });
        EXPECT_TRUE(machine.run());
        EXPECT_EQ(runs, 1);
    }
}

TEST(SimMachine, ShouldInject_InjectsFaultsOnlyIfEnabled) {
    std::uint64_t fired = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        random_choices source(seed);
        sim_machine quiet(source);
        EXPECT_FALSE(quiet.should_inject("pool.allocate"));
        sim_machine::options options;
        options.faults = true;
        sim_machine machine(source, options);
        for (int i = 0; i < 100; ++i)
            fired += machine.should_inject("pool.allocate");
    }
    EXPECT_GT(fired, 0u);
    EXPECT_LT(fired, 2500u);
}

} // namespace
} // namespace irpverbs::dispatch
