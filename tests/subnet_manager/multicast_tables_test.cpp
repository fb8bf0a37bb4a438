// The multicast tables of switches, read from the switches themselves: the desired tables are
// written, whatever is lost, reordered or changed during the update. In virtual time.
#include "../hca/subnet_client.hpp"
#include "managed_fabric.hpp"
#include "multicast_components.hpp"
#include "sa_client.hpp"

#include <hca/software.h>
#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

#include <bit>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::sim_machine;

constexpr UCHAR cables[] = {7, 8}; // between the two switches

void wait_ms(LONGLONG time) {
    LARGE_INTEGER due;
    due.QuadPart = -10'000 * time;
    KeDelayExecutionThread(KernelMode, FALSE, &due);
}

/// The built-in fabric; two hosts at each of the two switches.
struct multicast_fabric {
    ib_gid_t gid(std::size_t hca) const { return {IB_DEFAULT_GID_PREFIX, hcas.guid(hca) + 1}; }
    ib_lid_t lid(std::size_t hca) const { return open_hca(hcas.fdo(hca)).lid(); }

    sa_mcmember_record_t member(std::size_t host, std::uint64_t number = 1) const {
        sa_mcmember_record_t record{};
        record.MGID = {0xff12401bffff0000, number};
        record.PortGID = gid(host);
        record.JoinState = SA_MC_JOIN_FULL;
        record.P_Key = 0xFFFF;
        record.Q_Key = 0x1234;
        return record;
    }
    static sa_response join(sa_client& by, const sa_mcmember_record_t& who) {
        return by.ask(SA_SUBN_ADM_SET, SA_MCMEMBERRECORD_ATTRID, who, to_create);
    }
    static sa_response leave(sa_client& by, const sa_mcmember_record_t& who) {
        return by.ask(SA_SUBN_ADM_DELETE, SA_MCMEMBERRECORD_ATTRID, who, to_join);
    }

    /// The number of ports in the first block of the two switches' tables, read by the last host's
    /// own SMPs.
    unsigned ports_in_tables() {
        const open_hca last(hcas.fdo(3));
        subnet_client asks(last);
        unsigned bits = 0;
        for (const mad& table : {asks.get({1}, sm_multicast_table, 0),
                                 asks.get({1, cables[0]}, sm_multicast_table, 0)})
            for (std::size_t i = 0; i < 64; ++i)
                bits += static_cast<unsigned>(std::popcount(table[smp_data + i]));
        return bits;
    }
    void set_faults(const HCA_SOFTWARE_FAULTS& faults, std::size_t host) {
        EXPECT_EQ(HcaSoftwareSetFaults(hcas.guid(host), 1, &faults), STATUS_SUCCESS);
    }
    void lose_between_switches(sa_client& by, ULONG once_in) {
        HCA_SOFTWARE_FAULTS faults{};
        faults.LossOnceIn = once_in;
        sa_node_record_t wanted{};
        wanted.NodeInfo.NodeType = SM_NODE_TYPE_SWITCH;
        if (switch_ == 0)
            switch_ = by.table(wanted, SA_NODEINFO_COMPMASK_NODETYPE).at(0).NodeInfo.NodeGUID;
        for (const UCHAR cable : cables)
            EXPECT_EQ(HcaSoftwareSetFaults(switch_, cable, &faults), STATUS_SUCCESS);
    }

    attached hcas{unmanaged()};
    ib_guid_t switch_ = 0;
};

class MulticastTables : public BothMachines, protected multicast_fabric {};

TEST_P(MulticastTables, Leave_WhileTheJoinsTableIsInFlight_LeavesNoPortBehind) {
    running_manager manager({.hca = hcas.guid(0)});
    ASSERT_EQ(manager.wait_until_up(), STATUS_SUCCESS);
    sa_client host(hcas.guid(1), lid(0));
    host.times.retrans_rtv = 2'000'000;
    HCA_SOFTWARE_FAULTS slow{};
    slow.Delay = 50'000;
    set_faults(slow, 0);
    {
        const system_thread joins([&] { join(host, member(1)); });
        wait_ms(20);
        EXPECT_EQ(leave(host, member(1)).status, 0);
    }
    set_faults({}, 0);
    EXPECT_TRUE(eventually([&] { return ports_in_tables() == 0; }));
}

