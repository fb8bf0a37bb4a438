// A link goes down: the ports that become unreachable are reported before any sweep.
#include "managed_fabric.hpp"
#include "sa_client.hpp"
#include "topologies.hpp"

#include <support/both_machines.hpp>
#include <sweep/switch_poll.hpp>

#include <boost/endian/conversion.hpp>

#include <array>
#include <cstring>
#include <set>

namespace {

using namespace irpverbs::testing;
using irpverbs::subnet_manager::node_index;
using irpverbs::subnet_manager::port_ref;
using irpverbs::subnet_manager::subnet;
using irpverbs::subnet_manager::unreachable_without;

// A tree of 3 leaves with 4 hosts each: spines first, then each leaf with its hosts.
class UnreachableWithout : public ::testing::Test {
protected:
    explicit UnreachableWithout(unsigned spines = 1) : spines_(spines) {
        net.nodes = irpverbs::subnet_manager::testing::fat_tree(3, spines, 4);
        net.manager = {leaf(0) + 1, 1};
    }
    node_index leaf(unsigned which) const { return spines_ + which * 5; }
    std::size_t lost(std::vector<port_ref> cut) const {
        return unreachable_without(net, cut).size();
    }

    unsigned spines_;
    subnet net;
};

TEST_F(UnreachableWithout, HostsCableCut_HostIsUnreachable) {
    const std::array cut{port_ref{leaf(1), 2}};
    const auto lost = unreachable_without(net, cut);
    ASSERT_EQ(lost.size(), 1u);
    EXPECT_EQ(lost[0].node, leaf(1) + 1);
    EXPECT_EQ(unreachable_without(net, {}).size(), 0u);
}

TEST_F(UnreachableWithout, LeafsCablesCut_LeafAndItsHostsAreUnreachable) {
    EXPECT_EQ(lost({{leaf(1), 1}}), 1u + 4);
    EXPECT_EQ(lost({{0, 2}}), 1u + 4); // the other end of that cable
    EXPECT_EQ(lost({{leaf(1), 1}, {leaf(2), 3}}), 1u + 4 + 1);
    // Behind the cable between the manager's leaf and the spine is everything but that leaf and its
    // hosts.
    EXPECT_EQ(lost({{leaf(0), 1}}), 1u + 2 * 5);
    // The manager's own cables: every other port becomes unreachable, but not the manager's own
    // port.
    EXPECT_EQ(lost({{leaf(0), 2}, {leaf(0), 1}}), 4u - 1 + 1 + 1 + 2 * 5);
}

class UnreachableWithoutOneOfTwo : public UnreachableWithout {
protected:
    UnreachableWithoutOneOfTwo() : UnreachableWithout(2) {}
};

TEST_F(UnreachableWithoutOneOfTwo, SecondRouteLeft_NoneIsUnreachable) {
    EXPECT_EQ(lost({{leaf(1), 1}}), 0u);
    EXPECT_EQ(lost({{leaf(1), 1}, {leaf(1), 2}}), 1u + 4);
    EXPECT_EQ(lost({{leaf(1), 1}, {leaf(2), 2}}), 0u);
}

// Two leaves with two hosts each, and a spine.
class SwitchPoll : public BothMachines {
protected:
    SwitchPoll() {
        manager.wait_until_up();
        client = std::make_unique<sa_client>(hcas.guid(1), open_hca(hcas.fdo(0)).lid());
        ib_mad_informinfo_t info{};
        info.LIDRangeBegin = info.Type = 0xFFFF;
        info.IsGeneric = info.Subscribe = 1;
        info.ProducerType_VendorID = 0xFFFFFF;
        for (const auto trap : {SM_GID_IN_SERVICE_TRAP, SM_GID_OUT_OF_SERVICE_TRAP}) {
            info.TrapNumber_DeviceID = static_cast<std::uint16_t>(trap);
            EXPECT_EQ(client->ask(SA_SUBN_ADM_SET, SA_INFORMINFO_ATTRID, info, 0).status, 0);
        }
    }
    std::uint64_t port_guid(std::size_t host) const { return hcas.guid(host) + 1; }

    /// The port GUIDs in the next Reports.
    std::set<std::uint64_t> reported(std::uint16_t trap, int count) {
        std::set<std::uint64_t> guids;
        while (count-- > 0) {
            const ib_mad_notice_t notice = client->next_report();
            EXPECT_EQ(notice.TrapNumber_DeviceID, trap);
            guids.insert(boost::endian::load_big_u64(&notice.DataDetails[14]));
        }
        return guids;
    }
    sm_nodeinfo_t node(const char* name) {
        for (const sa_node_record_t& each : client->table<sa_node_record_t>())
            if (std::strcmp(reinterpret_cast<const char*>(each.NodeDescription.NodeString), name) ==
                0)
                return each.NodeInfo;
        return {};
    }
    std::size_t paths_to(std::size_t host) {
        sa_path_record_t wanted{};
        wanted.SGID = {IB_DEFAULT_GID_PREFIX, port_guid(1)};
        wanted.DGID = {IB_DEFAULT_GID_PREFIX, port_guid(host)};
        return client->table(wanted, SA_PR_COMPMASK_SGID | SA_PR_COMPMASK_DGID).size();
    }
    void set_link(std::size_t host, bool up) {
        EXPECT_EQ(HcaSoftwareSetLink(hcas.guid(host), 1, up), STATUS_SUCCESS);
    }

