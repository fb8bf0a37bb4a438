// How runs end, and what is reported of runs that do not finish.
#include "sim_steps.hpp"

#include <dispatch/dpc.h>
#include <dispatch/timer.h>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace irpverbs::dispatch {
namespace {

using detail::this_processor;

TEST(SimRunOutcome, EveryOutcome_HasName) {
    EXPECT_STREQ(name_of(sim_outcome::finished), "finished");
    EXPECT_STREQ(name_of(sim_outcome::hung), "hung");
    EXPECT_STREQ(name_of(sim_outcome::step_limit), "step limit");
    EXPECT_STREQ(name_of(sim_outcome::bug_check), "bug check");
    EXPECT_STREQ(name_of(sim_outcome::failed), "failed");
}

TEST(SimRunOutcome, EndlessSpin_ReportedAsHang) {
    random_choices source(1);
    sim_machine machine(source);
    machine.spawn("spinner", [&] {
        machine.spin(
            this_processor(), [](const void*) { return true; }, nullptr, 0);
    });
    EXPECT_EQ(machine.run().outcome, sim_outcome::hung);
    EXPECT_NE(machine.last().report.find("spinner: spins"), std::string::npos);
}

// Tests that a hang's report names every actor, its wait, since when and at which level, and the
// text that others add.
TEST(SimRunOutcome, Hang_ReportNamesActorsWaitsAndDumperText) {
    random_choices source(1);
    sim_machine machine(source, logged());
    int object = 0;
    std::string added = "irp 7 has no owner\n";
    machine.add_state_dumper(
        [](std::string& text, void* more) { text += *static_cast<std::string*>(more); }, &added);
    machine.spawn("lost", [&] {
        machine.name_object(&object, "event");
        stall(machine, 1234567);
        this_processor().irql = APC_LEVEL;
        detail::sched_point(detail::point::wait, &object);
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

// Delays of up to 13 s each, during which the timer fires every ms.
TEST(SimRunOutcome, PeriodicTimerUnderDelays_ReachesNoStepLimit) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        random_choices source(seed);
        sim_machine machine(source);
        machine.spawn("user", [] {
            KTIMER timer;
            KDPC tick;
            KeInitializeTimer(&timer);
            KeInitializeDpc(
                &tick, [](PKDPC, PVOID, PVOID, PVOID) {}, nullptr);
            LARGE_INTEGER due;
            due.QuadPart = -10'000;
            KeSetTimerEx(&timer, due, 1, &tick);
            points(4000);
            KeCancelTimer(&timer);
            KeFlushQueuedDpcs();
        });
        EXPECT_EQ(machine.run().outcome, sim_outcome::finished) << "seed " << seed;
    }
}

[[gnu::noinline]] void wait_for_nothing(sim_machine& machine) {
    park(machine);
    asm volatile(""); // no tail call
}

TEST(SimRunOutcome, Hang_ReportHasTheStackOfEachWaiter) {
    random_choices source(1);
    sim_machine machine(source);
    machine.spawn("lost", [&] { wait_for_nothing(machine); });
    EXPECT_EQ(machine.run().outcome, sim_outcome::hung);
    EXPECT_NE(machine.last().report.find("wait_for_nothing"), std::string::npos)
        << machine.last().report;
    EXPECT_EQ(machine.last().report.find("make_fcontext"), std::string::npos)
        << machine.last().report;
}

// Tests that the time limit turns an endless wait beside a ticking clock into a hang.
TEST(SimRunOutcome, TimeLimitReached_ReportedAsHang) {
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

TEST(SimRunOutcome, Livelock_EndsAtStepLimit) {
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
    EXPECT_EQ(machine.run().outcome, sim_outcome::step_limit) << "the outcome of a second run";
}

// Tests that an exception in an actor ends the run with its text, and that the other actors stay
// where they are.
TEST(SimRunOutcome, ExceptionInActor_FailsRunAndOthersStop) {
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

// Tests that a bug check ends the run at once, without unwinding.
TEST(SimRunOutcome, BugCheckInActor_EndsRunWithoutUnwinding) {
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

// The state of the others is no finding.
TEST(SimRunOutcome, BugCheck_NoOtherActorIsNamedAndNoDumperIsAsked) {
    random_choices source(1);
    sim_machine machine(source);
    std::string accusation = "irp 7 was lost";
    machine.add_state_dumper(
        [](std::string& text, void* more) { text += *static_cast<std::string*>(more); },
        &accusation);
    machine.spawn("bystander", [&] { park(machine, 1000); });
    machine.spawn("breaker", [&] {
        stall(machine, 10);
        KeBugCheckEx(MANUALLY_INITIATED_CRASH, 1, 2, 3, 4);
    });
    EXPECT_EQ(machine.run().outcome, sim_outcome::bug_check);
    EXPECT_EQ(machine.last().report.find("bystander"), std::string::npos) << machine.last().report;
    EXPECT_EQ(machine.last().report.find(accusation), std::string::npos);
}

} // namespace
} // namespace irpverbs::dispatch
