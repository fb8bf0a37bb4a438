// Several simulated machines in one process, each on a thread of its own: a report goes to the
// machine where it occurred.
#include <support/bug_checks.hpp>
#include <support/explore_gtest.hpp>
#include <support/findings.hpp>

#include <dispatch/machine.hpp>
#include <dispatch/support/processor.hpp>

#include <gtest/gtest.h>

#include <latch>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace irpverbs::dispatch {
namespace {

using irpverbs::testing::bug_check_of;

void crash() { KeBugCheckEx(MANUALLY_INITIATED_CRASH, 0, 0, 0, 0); }

// The second machine's run begins and ends within the first one's.
TEST(ParallelMachines, BugCheckInEach_EndsTheRunOfItsOwnMachine) {
    std::latch first_runs(1), second_ended(1);
    std::string first_report, second_report;
    std::thread first([&] {
        random_choices source(1);
        sim_machine machine(source);
        machine.spawn("of the first", [&] {
            first_runs.count_down();
            second_ended.wait();
            crash();
        });
        EXPECT_EQ(machine.run().outcome, sim_outcome::bug_check);
        first_report = machine.last().report;
    });
    std::thread second([&] {
        random_choices source(1);
        sim_machine machine(source);
        machine.spawn("of the second", crash);
        first_runs.wait();
        EXPECT_EQ(machine.run().outcome, sim_outcome::bug_check);
        second_report = machine.last().report;
        second_ended.count_down();
    });
    first.join();
    second.join();
    EXPECT_NE(first_report.find("bug check by of the first"), std::string::npos) << first_report;
    EXPECT_NE(second_report.find("bug check by of the second"), std::string::npos) << second_report;
}

// Crashes in every third run and hangs in every third; such runs leave objects behind.
void fail_by_choice(sim_machine& machine) {
    machine.context();
    KSPIN_LOCK lock = 0;
    machine.spawn("one", [&] {
        const KIRQL old = KeAcquireSpinLockRaiseToDpc(&lock);
        const std::uint32_t way = machine.source().pick(3, "way");
        if (way == 1) crash();
        if (way == 2) machine.park(detail::this_processor(), detail::no_deadline);
        KeReleaseSpinLock(&lock, old);
    });
    machine.spawn("other", [&] { KeReleaseSpinLock(&lock, KeAcquireSpinLockRaiseToDpc(&lock)); });
    machine.run();
}

explore_summary campaign() {
    explore_options options;
    options.random_runs = options.pct_runs = 500;
    options.stop_at_failure = false;
    return explore(options, fail_by_choice);
}

TEST(ParallelMachines, CampaignsOnFourThreads_GiveTheResultOfOneAlone) {
    for (const char* name : {"IRPVERBS_SEED", "IRPVERBS_STRATEGY", "IRPVERBS_SEEDS"})
        unsetenv(name);
    const explore_summary alone = campaign();
    ASSERT_GT(alone.random.failures, 100u);
    std::vector<explore_summary> together(4);
    {
        std::vector<std::jthread> threads;
        for (explore_summary& each : together)
            threads.emplace_back([&each] { each = campaign(); });
    }
    for (const explore_summary& each : together) {
        EXPECT_EQ(each.text(), alone.text());
        EXPECT_EQ(each.random.failures, alone.random.failures);
        EXPECT_EQ(each.pct.failures, alone.pct.failures);
    }
}

// A handler that is installed on a simulated machine belongs to that machine.
TEST(ParallelMachines, HandlerInstalledInARun_SeesNoReportOfAnotherMachine) {
    random_choices source(1);
    sim_machine machine(source);
    ULONG inside = 0;
    sim_outcome other = sim_outcome::finished;
    machine.spawn("one", [&] {
        inside = bug_check_of([&] {
            std::thread([&] {
                random_choices its(2);
                sim_machine another(its);
                another.spawn("two", crash);
                other = another.run().outcome;
            }).join();
            KeBugCheckEx(INVALID_DATA_ACCESS_TRAP, 0, 0, 0, 0);
        });
    });
    EXPECT_TRUE(machine.run());
    EXPECT_EQ(inside, ULONG{INVALID_DATA_ACCESS_TRAP});
    EXPECT_EQ(other, sim_outcome::bug_check);
}

// The machine's handler comes before the process-wide one.
TEST(ParallelMachines, RunUnderAProcessWideHandler_StillEndsAtItsBugCheck) {
    sim_outcome ended = sim_outcome::finished;
    const ULONG outside = bug_check_of([&] {
        random_choices source(1);
        sim_machine machine(source);
        machine.spawn("one", crash);
        ended = machine.run().outcome;
    });
    EXPECT_EQ(ended, sim_outcome::bug_check);
    EXPECT_EQ(outside, 0u);
}

} // namespace
} // namespace irpverbs::dispatch
