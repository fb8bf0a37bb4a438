// Actors that park and spin, and the virtual time that passes until they continue.
#include "sim_steps.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace irpverbs::dispatch {
namespace {

using detail::this_processor;

// Tests that time stands still while any actor can run, then jumps to the earliest deadline.
TEST(SimParkAndSpin, AllActorsWait_TimeJumpsToEarliestDeadline) {
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

// Tests that an actor keeps at most one token, however many unparks there are, and that it ends one
// park.
TEST(SimParkAndSpin, UnparkBeforePark_StoresOneToken) {
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

TEST(SimParkAndSpin, UnparkBeforeDeadline_EndsWaitEarly) {
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
    EXPECT_EQ(machine.last().time, 400u) << "the deadline ended with the wait";
}

// Tests that a spinning actor continues exactly when its predicate is true.
TEST(SimParkAndSpin, Spin_EndsWhenPredicateHolds) {
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

// Tests that the thread outside a run may wait with a deadline, and that a wait that cannot end
// throws.
TEST(SimParkAndSpin, ThreadOutsideRun_ParksWithDeadlineOnly) {
    random_choices source(1);
    sim_machine machine(source);
    const machine::scope here(machine);
    EXPECT_FALSE(park(machine, 250));
    EXPECT_EQ(machine.interrupt_time(), 250u);
    EXPECT_THROW(park(machine), std::runtime_error);
}

} // namespace
} // namespace irpverbs::dispatch
