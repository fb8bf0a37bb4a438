// Memory runs short at each place of the fabric once: posts go on, packets are lost as on a cable,
// and no event of a port is lost.
#include "connected_end.hpp"

#include <support/both_machines.hpp>

#include <dispatch/testing/fault_sweep.hpp>
#include <hca/software.h>

#include <optional>

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

IRPVERBS_ON_THE_SIMULATED_MACHINE(FabricMemory);

} // namespace
