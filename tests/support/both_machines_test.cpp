#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>

namespace {

using irpverbs::testing::at_dispatch_level;
using irpverbs::testing::bug_check_of;
using irpverbs::testing::report_of;
using irpverbs::testing::system_thread;

class BothMachinesFixture : public irpverbs::testing::BothMachines {};

TEST_P(BothMachinesFixture, Body_RunsOnNamedMachine) {
    EXPECT_EQ(&irpverbs::dispatch::machine::current(), &machine());
    EXPECT_EQ(machine().simulated(), simulated());
    EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
    EXPECT_EQ(KeQueryActiveProcessorCount(nullptr), processors);
}

TEST_P(BothMachinesFixture, BodyWaits_SystemThreadsRun) {
    KEVENT asked;
    KeInitializeEvent(&asked, SynchronizationEvent, FALSE);
    bool completed = false;
    system_thread other([&] {
        KeWaitForSingleObject(&asked, Executive, KernelMode, FALSE, nullptr);
        completed = true;
    });
    KeSetEvent(&asked, IO_NO_INCREMENT, FALSE);
    other.join();
    EXPECT_TRUE(completed);
}

TEST_P(BothMachinesFixture, DispatchLevelScopeEnds_IrqlIsRestored) {
    {
        const at_dispatch_level raised;
        EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
    }
    EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
}

TEST_P(BothMachinesFixture, BugCheck_ReportIsCaught) {
    EXPECT_FALSE(report_of([] {}));
    const auto report = report_of([] { KeLowerIrql(DISPATCH_LEVEL); });
    ASSERT_TRUE(report);
    EXPECT_EQ(report->code, IRQL_NOT_LESS_OR_EQUAL);
    EXPECT_EQ(report->id, DISPATCH_LEVEL);
    EXPECT_EQ(bug_check_of([] { KeLowerIrql(DISPATCH_LEVEL); }), IRQL_NOT_LESS_OR_EQUAL);
}

IRPVERBS_ON_BOTH_MACHINES(BothMachinesFixture);

} // namespace