TEST_P(MulticastTables, Takeover_NoMemberRejoins_FormerMastersTreesAreRemoved) {
    {
        running_manager first({.hca = hcas.guid(0)});
        ASSERT_EQ(first.wait_until_up(), STATUS_SUCCESS);
        sa_client near(hcas.guid(1), lid(0)), far(hcas.guid(2), lid(0));
        EXPECT_EQ(join(near, member(1)).status, 0);
        EXPECT_EQ(join(far, member(2)).status, 0);
        EXPECT_EQ(ports_in_tables(), 4u);
    }
    running_manager second({.hca = hcas.guid(0)});
    ASSERT_EQ(second.wait_until_up(), STATUS_SUCCESS);
    EXPECT_TRUE(eventually([&] { return ports_in_tables() == 0; }));
}

// IBMF repeats the request after BUSY; in the end a sweep finds that the switch cannot be reached.
TEST_P(MulticastTables, Join_SwitchDoesNotTakeItsTable_IsBusyUntilASweepKnowsMore) {
    running_manager manager({.hca = hcas.guid(0), .light_sweep_ms = 0});
    ASSERT_EQ(manager.wait_until_up(), STATUS_SUCCESS);
    sa_client near(hcas.guid(1), lid(0)), far(hcas.guid(2), lid(0));
    near.times = {9, 5'000'000, 0, 0};
    EXPECT_EQ(join(far, member(2)).status, 0);
    lose_between_switches(near, 1);
    EXPECT_EQ(manager->status().sweeps, 1u);
    EXPECT_EQ(join(near, member(1)).status, 0);
    EXPECT_GT(manager->status().sweeps, 1u);
    lose_between_switches(near, 0);
    EXPECT_TRUE(eventually([&] {
        const sa_response done = join(far, member(2));
        return done.code == IBMF_SUCCESS && done.status == 0;
    }));
    EXPECT_EQ(ports_in_tables(), 4u);
}

IRPVERBS_ON_THE_SIMULATED_MACHINE(MulticastTables);

/// Hosts join and leave in drawn order over links that lose, duplicate and reorder; in the end all
/// are members, or none is, and the switches' tables agree.
struct churning_fabric : multicast_fabric {
    explicit churning_fabric(sim_machine& its_sim) : sim(its_sim) {
        manager.wait_until_up();
        for (std::size_t i = 0; i < hcas.count(); ++i)
            hosts.push_back(std::make_unique<sa_client>(hcas.guid(i), lid(0)));
        HCA_SOFTWARE_FAULTS faults{};
        faults.LossOnceIn = faults.DuplicationOnceIn = faults.ReorderingOnceIn = 10;
        faults.ReorderingTime = 2000;
        for (std::size_t i = 0; i < hcas.count(); ++i)
            set_faults(faults, i);
        lose_between_switches(*hosts[0], 10);
    }

    void churn(std::size_t host) {
        for (int i = 0; i < 4; ++i) {
            const bool joins = sim.random() % 2 == 0;
            const auto who = member(host, 1 + sim.random() % 2);
            joins ? join(*hosts[host], who) : leave(*hosts[host], who);
            wait_ms(static_cast<LONGLONG>(sim.random() % 3));
        }
    }
    void settle() {
        for (std::size_t i = 0; i < hcas.count(); ++i)
            set_faults({}, i);
        lose_between_switches(*hosts[0], 0);
        // Outstanding requests, and a round of the audit: a late duplicate may have undone a Set.
        wait_ms(70'000);
    }
    void check() {
        settle();
        const bool all = sim.random() % 2 == 0;
        for (std::size_t i = 0; i < hcas.count(); ++i)
            for (const std::uint64_t number : {1u, 2u})
                EXPECT_TRUE(eventually([&] {
                    const sa_response done = all ? join(*hosts[i], member(i, number))
                                                 : leave(*hosts[i], member(i, number));
                    return done.code == IBMF_SUCCESS && done.status != MAD_STATUS_BUSY;
                }));
        // Four hosts and the cable's two ends, in each of two groups; the tables are complete when
        // a join has its response.
        EXPECT_EQ(ports_in_tables(), all ? 2u * (4 + 2) : 0u);
    }

    sim_machine& sim;
    running_manager manager{{.hca = hcas.guid(0), .light_sweep_ms = 1000}};
    std::vector<std::unique_ptr<sa_client>> hosts;
};

TEST(MulticastCampaign, JoinsAndLeaves_InFlightTogetherOverLossyLinks_TablesAreAsWanted) {
    irpverbs::dispatch::explore_options options;
    options.random_runs = 60;
    options.pct_runs = 0;
    options.machine.step_limit = 2'000'000;
    expect_explored(options, [](sim_machine& sim) {
        churning_fabric world(sim);
        for (std::size_t i = 0; i < world.hcas.count(); ++i)
            sim.spawn("churns", [&, i] { world.churn(i); });
        sim.run();
        sim.end_delays();
        world.check();
    });
}

} // namespace
