// Cables break, datagrams are lost, the HCA fails: the subnet follows. In virtual time.
#include "../hca/subnet_client.hpp"
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
TEST_P(SweepFaults, CableBreaks_OtherCableCarriesPaths) {
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
        ASSERT_TRUE(eventually([&] { return manager->status().sweeps > before; }));
        EXPECT_TRUE(reaches(near, far, receiver));
        const auto sweeps_before = manager->status().sweeps;
        HcaSoftwareSetLink(guid, link.FromPort, TRUE);
        ASSERT_TRUE(eventually([&] { return manager->status().sweeps > sweeps_before; }));
        EXPECT_FALSE(manager->status().incomplete);
    }
}

// Later sweeps repeat the requests that were not answered.
TEST_P(SweepFaults, LossyFabric_AllPortsBecomeActive) {
    const attached hcas(unmanaged());
    HCA_SOFTWARE_FAULTS faults{};
    faults.LossOnceIn = 5;
    faults.DuplicationOnceIn = 5;
    faults.ReorderingOnceIn = 5;
    faults.ReorderingTime = 100;
    for (std::size_t i = 0; i < hcas.count(); ++i)
        EXPECT_EQ(HcaSoftwareSetFaults(hcas.guid(i), 1, &faults), STATUS_SUCCESS);
    running_manager manager({.hca = hcas.guid(0)});
    EXPECT_TRUE(eventually([&] {
        const auto status = manager->status();
        return status.sweeps != 0 && !status.incomplete && status.end_ports == 7;
    }));
    for (std::size_t i = 0; i < hcas.count(); ++i)
        EXPECT_EQ(port_block(open_hca(hcas.fdo(i)), 1)->State, IB_PORT_ACTIVE);
}

// With an LMC of 7 the routes of 20 hosts are 40 blocks. The spine responds to no Set, since it has
// an M_Key; besides the blocks there are two Sets of its SwitchInfo and one of each of its two
// ports.
TEST_P(SweepFaults, SwitchIgnoresSets_GetsFewOfItsBlocks) {
    constexpr std::uint64_t key = 0x1234;
    const topology_file file(fat_tree_file(1, 1, 20));
    const attached hcas(unmanaged(file.path()));
    {
        const open_hca host(hcas.fdo(1));
        subnet_client writer(host);
        const mad done = writer.modify({1, 21}, sm_port_info, 0, [](mad& info) {
            info.put<8>(smp_data, key);
            info[smp_data + 34] = static_cast<UCHAR>((info[smp_data + 34] & 0x3F) | 0x40);
        });
        EXPECT_EQ(done.status(), 0);
    }
    running_manager manager({.hca = hcas.guid(0), .lmc = 7});
    EXPECT_EQ(manager.wait_until_up(), STATUS_SUCCESS);
    EXPECT_TRUE(manager->status().incomplete);
    EXPECT_LE(manager->status().missing_responses, 16u + 4u);
}

TEST_P(SweepFaults, HcaFails_ManagerStops) {
    const attached hcas(unmanaged());
    running_manager manager({.hca = hcas.guid(0), .light_sweep_ms = 1000});
    manager.wait_until_up();
    EXPECT_EQ(HcaSoftwareFail(hcas.guid(0)), STATUS_SUCCESS);
    EXPECT_TRUE(eventually([&] { return manager->status().state == manager_state::stopped; }));
    EXPECT_EQ(manager.wait_until_up(), STATUS_FILE_CLOSED);
}

// No switch reports the change.
TEST_P(SweepFaults, BackToBackHosts_CableIsPulledAndReplugged_LinkIsActiveAgain) {
    const topology_file file("Hca 1 \"A\"\n[1] \"B\"[1]\n\nHca 1 \"B\"\n[1] \"A\"[1]\n");
    const attached hcas(unmanaged(file.path()));
    running_manager manager({.hca = hcas.guid(0), .light_sweep_ms = 1000});
    ASSERT_EQ(manager.wait_until_up(), STATUS_SUCCESS);
    const auto active = [&] {
        for (std::size_t i = 0; i < hcas.count(); ++i)
            if (port_block(open_hca(hcas.fdo(i)), 1)->State != IB_PORT_ACTIVE) return false;
        return true;
    };
    ASSERT_TRUE(active());
    for (const std::size_t end : {0u, 1u}) {
        HcaSoftwareSetLink(hcas.guid(end), 1, FALSE);
        EXPECT_FALSE(eventually([&] { return manager->status().end_ports != 2; }));
        HcaSoftwareSetLink(hcas.guid(end), 1, TRUE);
        EXPECT_TRUE(eventually(active));
        HcaSoftwareFlapLink(hcas.guid(end), 1);
        EXPECT_TRUE(eventually(active));
    }
}

