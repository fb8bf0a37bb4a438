#include <dispatch/detail/processor.hpp>
#include <dispatch/machine.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace irpverbs::dispatch {
namespace {

using detail::no_deadline;
using detail::point;
using detail::this_processor;

void points(int count) {
    for (int i = 0; i < count; ++i)
        detail::sched_point(point::user);
}

bool park(sim_machine& machine, std::uint64_t deadline = no_deadline) {
    return machine.park(this_processor(), deadline);
}

void stall(sim_machine& machine, std::uint64_t ticks) { machine.stall(this_processor(), ticks); }

sim_machine::options logged() {
    sim_machine::options options;
    options.log = true;
    return options;
}

// Three actors that step, wait for one another and let time pass.
void small_program(sim_machine& machine) {
    detail::processor* sleeper = nullptr;
    machine.spawn("sleeper", [&] {
        sleeper = &this_processor();
        points(2);
        park(machine);
        machine.note("woken");
    });
    machine.spawn("waker", [&] {
        while (sleeper == nullptr)
            machine.yield();
        points(3);
        machine.unpark(*sleeper);
    });
    machine.spawn("clock", [&] {
        park(machine, 500);
        points(2);
        stall(machine, 25);
    });
    ASSERT_TRUE(machine.run()) << machine.last().report;
}

struct trail {
    std::string log;
    std::uint64_t hash;
    std::uint64_t fingerprint;
    auto operator<=>(const trail&) const = default;
};

trail run_small_program(std::uint64_t seed) {
    random_choices source(seed);
    sim_machine machine(source, logged());
    small_program(machine);
    return {machine.event_log(), machine.event_hash(), source.next_draw_fingerprint()};
}

// Tests that a seed determines the event log byte for byte, and that seeds differ.
TEST(SimMachine, SameSeedSameLog) {
    EXPECT_EQ(run_small_program(7), run_small_program(7));
    EXPECT_NE(run_small_program(7).log, run_small_program(8).log);
}

// Tests that another process and another build see the same log: these were written down once.
TEST(SimMachine, SameLogInEveryBuild) {
    EXPECT_EQ(run_small_program(7).log, "1 0 clock starts\n"
                                        "2 0 waker starts\n"
                                        "3 0 sleeper starts\n"
                                        "4 0 sleeper user\n"
                                        "5 0 waker user\n"
                                        "6 0 waker user\n"
                                        "7 0 waker user\n"
                                        "8 0 sleeper user\n"
                                        "8 0 waker ends\n"
                                        "8 0 sleeper woken\n"
                                        "8 0 sleeper ends\n"
                                        "9 500 clock user\n"
                                        "10 500 clock user\n"
                                        "11 525 clock ends\n");
    EXPECT_EQ(run_small_program(7).hash, 7180538187763623951u);
}

TEST(SimMachine, EverySchedulingPointHasItsNameInTheLog) {
    random_choices source(1);
    sim_machine machine(source, logged());
    machine.spawn("one", [] {
        for (int kind = 0; kind <= static_cast<int>(detail::point::user); ++kind)
            detail::sched_point(static_cast<detail::point>(kind));
    });
    EXPECT_TRUE(machine.run());
    for (const char* name : {"lock_acquire", "lock_release", "cancel_exchange", "call_driver",
                             "complete_request", "wait", "signal", "dpc_insert", "dpc_run",
                             "work_insert", "timer_set", "interlocked", "user"})
        EXPECT_NE(machine.event_log().find(std::string(" one ") + name + "\n"), std::string::npos)
            << name;
}

TEST(SimMachine, EveryOutcomeHasAName) {
    EXPECT_STREQ(name_of(sim_outcome::finished), "finished");
    EXPECT_STREQ(name_of(sim_outcome::hung), "hung");
    EXPECT_STREQ(name_of(sim_outcome::step_limit), "step limit");
    EXPECT_STREQ(name_of(sim_outcome::bug_check), "bug check");
    EXPECT_STREQ(name_of(sim_outcome::failed), "failed");
}

TEST(SimMachine, HashIsTheSameWithoutTheLog) {
    random_choices source(7);
    sim_machine machine(source);
    small_program(machine);
    EXPECT_EQ(machine.event_hash(), run_small_program(7).hash);
    EXPECT_EQ(machine.event_log(), "");
}

// Tests that time stands still while anything can run, then jumps to the earliest deadline.
TEST(SimMachine, TimeJumpsWhenAllWait) {
    random_choices source(1);
    sim_machine machine(source);
    std::vector<std::uint64_t> woken;
    for (const std::uint64_t due : {3'000'000ull, 10ull, 36'000'000'000ull})
        machine.spawn("sleeper", [&, due] {
            points(5);
            EXPECT_LT(machine.interrupt_time(), due);
            EXPECT_FALSE(park(machine, due));
            EXPECT_EQ(machine.interrupt_time(), due);
            woken.push_back(due);
        });
    EXPECT_TRUE(machine.run());
    EXPECT_EQ(woken, (std::vector<std::uint64_t>{10, 3'000'000, 36'000'000'000}));
    EXPECT_EQ(machine.last().time, 36'000'000'000u);
}

// Tests that one token is kept, however often it is given, and that it ends one park.
TEST(SimMachine, UnparkBeforeParkCounts) {
    random_choices source(1);
    sim_machine machine(source);
    machine.spawn("self", [&] {
        machine.unpark(this_processor());
        machine.unpark(this_processor());
        EXPECT_TRUE(park(machine, 100));
        EXPECT_FALSE(park(machine, 100));
        EXPECT_EQ(machine.interrupt_time(), 100u);
        EXPECT_FALSE(park(machine, 50)) << "a deadline that has passed";
    });
    EXPECT_TRUE(machine.run());
}

TEST(SimMachine, UnparkEndsAWaitBeforeItsDeadline) {
    random_choices source(1);
    sim_machine machine(source);
    detail::processor* waiter = nullptr;
    machine.spawn("waiter", [&] {
        waiter = &this_processor();
        EXPECT_TRUE(park(machine, 1000));
        EXPECT_EQ(machine.interrupt_time(), 400u);
    });
    machine.spawn("waker", [&] {
        stall(machine, 400);
        machine.unpark(*waiter);
    });
    EXPECT_TRUE(machine.run());
    EXPECT_EQ(machine.last().time, 400u) << "the deadline went with the wait";
}

// Tests that one who spins goes on when, and only when, its predicate says so.
TEST(SimMachine, SpinEndsWithItsPredicate) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        random_choices source(seed);
        sim_machine machine(source);
        bool taken = true;
        bool entered = false;
        machine.spawn("spinner", [&] {
            for (unsigned turn = 0; taken; ++turn)
                machine.spin(
                    this_processor(),
                    [](const void* flag) { return *static_cast<const bool*>(flag); }, &taken, turn);
            entered = true;
        });
        machine.spawn("owner", [&] {
            points(4);
            EXPECT_FALSE(entered);
            taken = false;
        });
        EXPECT_TRUE(machine.run());
        EXPECT_TRUE(entered);
    }
}

TEST(SimMachine, SpinForEverIsAHang) {
    random_choices source(1);
    sim_machine machine(source);
    machine.spawn("spinner", [&] {
        machine.spin(
            this_processor(), [](const void*) { return true; }, nullptr, 0);
    });
    EXPECT_EQ(machine.run().outcome, sim_outcome::hung);
    EXPECT_NE(machine.last().report.find("spinner: spins"), std::string::npos);
}

// Tests that a hang names every actor, what it waits at, since when and at which level, and what
// others add.
TEST(SimMachine, HangIsReported) {
    random_choices source(1);
    sim_machine machine(source, logged());
    int object = 0;
    std::string added = "irp 7 is held by nobody\n";
    machine.add_state_dumper(
        [](std::string& text, void* more) { text += *static_cast<std::string*>(more); }, &added);
    machine.spawn("lost", [&] {
        machine.introduce(&object, "event");
        stall(machine, 1234567);
        this_processor().irql = APC_LEVEL;
        detail::sched_point(point::wait, &object);
        park(machine);
    });
    machine.spawn("done", [] {});
    EXPECT_EQ(machine.run().outcome, sim_outcome::hung);
    const std::string& report = machine.last().report;
    EXPECT_NE(report.find("hung: nothing can happen any more"), std::string::npos) << report;
    EXPECT_NE(report.find("lost: waits at wait event1, since 0.1234567 s, IRQL 1"),
              std::string::npos)
        << report;
    EXPECT_NE(report.find("done: ended"), std::string::npos) << report;
    EXPECT_NE(report.find(added), std::string::npos) << report;
}

// Tests that the time limit turns an endless wait beside a ticking clock into a hang.
TEST(SimMachine, TimeLimitIsAHang) {
    random_choices source(1);
    sim_machine::options options;
    options.time_limit = 1000;
    sim_machine machine(source, options);
    machine.spawn("lost", [&] { park(machine); });
    machine.spawn("clock", [&] {
        for (;;)
            stall(machine, 10);
    });
    EXPECT_EQ(machine.run().outcome, sim_outcome::hung);
    EXPECT_NE(machine.last().report.find("the time limit came"), std::string::npos);
    EXPECT_EQ(machine.last().time, 1000u);
}

TEST(SimMachine, StepLimitEndsALivelock) {
    random_choices source(1);
    sim_machine::options options;
    options.step_limit = 1000;
    sim_machine machine(source, options);
    for (const char* name : {"one", "other"})
        machine.spawn(name, [&] {
            for (;;)
                points(1);
        });
    EXPECT_EQ(machine.run().outcome, sim_outcome::step_limit);
    EXPECT_EQ(machine.last().steps, 1001u);
    EXPECT_EQ(machine.run().outcome, sim_outcome::step_limit) << "and stays so";
}

// Tests that an exception from an actor ends the run with its text, the others staying where they
// are.
TEST(SimMachine, ExceptionEndsTheRun) {
    random_choices source(1);
    sim_machine machine(source);
    bool went_on = false;
    machine.spawn("parked", [&] {
        park(machine, 1000);
        went_on = true;
    });
    machine.spawn("thrower", [&] {
        stall(machine, 10);
        throw std::runtime_error("no such luck");
    });
    EXPECT_EQ(machine.run().outcome, sim_outcome::failed);
    EXPECT_NE(machine.last().report.find("thrower ended by an exception: no such luck"),
              std::string::npos)
        << machine.last().report;
    EXPECT_FALSE(went_on);
}

// Tests that a bug check ends the run where it stands, with nothing unwound.
TEST(SimMachine, BugCheckEndsTheRun) {
    random_choices source(1);
    sim_machine machine(source);
    bool unwound = false;
    machine.spawn("breaker", [&] {
        struct flag {
            bool& set;
            ~flag() { set = true; }
        } local{unwound};
        KeBugCheckEx(MANUALLY_INITIATED_CRASH, 1, 2, 3, 4);
    });
    EXPECT_EQ(machine.run().outcome, sim_outcome::bug_check);
    EXPECT_NE(machine.last().report.find("bug check by breaker"), std::string::npos);
    EXPECT_FALSE(unwound);
}

// Tests that a switch inside a handler does not mix up whose exception is being handled.
TEST(SimMachine, ExceptionsStayWithTheirActor) {
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

// Tests that more can be spawned between runs and during one.
TEST(SimMachine, SpawnsAtAnyTime) {
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

TEST(SimMachine, JobIsFreedAlsoWhenItNeverRan) {
    const auto held = std::make_shared<int>(1);
    {
        random_choices source(1);
        sim_machine machine(source);
        machine.spawn("never", [held] {});
        EXPECT_EQ(held.use_count(), 2);
    }
    EXPECT_EQ(held.use_count(), 1);
}

// Tests that a polling loop which yields makes way under PCT, where the poller may rank highest.
TEST(SimMachine, YieldMakesWay) {
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

// Tests that one who polls at scheduling points only, and ranks highest, does not starve the
// others.
TEST(SimMachine, PollingEndsUnderEveryPriority) {
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

// Tests that the thread outside a run may wait for one inside, and is told when that can't end.
TEST(SimMachine, MainMayWait) {
    random_choices source(1);
    sim_machine machine(source);
    const machine::scope here(machine);
    EXPECT_FALSE(park(machine, 250));
    EXPECT_EQ(machine.interrupt_time(), 250u);
    EXPECT_THROW(park(machine), std::runtime_error);
}

// What a home processor is like: works, and parks until there is more or a timer is due.
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
            park(machine, period == 0 ? no_deadline : machine.interrupt_time() + period);
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
TEST(SimMachine, LibraryThreadsOutliveARun) {
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

// Tests that what recurs goes on for the drain time after the last actor, and no longer.
TEST(SimMachine, PeriodicWorkEndsWithTheDrainTime) {
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

TEST(SimMachine, DelaysHoldActorsUp) {
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

// Also when a delay lasts longer than the drain time.
TEST(SimMachine, DelayedDpcsRunBeforeTheRunEnds) {
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

TEST(SimMachine, FaultsComeOnlyWhenAskedFor) {
    std::uint64_t fired = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        random_choices source(seed);
        sim_machine quiet(source);
        EXPECT_FALSE(quiet.perturb("pool.allocate"));
        sim_machine::options options;
        options.faults = true;
        sim_machine machine(source, options);
        for (int i = 0; i < 100; ++i)
            fired += machine.perturb("pool.allocate");
    }
    EXPECT_GT(fired, 0u);
    EXPECT_LT(fired, 2500u);
}

} // namespace
} // namespace irpverbs::dispatch
