// The question of 2005 about blocking: which command layer may a caller at DISPATCH_LEVEL use?
// docs/blocking.md has the answer.
#include <irp/verifier.hpp>
#include <support/abandoned_runs.hpp>
#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>
#include <support/verbs.hpp>

#include <hca/software.h>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::explore_options;
using irpverbs::dispatch::sim_machine;

constexpr KIRQL every_level[] = {PASSIVE_LEVEL, APC_LEVEL, DISPATCH_LEVEL};

struct layer {
    HCA_SOFTWARE_COMMANDS commands;
    NTSTATUS returned; // by a create that succeeds
    const char* name;
};
constexpr layer inline_layer{HcaCommandsInline, STATUS_SUCCESS, "inline"};
constexpr layer by_dpc{HcaCommandsByDpc, STATUS_PENDING, "by a DPC"};
constexpr layer blocking{HcaCommandsBlocking, STATUS_SUCCESS, "blocking"};
constexpr layer blocking_worker{HcaCommandsBlockingWorker, STATUS_PENDING, "a worker blocks"};

/// Creates a CQ from a caller at that level and destroys it afterwards.
NTSTATUS create_at(IB_CA* ca, KIRQL level) {
    verb_call create([&](IRP* irp) {
        KIRQL before = PASSIVE_LEVEL;
        KeRaiseIrql(level, &before);
        const NTSTATUS status = CiCreateCq(ca, 4, nullptr, nullptr, nullptr, irp);
        KeLowerIrql(before);
        return status;
    });
    EXPECT_EQ(create.status(), STATUS_SUCCESS);
    EXPECT_EQ(destroy_cq(create.object<IB_CQ>()), STATUS_SUCCESS);
    return create.returned();
}

class CommandCompletion : public BothMachines {
protected:
    // The verifier turns any finding into a bug check, which ends the test.
    void expect_legal(const layer& over, KIRQL level) {
        const irpverbs::irp::verifier_scope watched("default");
        const attached hcas;
        HcaSoftwareSetCommands(hcas.guid(), over.commands);
        IB_CA* ca = open_ca(hcas.fdo());
        EXPECT_EQ(create_at(ca, level), over.returned) << over.name << " at IRQL " << int{level};
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    }
};

TEST_P(CommandCompletion, CreateOverAsyncLayer_IsLegalAtAnyIrql) {
    for (const KIRQL level : every_level) {
        expect_legal(inline_layer, level);
        expect_legal(by_dpc, level);
    }
}

TEST_P(CommandCompletion, CreateOverBlockingLayer_IsLegalBelowDispatchLevel) {
    expect_legal(blocking, PASSIVE_LEVEL);
    expect_legal(blocking, APC_LEVEL);
}

// A worker blocks in place of the caller, which gets STATUS_PENDING at any level.
TEST_P(CommandCompletion, PendedCreateOverBlockingLayer_IsLegalAtAnyIrql) {
    for (const KIRQL level : every_level)
        expect_legal(blocking_worker, level);
}

IRPVERBS_ON_BOTH_MACHINES(CommandCompletion);

/// A caller creates at DISPATCH_LEVEL while other clients keep the command layer busy. The returned
/// status is checked; the machine's rules report a caller that waits.
void create_among_others(sim_machine& sim, const layer& over) {
    const attached hcas;
    HcaSoftwareSetCommands(hcas.guid(), over.commands);
    IB_CA* ca = nullptr;
    verb_call create;
    verb_call other;
    IB_PORT_ATTR attr{};
    sim.spawn("client", [&] {
        ca = open_ca(hcas.fdo());
        system_thread busy([&] {
            other.send([&](IRP* irp) { return CiQueryPort(ca, 1, sizeof(attr), &attr, irp); });
        });
        {
            const at_dispatch_level here;
            create.send(
                [&](IRP* irp) { return CiCreateCq(ca, 4, nullptr, nullptr, nullptr, irp); });
        }
        busy.join();
        EXPECT_EQ(create.returned(), over.returned);
        EXPECT_EQ(create.status(), STATUS_SUCCESS);
        EXPECT_EQ(destroy_cq(create.object<IB_CQ>()), STATUS_SUCCESS);
        EXPECT_EQ(other.status(), STATUS_BUFFER_OVERFLOW);
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    });
    sim.run();
}

// A wait at DISPATCH_LEVEL would be a bug check in every schedule.
TEST(CommandCompletionCampaign, PendedCreate_NeverBlocksCaller) {
    const irpverbs::irp::verifier_scope watched("default");
    explore_options some;
    some.random_runs = some.pct_runs = 200;
    for (const layer& over : {by_dpc, blocking_worker})
        expect_explored(some, [&](sim_machine& sim) { create_among_others(sim, over); });
}

// The caller would have to wait for the firmware's answer at a level that forbids waiting.
TEST(CommandCompletionCampaign, BlockingCreateAtDispatchLevel_FoundInEverySchedule) {
    const irpverbs::irp::verifier_scope watched("default");
    explore_options all;
    all.random_runs = 100;
    all.pct_runs = 100;
    all.shrink_budget = 0;
    all.stop_at_failure = false;
    const abandoned_runs leaked;
    const auto summary =
        expect_found(all, [](sim_machine& sim) { create_among_others(sim, blocking); });
    ASSERT_TRUE(summary.failure);
    EXPECT_EQ(summary.random.failures, all.random_runs);
    EXPECT_EQ(summary.pct.failures, all.pct_runs);
    EXPECT_NE(summary.failure->report.find("rule: IrqlKeWaitForMutexObject"), std::string::npos)
        << summary.failure->report;
}

} // namespace