// Hosts have not left because the manager cannot reach them.
TEST_P(SweepFaults, OwnLink_IsDownDuringSweeps_ManagerWaitsAndKeepsTheSubnet) {
    const attached hcas(unmanaged());
    running_manager manager({.hca = hcas.guid(0), .light_sweep_ms = 1000});
    ASSERT_EQ(manager.wait_until_up(), STATUS_SUCCESS);
    HcaSoftwareSetLink(hcas.guid(0), 1, FALSE);
    EXPECT_FALSE(eventually([&] { return manager->status().end_ports != 7; }));
    EXPECT_TRUE(manager->status().incomplete);
    HcaSoftwareSetLink(hcas.guid(0), 1, TRUE);
    EXPECT_TRUE(eventually([&] { return !manager->status().incomplete; }));
    EXPECT_EQ(port_block(open_hca(hcas.fdo(0)), 1)->State, IB_PORT_ACTIVE);
}

void send_trap(const open_hca& from, const attached& hcas) {
    mad_client sender(from, agent_of(subnet_class));
    constexpr UCHAR trap = 5;
    IB_MAD_ADDRESS to = to_lid(open_hca(hcas.fdo(0)).lid());
    to.Qp = 0;
    to.QKey = 0;
    mad notice(subnet_class, trap, sm_notice);
    notice[smp_data] = 0x80 | 4; // generic; informational
    notice.put<2>(smp_data + 4, SM_CAP_MASK_CHANGED_TRAP).put<2>(smp_data + 6, from.lid());
    EXPECT_EQ(sender.send(to, notice), STATUS_SUCCESS);
}

void wait_ms(LONGLONG time) {
    LARGE_INTEGER due;
    due.QuadPart = -10'000 * time;
    KeDelayExecutionThread(KernelMode, FALSE, &due);
}

// Each round the link fails at a later moment of a sweep that a trap has begun.
TEST_P(SweepFaults, OwnLink_FailsDuringASweep_ManagerKeepsTheSubnet) {
    const attached hcas(unmanaged());
    running_manager manager({.hca = hcas.guid(0), .light_sweep_ms = 0});
    ASSERT_EQ(manager.wait_until_up(), STATUS_SUCCESS);
    const open_hca host(hcas.fdo(2));
    HCA_SOFTWARE_FAULTS slow{};
    slow.Delay = 20'000;
    EXPECT_EQ(HcaSoftwareSetFaults(hcas.guid(0), 1, &slow), STATUS_SUCCESS);
    for (LONGLONG moment = 20; moment < 400; moment += 20) {
        send_trap(host, hcas);
        wait_ms(moment);
        HcaSoftwareSetLink(hcas.guid(0), 1, FALSE);
        for (int i = 0; i < 100; ++i) {
            ASSERT_EQ(manager->status().end_ports, 7u) << moment;
            wait_ms(50);
        }
        HcaSoftwareSetLink(hcas.guid(0), 1, TRUE);
        EXPECT_TRUE(eventually([&] {
            return !manager->status().incomplete &&
                   port_block(open_hca(hcas.fdo(0)), 1)->State == IB_PORT_ACTIVE;
        }));
    }
}

TEST_P(SweepFaults, Traps_ComeInAStorm_SweepsAreOneASecond) {
    const attached hcas(unmanaged());
    running_manager manager({.hca = hcas.guid(0), .light_sweep_ms = 0});
    ASSERT_EQ(manager.wait_until_up(), STATUS_SUCCESS);
    const auto before = manager->status().sweeps;
    const open_hca host(hcas.fdo(2));
    mad_client sender(host, agent_of(subnet_class));
    constexpr UCHAR trap = 5;
    IB_MAD_ADDRESS to = to_lid(open_hca(hcas.fdo(0)).lid());
    to.Qp = 0;
    to.QKey = 0;
    for (int i = 0; i < 200; ++i) {
        mad notice(subnet_class, trap, sm_notice);
        notice[smp_data] = 0x80 | 4; // generic; informational
        notice.put<2>(smp_data + 4, SM_CAP_MASK_CHANGED_TRAP).put<2>(smp_data + 6, host.lid());
        EXPECT_EQ(sender.send(to, notice), STATUS_SUCCESS);
        LARGE_INTEGER due;
        due.QuadPart = -10'000 * 50;
        KeDelayExecutionThread(KernelMode, FALSE, &due);
    }
    EXPECT_GT(manager->status().sweeps, before);
    EXPECT_LE(manager->status().sweeps - before, 4u + 11u);
    const auto during = manager->status().sweeps;
    // the sweep for the last trap
    EXPECT_TRUE(eventually([&] { return manager->status().sweeps > during; }));
}

IRPVERBS_ON_THE_SIMULATED_MACHINE(SweepFaults);

} // namespace
