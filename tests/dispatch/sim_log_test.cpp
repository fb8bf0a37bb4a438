// The event log of a run: equal for equal seeds, in every process and build.
#include "sim_steps.hpp"

#include <gtest/gtest.h>

#include <string>

namespace irpverbs::dispatch {
namespace {

using detail::this_processor;

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

struct run_summary {
    std::string log;
    std::uint64_t hash;
    std::uint64_t fingerprint;
    auto operator<=>(const run_summary&) const = default;
};

run_summary run_small_program(std::uint64_t seed) {
    random_choices source(seed);
    sim_machine machine(source, logged());
    small_program(machine);
    return {machine.event_log(), machine.event_hash(), source.next_draw_fingerprint()};
}

// Tests that a seed determines the event log byte for byte, and that seeds differ.
TEST(SimEventLog, SameSeed_ProducesSameLog) {
    EXPECT_EQ(run_small_program(7), run_small_program(7));
    EXPECT_NE(run_small_program(7).log, run_small_program(8).log);
}

// Tests that every process and every build yields the same log, recorded here.
TEST(SimEventLog, FixedSeed_MatchesRecordedLog) {
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
    EXPECT_EQ(run_small_program(7).hash, 6286721262071600957u);
}

TEST(SimEventLog, EverySchedulingPoint_IsNamedInLog) {
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

TEST(SimEventLog, LogDisabled_HashIsUnchanged) {
    random_choices source(7);
    sim_machine::options options = logged();
    options.log = false;
    sim_machine machine(source, options);
    small_program(machine);
    EXPECT_EQ(machine.event_hash(), run_small_program(7).hash);
    EXPECT_EQ(machine.event_log(), "");
}

} // namespace
} // namespace irpverbs::dispatch
