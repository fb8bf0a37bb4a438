// Fault injection: random failures, and failures of one call stack after the other.
#include <dispatch/ke.h>
#include <dispatch/pool.h>
#include <dispatch/support/faults.hpp>
#include <dispatch/testing/fault_sweep.hpp>

#include <support/both_machines.hpp>
#include <support/findings.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace irpverbs::testing {
namespace {

using dispatch::fault_plan;
using dispatch::fault_sweep;
using dispatch::fault_sweep_summary;
using dispatch::sim_machine;
using dispatch::sweep;
using dispatch::detail::check;

constexpr ULONG tag = 0x746C7546;

[[gnu::noinline]] void* allocate() { return ExAllocatePool2(POOL_FLAG_NON_PAGED, 16, tag); }

// Allocates at three places; returns the results as letters.
std::string allocate_thrice() {
    std::string got;
    void* first = allocate();
    got += first != nullptr ? 'a' : '-';
    void* second = allocate();
    got += second != nullptr ? 'b' : '-';
    for (int i = 0; i < 3; ++i) {
        void* third = allocate(); // one place, three times
        got += third != nullptr ? 'c' : '-';
        if (third != nullptr) ExFreePool(third);
    }
    if (first != nullptr) ExFreePool(first);
    if (second != nullptr) ExFreePool(second);
    return got;
}

TEST(FaultSweep, ThreeCallStacks_EachFailsAloneThenInPairs) {
    std::vector<std::string> seen;
    const fault_sweep_summary summary = fault_sweep([&] { seen.push_back(allocate_thrice()); });
    EXPECT_EQ(seen, (std::vector<std::string>{"abccc", "-bccc", "a-ccc", "ab-cc", "--ccc", "-b-cc",
                                              "a--cc"}));
    EXPECT_EQ(summary.runs, 7u);
    EXPECT_EQ(summary.stacks, 3u);
    EXPECT_EQ(summary.pairs, 3u);
    EXPECT_EQ(allocate_thrice(), "abccc") << "the plan is over";
}

TEST(FaultSweep, SinglesOrder_SkipsPairs) {
    const fault_sweep_summary summary =
        fault_sweep([] { allocate_thrice(); }, sweep::order::singles);
    EXPECT_EQ(summary.runs, 4u);
    EXPECT_EQ(summary.pairs, 0u);
}

// The sweep also covers a call stack that only a fault reaches.
TEST(FaultSweep, StackReachedByFaultOnly_IsSwept) {
    int fallbacks_failed = 0;
    const fault_sweep_summary summary = fault_sweep([&] {
        void* block = allocate();
        if (block == nullptr) {
            block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 8, tag);
            fallbacks_failed += block == nullptr;
        }
        if (block != nullptr) ExFreePool(block);
    });
    EXPECT_EQ(summary.stacks, 2u);
    EXPECT_EQ(fallbacks_failed, 1) << "in the pair";
}

TEST(FaultSweep, SimMachineThread_RunsAllPlans) {
    std::set<std::string> seen;
    const fault_sweep_summary summary = fault_sweep([&](sweep& turns) {
        dispatch::random_choices chance(7);
        sim_machine machine(chance);
        const fault_plan plan(machine, turns);
        machine.spawn("driver", [&] { seen.insert(allocate_thrice()); });
        EXPECT_TRUE(machine.run());
    });
    EXPECT_EQ(summary.runs, 7u);
    EXPECT_EQ(seen.size(), 7u);
}

TEST(FaultSweep, ThreadsAndLookasideLists_ReceiveFaults) {
    int no_thread = 0;
    int no_block = 0;
    fault_sweep([&] {
        HANDLE handle = nullptr;
        if (PsCreateSystemThread(
                &handle, 0, nullptr, nullptr, nullptr, [](void*) {}, nullptr) != STATUS_SUCCESS) {
            ++no_thread;
        } else {
            irpverbs::testing::wait_for_thread(handle);
            ZwClose(handle);
        }
        NPAGED_LOOKASIDE_LIST list;
        ExInitializeNPagedLookasideList(&list, nullptr, nullptr, 0, 32, tag, 0);
        if (void* block = ExAllocateFromNPagedLookasideList(&list))
            ExFreeToNPagedLookasideList(&list, block);
        else
            ++no_block;
        ExDeleteNPagedLookasideList(&list);
    });
    EXPECT_EQ(no_thread, 3); // alone, and in two pairs
    EXPECT_EQ(no_block, 5);  // the list itself and the pool below it: 2 alone, 3 pairs
}

// A replay repeats the faults, since they are choices of the machine.
TEST(FaultSweep, ReplayOfTrace_RepeatsFault) {
    sweep turns(sweep::order::singles);
    std::vector<std::uint32_t> trace;
    std::string first;
    for (int run = 0; run < 2; ++run) { // the second run has a fault
        dispatch::random_choices chance(7);
        sim_machine machine(chance);
        const fault_plan plan(machine, turns);
        machine.spawn("driver", [&] { first = allocate_thrice(); });
        EXPECT_TRUE(machine.run());
        trace = chance.trace();
        turns.next();
    }
    EXPECT_EQ(first, "-bccc");
    dispatch::replay_choices again(trace);
    sim_machine machine(again);
    const fault_plan plan(machine, turns);
    std::string second;
    machine.spawn("driver", [&] { second = allocate_thrice(); });
    EXPECT_TRUE(machine.run());
    EXPECT_EQ(second, "-bccc");
}

TEST(LowResourceSimulation, Enabled_FailsSixPercentOfAllocations) {
    const checks_scope on{check::low_resources};
    dispatch::random_choices chance(3);
    sim_machine machine(chance);
    int failed = 0;
    machine.spawn("driver", [&] {
        for (int i = 0; i < 2000; ++i) {
            void* block = allocate();
            failed += block == nullptr;
            if (block != nullptr) ExFreePool(block);
        }
        EXPECT_EQ(dispatch::detail::faults_injected(machine), static_cast<std::uint64_t>(failed));
        EXPECT_STREQ(dispatch::detail::last_fault(machine)->site, "pool.allocate");
    });
    EXPECT_TRUE(machine.run());
    EXPECT_GT(failed, 80);
    EXPECT_LT(failed, 160);
}

TEST(LowResourceSimulation, Disabled_AllAllocationsSucceed) {
    for (int i = 0; i < 200; ++i) {
        void* block = allocate();
        EXPECT_NE(block, nullptr);
        ExFreePool(block);
    }
}

// The driver's error path frees too much: the report names the call that had failed.
TEST(FaultSweep, ErrorPathViolation_ReportNamesFailedCall) {
    findings seen{check::pool};
    fault_sweep(
        [] {
            void* first = allocate();
            if (first == nullptr) return;
            void* second = allocate();
            if (second == nullptr)
                ExFreePool(first);
            else
                ExFreePool(second);
            ExFreePool(first);
        },
        sweep::order::singles);
    EXPECT_TRUE(only_reported(seen, "PoolFreedTwice", DRIVER_VERIFIER_DETECTED_VIOLATION, 0x13));
    EXPECT_TRUE(seen.all()[0].has_stack("made to fail: pool.allocate")) << seen.text();
}

} // namespace
} // namespace irpverbs::testing
