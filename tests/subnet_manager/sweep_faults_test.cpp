// Cables break, datagrams are lost, the HCA goes: the subnet follows. In virtual time.
#include "managed_fabric.hpp"
#include "sa_client.hpp"

#include <support/both_machines.hpp>

namespace {

using namespace irpverbs::testing;
using irpverbs::subnet_manager::manager_state;

class SweepFaults : public BothMachines {};

bool reaches(const open_hca& from, const open_hca& to, mad_client& receiver) {
    mad_client sender(from, agent_of(vendor_class));
    sender.send(to_lid(to.lid()), mad(vendor_class, 3, 9));
    return receiver.receive().data.get<2>(16) == 9;
}

// The two switches have two cables between them.
TEST_P(SweepFaults, WhenACableBreaksTheOthersCarryItsPaths) {
    const attached hcas(unmanaged());
    running_manager manager({.hca = hcas.guid(0)});
    manager.wait_until_up();
    const open_hca near(hcas.fdo(1));
    const open_hca far(hcas.fdo(2));
    mad_client receiver(far, agent_of(vendor_class, {3}));
    ASSERT_TRUE(reaches(near, far, receiver));
    sa_client client(hcas.guid(2), open_hca(hcas.fdo(0)).lid());
    for (const auto& link : client.table<sa_link_record_t>()) {
        sa_node_record_t wanted{};
        wanted.LID = link.FromLID;
        wanted.NodeInfo.NodeType = SM_NODE_TYPE_SWITCH;
        constexpr auto components = SA_NODEINFO_COMPMASK_NODELID | SA_NODEINFO_COMPMASK_NODETYPE;
        const auto ends = client.table(wanted, components);
        wanted.LID = link.ToLID;
        if (ends.empty() || client.table(wanted, components).empty()) continue;
        const ib_guid_t guid = ends[0].NodeInfo.NodeGUID;
        const auto before = manager->status().sweeps;
        HcaSoftwareSetLink(guid, link.FromPort, FALSE);
        ASSERT_TRUE(comes_true([&] { return manager->status().sweeps > before; }));
        EXPECT_TRUE(reaches(near, far, receiver));
        const auto mended = manager->status().sweeps;
        HcaSoftwareSetLink(guid, link.FromPort, TRUE);
        ASSERT_TRUE(comes_true([&] { return manager->status().sweeps > mended; }));
        EXPECT_FALSE(manager->status().incomplete);
    }
}

// What was not answered is asked again by later sweeps.
TEST_P(SweepFaults, ALossyFabricComesUpAtLast) {
    const attached hcas(unmanaged());
    HCA_SOFTWARE_FAULTS faults{};
    faults.LossOnceIn = 5;
    faults.DuplicationOnceIn = 5;
    faults.ReorderingOnceIn = 5;
    faults.ReorderingTime = 100;
    for (std::size_t i = 0; i < hcas.count(); ++i)
        EXPECT_EQ(HcaSoftwareSetFaults(hcas.guid(i), 1, &faults), STATUS_SUCCESS);
    running_manager manager({.hca = hcas.guid(0)});
    EXPECT_TRUE(comes_true([&] {
        const auto status = manager->status();
        return status.sweeps != 0 && !status.incomplete && status.end_ports == 7;
    }));
    for (std::size_t i = 0; i < hcas.count(); ++i)
        EXPECT_EQ(port_block(open_hca(hcas.fdo(i)), 1)->State, IB_PORT_ACTIVE);
}

TEST_P(SweepFaults, AManagerEndsWithItsHca) {
    const attached hcas(unmanaged());
    running_manager manager({.hca = hcas.guid(0), .light_sweep_ms = 1000});
    manager.wait_until_up();
    EXPECT_EQ(HcaSoftwareFail(hcas.guid(0)), STATUS_SUCCESS);
    EXPECT_TRUE(comes_true([&] { return manager->status().state == manager_state::stopped; }));
    EXPECT_EQ(manager.wait_until_up(), STATUS_FILE_CLOSED);
}

IRPVERBS_ON_THE_SIMULATED_MACHINE(SweepFaults);

} // namespace
