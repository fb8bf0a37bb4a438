// Exploration through the C interface.
#include <irp/testing/explore.hpp>
#include <irp/wdm.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace {

using namespace irpverbs;

/// Two threads add to a number, with a point between the load and the store.
struct counter {
    LONG value = 0;
    bool locked = false;
    KSPIN_LOCK lock{};
};

void add_one(void* context) {
    counter& shared = *static_cast<counter*>(context);
    KIRQL level = PASSIVE_LEVEL;
    if (shared.locked) KeAcquireSpinLock(&shared.lock, &level);
    const LONG read = shared.value;
    KeStallExecutionProcessor(0);
    shared.value = read + 1;
    if (shared.locked) KeReleaseSpinLock(&shared.lock, level);
}

void add_twice(void* locked) {
    counter shared;
    shared.locked = locked != nullptr;
    KeInitializeSpinLock(&shared.lock);
    irp::explore_spawn("one", add_one, &shared);
    irp::explore_spawn("other", add_one, &shared);
    irp::explore_run();
    if (shared.value != 2) irp::explore_fail("an update was lost");
}

struct exploration_result {
    NTSTATUS status;
    IRP_EXPLORE_SUMMARY summary{};
    std::string report = std::string(20'000, '\0');
};

exploration_result explored(PIRP_EXPLORE_ROUTINE body, void* context,
                            const IRP_EXPLORE_OPTIONS& options = irp::explore_initialize()) {
    exploration_result found{};
    found.status = IrpExplore(&options, body, context, &found.summary, found.report.data(),
                              found.report.size());
    found.report.resize(found.report.find('\0'));
    return found;
}

TEST(IrpExplore, Race_IsFoundWithItsReplayLine) {
    const exploration_result found = explored(add_twice, nullptr);
    EXPECT_EQ(found.status, STATUS_UNSUCCESSFUL);
    EXPECT_EQ(found.summary.Failures, 1u);
    EXPECT_NE(found.report.find("an update was lost"), std::string::npos) << found.report;
    EXPECT_NE(found.report.find("replay: IRPVERBS_STRATEGY=replay:"), std::string::npos);
}

TEST(IrpExplore, RightProgram_PassesWithCounts) {
    int any = 0;
    IRP_EXPLORE_OPTIONS options = irp::explore_initialize();
    options.RandomRuns = options.PctRuns = 100;
    options.ExhaustiveRuns = 10'000;
    const exploration_result found = explored(add_twice, &any, options);
    EXPECT_EQ(found.status, STATUS_SUCCESS) << found.report;
    EXPECT_GT(found.summary.Runs, 200u);
    EXPECT_TRUE(found.summary.Exhausted);
    EXPECT_EQ(found.summary.Preemptions, IRP_EXPLORE_ANY_NUMBER);
}

TEST(IrpExplore, NoTimeAndNoRuns_DoesNotPass) {
    IRP_EXPLORE_OPTIONS options = irp::explore_initialize();
    options.Seconds = 0;
    EXPECT_EQ(explored(add_twice, nullptr, options).status, STATUS_UNSUCCESSFUL);
}

void free_twice(void*) {
    void* block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 64, 1);
    ExFreePool(block);
    ExFreePool(block);
}

TEST(IrpExplore, Verifier_IsOnByItself) {
    const exploration_result found = explored(free_twice, nullptr);
    EXPECT_EQ(found.status, STATUS_UNSUCCESSFUL);
    EXPECT_NE(found.report.find("rule: PoolFreedTwice"), std::string::npos) << found.report;
}

TEST(IrpExplore, WrongOptions_AreNamed) {
    IRP_EXPLORE_OPTIONS options = irp::explore_initialize();
    options.Verifier = "nonsense";
    const exploration_result unknown = explored(add_twice, nullptr, options);
    EXPECT_EQ(unknown.status, STATUS_INVALID_PARAMETER);
    EXPECT_NE(unknown.report.find("nonsense"), std::string::npos) << unknown.report;
    options = irp::explore_initialize();
    options.Size = 3;
    EXPECT_EQ(explored(add_twice, nullptr, options).status, STATUS_INVALID_PARAMETER);
    setenv("IRPVERBS_STRATEGY", "wishful", 1);
    const exploration_result strategy = explored(add_twice, nullptr);
    unsetenv("IRPVERBS_STRATEGY");
    EXPECT_EQ(strategy.status, STATUS_INVALID_PARAMETER);
    EXPECT_NE(strategy.report.find("wishful"), std::string::npos) << strategy.report;
}

TEST(IrpExplore, CppWrapper_VerifiesToo) {
    const auto found = irp::explore({}, [](dispatch::sim_machine&) { free_twice(nullptr); });
    ASSERT_TRUE(found.failure);
    EXPECT_NE(found.failure->what.find("PoolFreedTwice"), std::string::npos);
}

} // namespace
