// Memory runs short at each place of the fabric once: posts go on, packets are lost as on a cable,
// and no event of a port is lost.
#include "connected_end.hpp"

#include <support/both_machines.hpp>

#include <dispatch/testing/fault_sweep.hpp>
#include <hca/software.h>

#include <optional>
#include <vector>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

class FabricMemory : public BothMachines {
protected:
    /// Rare faults on the cables keep packets from passing straight through.
    void connect() {
        HCA_SOFTWARE_FAULTS faults{};
        faults.DuplicationOnceIn = 1'000'000;
        for (std::size_t i = 0; i < hcas.count(); ++i)
            EXPECT_EQ(HcaSoftwareSetFaults(hcas.guid(i), 1, &faults), STATUS_SUCCESS);
        one.emplace(hcas.fdo(0));
        two.emplace(hcas.fdo(1));
        one->connect(*two);
        two->connect(*one);
    }
    /// Waits for the next completion, without an IRP of its own.
    static IB_WC next(const connected_end& of) {
        IB_WC entry{};
        while (!of.take(entry)) {
            LARGE_INTEGER millisecond;
            millisecond.QuadPart = -10'000;
            KeDelayExecutionThread(KernelMode, FALSE, &millisecond);
        }
        return entry;
    }
    attached hcas;
    std::optional<connected_end> one;
    std::optional<connected_end> two;
};

TEST_P(FabricMemory, EachAllocationOfASendFails_SendArrives) {
    connect();
    one->fill();
    const auto summary = dispatch::fault_sweep([&] {
        EXPECT_EQ(two->post_receive(7, 3000), STATUS_SUCCESS);
        EXPECT_EQ(one->post(one->send(5, 3000)), STATUS_SUCCESS);
        EXPECT_EQ(next(*two).Status, ULONG{IB_WC_SUCCESS});
        EXPECT_EQ(next(*one).Status, ULONG{IB_WC_SUCCESS});
    });
    EXPECT_TRUE(two->has_bytes_of(*one, 3000));
    EXPECT_GE(summary.stacks, 4u); // the packet, its acknowledgement, the timers of both
}

TEST_P(FabricMemory, PortEventCannotBeQueued_Arrives) {
    const open_hca ca(hcas.fdo(0));
    const auto change_link = [&](dispatch::sweep& turns, bool up, IB_ASYNC_EVENT expected) {
        verb_call event([&](IRP* irp) { return CiGetCaPortEvent(ca, 1, irp); });
        {
            const dispatch::fault_plan plan(machine(), turns);
            EXPECT_EQ(HcaSoftwareSetLink(hcas.guid(0), 1, up ? TRUE : FALSE), STATUS_SUCCESS);
        }
        EXPECT_EQ(event.status(), STATUS_SUCCESS);
        EXPECT_EQ(event.information(), static_cast<ULONG_PTR>(expected));
    };
    const auto summary = dispatch::fault_sweep([&](dispatch::sweep& turns) {
        change_link(turns, false, IB_AE_PORT_ERROR);
        change_link(turns, true, IB_AE_PORT_ACTIVE);
    });
    EXPECT_GE(summary.stacks, 2u);
}

// The list of the new pages is the only allocation.
TEST_P(FabricMemory, PagesCannotBeListed_RegionStays) {
    const open_hca ca(hcas.fdo(0));
    IB_PD* const pd = allocate_pd(ca);
    const ib_phys_range_t ranges[] = {{0x5000, 0x1000}, {0x9000, 0x2000}};
    const ib_phys_create_t one_page{0x1000, 1, 0, ranges, 0x70000, 0x1000, 0};
    IB_MR* const mr =
        created<IB_MR>([&](IRP* irp) { return CiRegisterPmr(pd, &one_page, nullptr, irp); });
    const ib_phys_mod_t change{IB_MR_MOD_ADDR, nullptr, {0x3000, 2, 0, ranges, 0x90000, 0x1000, 0}};
    std::vector<NTSTATUS> seen;
    const auto summary = dispatch::fault_sweep([&](dispatch::sweep& turns) {
        EXPECT_EQ(modify_pmr(mr, {IB_MR_MOD_ADDR, nullptr, one_page}), STATUS_SUCCESS);
        verb_call changes;
        {
            const dispatch::fault_plan plan(machine(), turns);
            changes.send([&](IRP* irp) { return CiModifyPmr(mr, &change, nullptr, irp); });
        }
        seen.push_back(changes.status());
        ib_mr_attr_t attr{};
        verb_call query([&](IRP* irp) { return CiQueryMr(mr, sizeof(attr), &attr, nullptr, irp); });
        EXPECT_EQ(query.status(), STATUS_SUCCESS);
        EXPECT_EQ(attr.local_ub, NT_SUCCESS(seen.back()) ? 0x93000u : 0x71000u);
    });
    EXPECT_EQ(seen, (std::vector<NTSTATUS>{STATUS_SUCCESS, STATUS_INSUFFICIENT_RESOURCES}));
    EXPECT_EQ(summary.stacks, 1u);
    EXPECT_EQ(deregister_mr(mr), STATUS_SUCCESS);
    EXPECT_EQ(deallocate_pd(pd), STATUS_SUCCESS);
}

IRPVERBS_ON_THE_SIMULATED_MACHINE(FabricMemory);

} // namespace
