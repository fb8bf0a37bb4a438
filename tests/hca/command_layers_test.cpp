// The blocking question of 2005: which command layer may a caller at DISPATCH_LEVEL be over?
#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>
#include <support/verbs.hpp>

#include <hca/software.h>

namespace {

using namespace irpverbs::testing;

constexpr KIRQL every_level[] = {PASSIVE_LEVEL, APC_LEVEL, DISPATCH_LEVEL};

class CommandLayers : public BothMachines {
protected:
    CommandLayers() : ca(open_ca(hcas.fdo())) {}
    ~CommandLayers() override {
        HcaSoftwareSetCommands(hcas.guid(), HcaCommandsInline);
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    }
    // What a create returned, to a caller at that level.
    NTSTATUS create_at(KIRQL level) {
        NTSTATUS returned = STATUS_UNSUCCESSFUL;
        IB_CQ* cq = nullptr;
        {
            verb_call create([&](IRP* irp) {
                KIRQL before = PASSIVE_LEVEL;
                KeRaiseIrql(level, &before);
                const NTSTATUS status = CiCreateCq(ca, 4, nullptr, nullptr, nullptr, irp);
                KeLowerIrql(before);
                return status;
            });
            EXPECT_EQ(create.status(), STATUS_SUCCESS);
            returned = create.returned();
            cq = create.object<IB_CQ>();
        }
        EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
        return returned;
    }

    attached hcas;
    IB_CA* ca;
};

TEST_P(CommandLayers, ACreateOverTheAsynchronousOneIsLegalAtAnyLevel) {
    for (const KIRQL level : every_level) {
        HcaSoftwareSetCommands(hcas.guid(), HcaCommandsInline);
        EXPECT_EQ(create_at(level), STATUS_SUCCESS);
        HcaSoftwareSetCommands(hcas.guid(), HcaCommandsByDpc);
        EXPECT_EQ(create_at(level), STATUS_PENDING);
    }
}

TEST_P(CommandLayers, ACreateOverTheBlockingOneBlocksItsCaller) {
    HcaSoftwareSetCommands(hcas.guid(), HcaCommandsBlocking);
    EXPECT_EQ(create_at(PASSIVE_LEVEL), STATUS_SUCCESS);
}

// A worker blocks in the caller's place, who gets STATUS_PENDING at any level.
TEST_P(CommandLayers, APendedCreateOverTheBlockingOneDoesNot) {
    HcaSoftwareSetCommands(hcas.guid(), HcaCommandsBlockingWorker);
    for (const KIRQL level : every_level)
        EXPECT_EQ(create_at(level), STATUS_PENDING);
}

IRPVERBS_ON_BOTH_MACHINES(CommandLayers);

// The firmware's answer would have to be waited for where nobody may wait.
TEST(CommandLayer, ThatBlocksIsABugCheckAtDispatchLevel) {
    irpverbs::dispatch::explore_options once;
    once.random_runs = 1;
    once.pct_runs = 0;
    once.shrink_budget = 0;
    const auto summary = expect_found(once, [](irpverbs::dispatch::sim_machine& sim) {
        attached hcas;
        HcaSoftwareSetCommands(hcas.guid(), HcaCommandsBlocking);
        sim.spawn("caller", [&] {
            IB_CA* ca = open_ca(hcas.fdo());
            const at_dispatch_level here;
            verb_call([&](IRP* irp) { return CiCreateCq(ca, 4, nullptr, nullptr, nullptr, irp); });
        });
        sim.run();
    });
    ASSERT_TRUE(summary.failure);
    EXPECT_NE(summary.failure->report.find("ATTEMPTED_SWITCH_FROM_DPC"), std::string::npos)
        << summary.failure->report;
}

} // namespace