    const topology_file file{fat_tree_file(2, 1, 2)};
    attached hcas{unmanaged(file.path())};
    running_manager manager{{.hca = hcas.guid(0), .light_sweep_ms = 0}};
    std::unique_ptr<sa_client> client;
};

constexpr std::uint16_t in = SM_GID_IN_SERVICE_TRAP;
constexpr std::uint16_t out = SM_GID_OUT_OF_SERVICE_TRAP;

TEST_P(SwitchPoll, HostUnplugged_IsReportedWithoutASweep) {
    const ib_lid_t lid = open_hca(hcas.fdo(3)).lid();
    std::uint64_t smps = 0;
    EXPECT_TRUE(eventually([&] { // multicast tables are written after the first sweep
        return std::exchange(smps, manager->status().smps) == manager->status().smps;
    }));
    set_link(3, false);
    EXPECT_EQ(reported(out, 1), std::set{port_guid(3)});
    EXPECT_EQ(paths_to(3), 0u);
    EXPECT_EQ(client->table<sa_node_record_t>().size(), 3u + 3);
    EXPECT_EQ(manager->status().end_ports, 3u + 3);
    EXPECT_FALSE(eventually([&] { return manager->status().sweeps != 1; }));
    EXPECT_EQ(manager->status().smps, smps + 3 + 1 + 3); // the leaf's ports, twice
    set_link(3, true);
    EXPECT_EQ(reported(in, 1), std::set{port_guid(3)});
    EXPECT_EQ(open_hca(hcas.fdo(3)).lid(), lid);
    EXPECT_EQ(port_block(open_hca(hcas.fdo(3)), 1)->State, IB_PORT_ACTIVE);
    EXPECT_EQ(paths_to(3), 1u);
}

TEST_P(SwitchPoll, SwitchUnpluggedAndReplugged_ItsHostsAreReportedWithIt) {
    const sm_nodeinfo_t spine = node("S0");
    const sm_nodeinfo_t leaf = node("L1");
    EXPECT_EQ(HcaSoftwareSetLink(spine.NodeGUID, 2, FALSE), STATUS_SUCCESS);
    const std::set all{leaf.PortGUID, port_guid(2), port_guid(3)};
    EXPECT_EQ(reported(out, 3), all);
    EXPECT_EQ(paths_to(3), 0u);
    EXPECT_EQ(client->table<sa_node_record_t>().size(), 4u);
    EXPECT_EQ(client->table<sa_switchinfo_record_t>().size(), 2u);
    EXPECT_TRUE(eventually([&] { return manager->status().sweeps == 2; }));
    EXPECT_EQ(manager->status().switches, 2u);
    EXPECT_EQ(HcaSoftwareSetLink(spine.NodeGUID, 2, TRUE), STATUS_SUCCESS);
    EXPECT_EQ(reported(in, 3), all);
    EXPECT_EQ(paths_to(3), 1u);
}

TEST_P(SwitchPoll, TwoHostsUnpluggedAtOnce_BothAreReported) {
    set_link(2, false);
    set_link(3, false);
    EXPECT_EQ(reported(out, 2), (std::set{port_guid(2), port_guid(3)}));
    set_link(3, true);
    EXPECT_EQ(reported(in, 1), std::set{port_guid(3)});
    set_link(2, true);
    EXPECT_EQ(reported(in, 1), std::set{port_guid(2)});
}

// One host leaves and another comes: a sweep finds the latter.
TEST_P(SwitchPoll, HostPluggedWhileAnotherIsUnplugged_IsFound) {
    set_link(2, false);
    EXPECT_EQ(reported(out, 1), std::set{port_guid(2)});
    set_link(3, false);
    set_link(2, true);
    const std::set both{client->next_report().TrapNumber_DeviceID,
                        client->next_report().TrapNumber_DeviceID};
    EXPECT_EQ(both, (std::set{in, out}));
    EXPECT_TRUE(eventually([&] { return paths_to(2) == 1 && paths_to(3) == 0; }));
}

// The return need not be reported, but the port is configured again.
TEST_P(SwitchPoll, HostRepluggedAtOnce_IsActiveAgain) {
    set_link(3, false);
    set_link(3, true);
    EXPECT_TRUE(eventually([&] {
        return port_block(open_hca(hcas.fdo(3)), 1)->State == IB_PORT_ACTIVE && paths_to(3) == 1;
    }));
}

TEST_P(SwitchPoll, ManagerUnplugged_IsRemoved) {
    running_manager other({.hca = hcas.guid(3)});
    other.wait_until_up();
    EXPECT_TRUE(eventually([&] { return client->table<sa_sminfo_record_t>().size() == 2; }));
    set_link(3, false);
    EXPECT_EQ(reported(out, 1), std::set{port_guid(3)});
    EXPECT_TRUE(eventually([&] { return client->table<sa_sminfo_record_t>().size() == 1; }));
}

TEST_P(SwitchPoll, PollsLost_ASweepFindsTheChange) {
    HCA_SOFTWARE_FAULTS faults{};
    faults.LossOnceIn = 2;
    EXPECT_EQ(HcaSoftwareSetFaults(hcas.guid(0), 1, &faults), STATUS_SUCCESS);
    set_link(2, false);
    // The loss of all four attempts of a request is random.
    for (int turn = 0; turn < 10 && manager->status().missing_responses == 0; ++turn) {
        set_link(3, turn % 2 != 0);
        eventually([&] { return manager->status().missing_responses != 0; });
    }
    EXPECT_NE(manager->status().missing_responses, 0u);
    set_link(3, false);
    EXPECT_EQ(HcaSoftwareSetFaults(hcas.guid(0), 1, nullptr), STATUS_SUCCESS);
    EXPECT_TRUE(eventually([&] { return manager->status().end_ports == 5; }));
}

IRPVERBS_ON_THE_SIMULATED_MACHINE(SwitchPoll);

} // namespace
