#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/ke_shorthand.hpp>

namespace {

using namespace irpverbs::testing;

class Irql : public BothMachines {};

TEST_P(Irql, RaiseAndLower_SaveAndRestoreIrql) {
    KIRQL old = HIGH_LEVEL;
    KeRaiseIrql(APC_LEVEL, &old);
    EXPECT_EQ(old, PASSIVE_LEVEL);
    EXPECT_EQ(KeGetCurrentIrql(), APC_LEVEL);
    EXPECT_EQ(KeRaiseIrqlToDpcLevel(), APC_LEVEL);
    EXPECT_EQ(KeRaiseIrqlToDpcLevel(), DISPATCH_LEVEL);
    KeRaiseIrql(HIGH_LEVEL, &old);
    EXPECT_EQ(old, DISPATCH_LEVEL);
    EXPECT_EQ(KeGetCurrentIrql(), HIGH_LEVEL);
    KeLowerIrql(PASSIVE_LEVEL);
    EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
}

TEST_P(Irql, RaiseToLowerIrql_BugChecks) {
    const at_dispatch_level raised;
    KIRQL old;
    EXPECT_EQ(bug_check_of([&] { KeRaiseIrql(APC_LEVEL, &old); }), IRQL_NOT_GREATER_OR_EQUAL);
}

TEST_P(Irql, RaiseToDpcLevelFromAbove_BugChecks) {
    KIRQL old;
    KeRaiseIrql(CLOCK_LEVEL, &old);
    EXPECT_EQ(bug_check_of([] { KeRaiseIrqlToDpcLevel(); }), IRQL_NOT_GREATER_OR_EQUAL);
    KeLowerIrql(old);
}

TEST_P(Irql, LowerToHigherIrql_BugChecks) {
    const auto report = report_of([] { KeLowerIrql(APC_LEVEL); });
    ASSERT_TRUE(report);
    EXPECT_EQ(report->code, IRQL_NOT_LESS_OR_EQUAL);
    EXPECT_EQ(report->id, APC_LEVEL);
}

TEST_P(Irql, NewThread_StartsAtPassiveLevel) {
    const at_dispatch_level raised;
    KIRQL other = HIGH_LEVEL;
    {
        KeLowerIrql(PASSIVE_LEVEL);
        system_thread thread([&] { other = KeGetCurrentIrql(); });
        thread.join();
        KeRaiseIrqlToDpcLevel();
    }
    EXPECT_EQ(other, PASSIVE_LEVEL);
}

TEST_P(Irql, NestedRegions_DisableApcsUntilLastExit) {
    EXPECT_FALSE(KeAreApcsDisabled());
    KeEnterCriticalRegion();
    KeEnterCriticalRegion();
    KeLeaveCriticalRegion();
    EXPECT_TRUE(KeAreApcsDisabled());
    EXPECT_FALSE(KeAreAllApcsDisabled());
    KeEnterGuardedRegion();
    KeLeaveCriticalRegion();
    EXPECT_TRUE(KeAreApcsDisabled());
    EXPECT_TRUE(KeAreAllApcsDisabled());
    KeLeaveGuardedRegion();
    EXPECT_FALSE(KeAreApcsDisabled());
}

TEST_P(Irql, ApcLevel_DisablesAllApcs) {
    KIRQL old;
    KeRaiseIrql(APC_LEVEL, &old);
    EXPECT_TRUE(KeAreApcsDisabled());
    EXPECT_TRUE(KeAreAllApcsDisabled());
    KeLowerIrql(old);
}

TEST_P(Irql, UnenteredRegionExit_BugChecks) {
    auto report = report_of([] { KeLeaveCriticalRegion(); });
    ASSERT_TRUE(report);
    EXPECT_EQ(report->code, DRIVER_VERIFIER_DETECTED_VIOLATION);
    EXPECT_EQ(report->id, 0x00040003u); // DV CriticalRegions
    report = report_of([] { KeLeaveGuardedRegion(); });
    ASSERT_TRUE(report);
    EXPECT_EQ(report->code, DRIVER_VERIFIER_DETECTED_VIOLATION);
    EXPECT_EQ(report->id, 0x0004000Eu); // DV GuardedRegions
}

TEST_P(Irql, TwoThreads_HaveDistinctProcessorNumbers) {
    const ULONG mine = KeGetCurrentProcessorNumber();
    ULONG other = mine;
    system_thread thread([&] { other = KeGetCurrentProcessorNumber(); });
    thread.join();
    EXPECT_NE(mine, other);
    EXPECT_GE(mine, KeQueryActiveProcessorCount(nullptr)); // the processors below it are for DPCs
    EXPECT_LT(mine, KeQueryMaximumProcessorCount());
    EXPECT_LT(other, KeQueryMaximumProcessorCount());
}

TEST_P(Irql, ActiveProcessors_CountAndMaskAgree) {
    KAFFINITY mask = 0;
    const ULONG count = KeQueryActiveProcessorCount(&mask);
    EXPECT_EQ(mask, KeQueryActiveProcessors());
    EXPECT_EQ(KeQueryActiveProcessorCountEx(0), count);
    EXPECT_EQ(KeQueryActiveProcessorCountEx(ALL_PROCESSOR_GROUPS), count);
    EXPECT_EQ(KeQueryActiveProcessorCountEx(1), 0u); // there is one group
    EXPECT_EQ(KeQueryMaximumProcessorCountEx(1), 0u);
}

TEST_P(Irql, OwnProcessor_IsStoredAndReturned) {
    PROCESSOR_NUMBER number{9, 9, 9};
    const ULONG mine = KeGetCurrentProcessorNumberEx(&number);
    EXPECT_EQ(mine, KeGetCurrentProcessorNumber());
    EXPECT_EQ(number.Group, 0u);
    EXPECT_EQ(number.Number, static_cast<UCHAR>(mine));
    EXPECT_EQ(number.Reserved, 0u);
}

IRPVERBS_ON_BOTH_MACHINES(Irql);

} // namespace
