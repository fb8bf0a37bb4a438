// Timers, DPCs and work items of a program that outlive the machine on which they were used.
#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/ke_shorthand.hpp>

#include <dispatch/machine.hpp>
#include <dispatch/support/processor.hpp>

#include <gtest/gtest.h>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

struct lasting_timer : KTIMER {
    lasting_timer() { KeInitializeTimer(this); }
    void set(LONGLONG ticks) { KeSetTimer(this, from_now(ticks), nullptr); }
};

template <class Body>
void on_a_real_machine(std::uint32_t processors, const Body& body) {
    asio_machine machine({.processors = processors});
    const machine::scope inside(machine);
    body();
}

TEST(LastingObjects, TimerSetWhenItsMachineEnded_IsNotSetAnyMore) {
    lasting_timer one, two, three;
    on_a_real_machine(1, [&] {
        one.set(3600 * second);
        two.set(3600 * second);
        three.set(7200 * second);
    });
    for (lasting_timer* each : {&one, &two, &three})
        EXPECT_EQ(each->Queue, nullptr);
    on_a_real_machine(1, [&] {
        EXPECT_FALSE(KeCancelTimer(&one));
        EXPECT_FALSE(KeSetTimer(&two, from_now(millisecond), nullptr));
        EXPECT_EQ(wait(&two), STATUS_SUCCESS);
    });
}

TEST(LastingObjects, TimerSetInARunThatDidNotFinish_IsNotSetAnyMore) {
    static lasting_timer timer;
    static counted_dpc dpc;
    for (int run = 0; run < 2; ++run) {
        random_choices source(1);
        sim_machine machine(source);
        machine.spawn("one", [] {
            EXPECT_FALSE(KeSetTimer(&timer, from_now(3600 * second), nullptr));
            const at_dispatch_level raised;
            EXPECT_TRUE(KeInsertQueueDpc(&dpc, nullptr, nullptr));
            KeBugCheck(MANUALLY_INITIATED_CRASH);
        });
        EXPECT_EQ(machine.run().outcome, sim_outcome::bug_check);
    }
    EXPECT_EQ(timer.Queue, nullptr);
    EXPECT_EQ(dpc.DpcData, nullptr);
}

TEST(LastingObjects, WorkItemQueuedInARunThatDidNotFinish_IsNotQueuedAnyMore) {
    static WORK_QUEUE_ITEM item;
    ExInitializeWorkItem(
        &item, [](PVOID) {}, nullptr);
    random_choices source(1);
    sim_machine machine(source);
    {
        sim_machine unfinished(source);
        unfinished.spawn("one", [] {
            ExQueueWorkItem(&item, DelayedWorkQueue);
            KeBugCheck(MANUALLY_INITIATED_CRASH);
        });
        EXPECT_EQ(unfinished.run().outcome, sim_outcome::bug_check);
    }
    EXPECT_EQ(item.List.Flink, nullptr);
}

TEST(LastingObjects, DpcForAProcessorThatThisMachineLacks_IsABugCheck) {
    counted_dpc dpc;
    on_a_real_machine(4, [&] { KeSetTargetProcessorDpc(&dpc, 3); });
    on_a_real_machine(2, [&] {
        EXPECT_EQ(bug_check_of([&] { KeInsertQueueDpc(&dpc, nullptr, nullptr); }),
                  ULONG{TIMER_OR_DPC_INVALID});
        KeSetTargetProcessorDpc(&dpc, 1);
        EXPECT_TRUE(KeInsertQueueDpc(&dpc, nullptr, nullptr));
        KeFlushQueuedDpcs();
    });
    EXPECT_EQ(dpc.processor, 1u);
}

} // namespace
