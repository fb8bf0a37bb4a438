#include "topologies.hpp"

#include <model/paths.hpp>

#include <gtest/gtest.h>

namespace irpverbs::subnet_manager {
namespace {

using namespace testing;

constexpr std::uint64_t path_mtu_components = SA_PR_COMPMASK_MTUSELECTOR | SA_PR_COMPMASK_MTU;
constexpr std::uint64_t rate_components = SA_PR_COMPMASK_RATESELECTOR | SA_PR_COMPMASK_RATE;

// Two leaves under one spine; the uplink of the first leaf is slow and narrow.
struct PathRecords : ::testing::Test {
    topology subnet = fat_tree(2, 1, 2);
    lid_table lids;
    partition_table partitions;
    routing_tables tables;
    std::vector<port_ref> hosts;
    std::uint8_t lmc = 0;

    void SetUp() override {
        for (const port_ref end : subnet.end_ports())
            if (!subnet[end.node].is_switch()) hosts.push_back(end);
        sm_portinfo_t slow = subnet.at(hosts[0]).info;
        slow.MTUCap = 4;
        slow.LinkWidthActive = 2;
        slow.LinkSpeedExtActive = 0;
        slow.LinkSpeedActive = 4; // 4x QDR, 40 Gb/s
        subnet.set_port({subnet.at(hosts[0]).peer.node, 1}, slow);
        subnet.set_port(subnet.at({subnet.at(hosts[0]).peer.node, 1}).peer, slow);
        route_all();
    }
    void route_all() {
        lids.assign(subnet, lmc);
        tables.compute(subnet, switch_graph(subnet), lids);
    }
    std::vector<sa_path_record_t> ask(port_ref from, port_ref to, sa_path_record_t wanted = {},
                                      std::uint64_t components = 0, std::size_t most = 127) {
        return paths_between({subnet, lids, tables, partitions, {.manager_guid = manager}}, from,
                             to, wanted, components, most);
    }
    ib_guid_t manager = 0;

    void make_all_full_members() {
        partition open;
        open.pkey = 0x7fff;
        open.all = membership::full;
        open.sl = 3;
        partitions = partition_table({open});
    }
};

TEST_F(PathRecords, SlowestLink_DeterminesMtuAndRate) {
    make_all_full_members();
    const auto across = ask(hosts[0], hosts[3]);
    ASSERT_EQ(across.size(), 1u);
    EXPECT_EQ(across[0].Mtu, 4);
    EXPECT_EQ(across[0].Rate, 7) << "40 Gb/s";
    EXPECT_EQ(across[0].SL, 3);
    EXPECT_EQ(across[0].P_Key, 0xffff);
    EXPECT_EQ(across[0].DGID.gid_guid, subnet.at(hosts[3]).guid);
    EXPECT_EQ(across[0].SLID, lids.of(subnet.at(hosts[0]).guid).base);
    EXPECT_EQ(across[0].PacketLifeTime, 18);
    const auto near = ask(hosts[0], hosts[1]);
    ASSERT_EQ(near.size(), 1u);
    EXPECT_EQ(near[0].Mtu, 5);
    EXPECT_EQ(near[0].Rate, 12) << "56 Gb/s";
}

TEST_F(PathRecords, MtuAndRateSelectors_MatchOpensm) {
    make_all_full_members();
    sa_path_record_t wanted{};
    const auto mtu = [&](std::uint8_t selector, std::uint8_t value) {
        wanted.MtuSelector = selector;
        wanted.Mtu = value;
        const auto found = ask(hosts[0], hosts[3], wanted, path_mtu_components);
        return found.empty() ? 0 : int{found[0].Mtu};
    };
    EXPECT_EQ(mtu(SA_PR_MTU_SEL_GREATER, 3), 4);
    EXPECT_EQ(mtu(SA_PR_MTU_SEL_GREATER, 4), 0);
    EXPECT_EQ(mtu(SA_PR_MTU_SEL_LESS, 4), 3);
    EXPECT_EQ(mtu(SA_PR_MTU_SEL_LESS, 5), 4);
    EXPECT_EQ(mtu(SA_PR_MTU_SEL_LESS, 1), 0);
    EXPECT_EQ(mtu(SA_PR_MTU_SEL_EXACTLY, 2), 2);
    EXPECT_EQ(mtu(SA_PR_MTU_SEL_EXACTLY, 5), 0);
    EXPECT_EQ(mtu(SA_PR_MTU_SEL_LARGEST_AVAIL, 1), 4);
    const auto rate = [&](std::uint8_t selector, std::uint8_t value) {
        wanted.RateSelector = selector;
        wanted.Rate = value;
        const auto found = ask(hosts[0], hosts[3], wanted, rate_components);
        return found.empty() ? 0 : int{found[0].Rate};
    };
    EXPECT_EQ(rate(SA_PR_RATE_SEL_GREATER, 15), 7) << "25 Gb/s has the larger code";
    EXPECT_EQ(rate(SA_PR_RATE_SEL_LESS, 7), 4) << "30 Gb/s is next below 40";
    EXPECT_EQ(rate(SA_PR_RATE_SEL_EXACTLY, 15), 15);
    EXPECT_EQ(rate(SA_PR_RATE_SEL_EXACTLY, 12), 0);
}

TEST_F(PathRecords, LimitedMembers_ReachFullMembersOnly) {
    manager = subnet.at(hosts[1]).guid;
    EXPECT_TRUE(ask(hosts[0], hosts[3]).empty());
    const auto to_manager = ask(hosts[0], hosts[1]);
    ASSERT_EQ(to_manager.size(), 1u);
    EXPECT_EQ(to_manager[0].P_Key, 0x7fff);
    EXPECT_EQ(ask(hosts[1], hosts[0])[0].P_Key, 0xffff);
}

TEST_F(PathRecords, RequestedPKeyNotShared_ReturnsNoPath) {
    make_all_full_members();
    sa_path_record_t wanted{};
    wanted.P_Key = 0x7fff;
    EXPECT_EQ(ask(hosts[0], hosts[3], wanted, SA_PR_COMPMASK_PKEY).size(), 1u);
    wanted.P_Key = 0x8001;
    EXPECT_TRUE(ask(hosts[0], hosts[3], wanted, SA_PR_COMPMASK_PKEY).empty());
}

TEST_F(PathRecords, PortsWithManyLids_OnePathForEachPairUpToTheNumberAskedFor) {
    make_all_full_members();
    lmc = 2;
    route_all();
    const auto all = ask(hosts[0], hosts[3]);
    ASSERT_EQ(all.size(), 16u);
    for (unsigned i = 0; i < 4; ++i) {
        EXPECT_EQ(all[i].DLID, all[0].DLID + i);
        EXPECT_EQ(all[i].SLID, all[0].SLID + i);
    }
    EXPECT_EQ(ask(hosts[0], {subnet.at(hosts[0]).peer.node, 0}).size(), 4u);
    EXPECT_EQ(ask(hosts[0], hosts[3], {}, 0, 3).size(), 3u);
    sa_path_record_t wanted{};
    wanted.DLID = all[2].DLID;
    EXPECT_EQ(ask(hosts[0], hosts[3], wanted, SA_PR_COMPMASK_DLID).size(), 4u);
    wanted.SLID = static_cast<ib_lid_t>(all[0].SLID - 1);
    EXPECT_TRUE(ask(hosts[0], hosts[3], wanted, SA_PR_COMPMASK_SLID).empty());
}

TEST_F(PathRecords, SwitchOrSelfDestination_ReturnsPathUnlessDisconnected) {
    make_all_full_members();
    const port_ref leaf{subnet.at(hosts[0]).peer.node, 0};
    EXPECT_EQ(ask(hosts[0], leaf).size(), 1u);
    EXPECT_EQ(ask(leaf, hosts[3]).size(), 1u);
    const auto self = ask(hosts[0], hosts[0]);
    ASSERT_EQ(self.size(), 1u);
    EXPECT_EQ(self[0].PacketLifeTime, 0);
    subnet.disconnect({leaf.node, 1});
    route_all();
    EXPECT_TRUE(ask(hosts[0], hosts[3]).empty());
}

// Inconsistent tables yield no path, and no endless walk.
TEST_F(PathRecords, InconsistentTables_WalkTerminates) {
    make_all_full_members();
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        dispatch::random_choices source(seed);
        const topology other = irregular(source);
        tables.compute(other, switch_graph(other), lids);
        if (other.nodes().size() < subnet.nodes().size()) continue;
        for (const port_ref from : hosts)
            for (const port_ref to : hosts)
                ask(from, to);
    }
}

TEST(PartitionConfig, ValidConfiguration_YieldsPartitionKeys) {
    std::string error;
    const auto table = parse_partitions("# two\n"
                                        "Default=0x7fff, ipoib : ALL, SELF=full ;\n"
                                        "storage=0x8012,sl=2,mtu=5,defmember=full :\n"
                                        "  0x1234, 0x5678=limited, ALL_SWITCHES ; # end\n",
                                        "partitions.conf", error);
    ASSERT_TRUE(table) << error;
    ASSERT_EQ(table->partitions().size(), 2u);
    const partition& storage = *table->find(0x0012);
    EXPECT_EQ(storage.name, "storage");
    EXPECT_EQ(storage.sl, 2);
    EXPECT_TRUE(storage.groups.empty()) << "no group without ipoib";
    const std::vector<ib_pkey_t> of_member{0x7fff, 0x8012}, of_limited{0x7fff, 0x0012},
        of_manager{0xffff};
    EXPECT_EQ(table->keys_of(0x1234, SM_NODE_TYPE_CA, 1), of_member);
    EXPECT_EQ(table->keys_of(0x5678, SM_NODE_TYPE_CA, 1), of_limited);
    EXPECT_EQ(table->keys_of(1, SM_NODE_TYPE_CA, 1), of_manager);
    EXPECT_EQ(table->keys_of(9, SM_NODE_TYPE_SWITCH, 1), of_member);
}

TEST(PartitionConfig, ConfigurationError_ReportedWithFileAndLine) {
    const std::pair<const char*, const char*> mistakes[]{
        {"Default=0x7fff : ALL", "f:1: expected ';'"},
        {"\n\nDefault 0x7fff ;", "f:3: expected ':'"},
        {"Default=0x7fff : ALL ;\nx=0 : ALL;", "f:2: expected Name=0xKEY"},
        {"x=0x10000 : ALL;", "f:1: expected Name=0xKEY"},
        {"x=1 : ALL;\ny=0x8001 : ALL;", "f:2: expected a P_Key that no partition above has"},
        {"x=1, colour=2 : ALL;", "f:1: expected ipoib"},
        {"x=1, sl=16 : ALL;", "f:1: expected sl=0..15"},
        {"x=1, mtu=0 : ALL;", "f:1: expected mtu=1..5"},
        {"x=1,\n rate=23 : ALL;", "f:2: expected rate=2..22"},
        {"x=1, scope=16 : ALL;", "f:1: expected scope=0..15"},
        {"x=1 :\n mgid=fe80::1\n ALL;", "f:2: expected mgid=ff"},
        {"x=1 :\n mgid=ff12::1, shade=4\n ALL;", "f:2: expected rate=, mtu=, sl="},
        {"x=1 :\n mgid=ff12::1, ALL=full ;", "f:2: expected rate=, mtu=, sl="},
        {"x=1 :\n mgid=ff12::1\n mgid=ff12::1\n ALL;", "f:3: expected an MGID that no group"},
        {"x=1 : mgid=ff12:401b::9\n ALL;", "f:1: expected ipoib in a partition"},
        {"x=1, ipoib : mgid=ff12:401b:8002::9\n ALL;", "f:1: expected the partition's P_Key"},
        {"x=1, ipoib : mgid=ff12:401b::9,rate=6\n ALL;", "f:1: expected the MTU and the rate"},
        {"x=1 : SOME;", "f:1: expected a port GUID"},
        {"x=1 :\n ALL,\n 0x3=half;", "f:3: expected full, limited or both"},
        {" : ;", "f:1: expected Name=0xKEY"}};
    for (const auto& [text, expected] : mistakes) {
        std::string error;
        EXPECT_FALSE(parse_partitions(text, "f", error)) << text;
        EXPECT_TRUE(error.starts_with(expected)) << error;
    }
}

TEST(PartitionConfig, NoDefaultPartition_DefaultIsAdded) {
    std::string error;
    const auto table = parse_partitions("x=1 : ALL=full;", "f", error);
    ASSERT_TRUE(table);
    EXPECT_EQ(table->keys_of(7, SM_NODE_TYPE_CA, 7), (std::vector<ib_pkey_t>{0xffff, 0x8001}));
}

TEST(PartitionConfig, OneSideFull_KeyIsShared) {
    const std::vector<ib_pkey_t> full{0x8001}, limited{0x0001}, invalid{0x8000};
    EXPECT_EQ(shared_key(full, limited), ib_pkey_t{0x8001});
    EXPECT_EQ(shared_key(limited, full), ib_pkey_t{0x0001});
    const std::vector<ib_pkey_t> both{0xffff, 0x8001};
    EXPECT_EQ(shared_key(both, both), ib_pkey_t{0x8001});
    EXPECT_FALSE(shared_key(limited, limited));
    EXPECT_FALSE(shared_key(invalid, invalid));
    EXPECT_TRUE(share_key(full, limited, 0x0001));
}

TEST(PartitionConfig, PKeyBlock_HoldsThirtyTwoKeys) {
    std::vector<ib_pkey_t> keys;
    for (unsigned i = 1; i <= 40; ++i)
        keys.push_back(static_cast<ib_pkey_t>(i));
    EXPECT_EQ(pkey_block(keys, 0).P_KeyTableBlock[31], 32);
    EXPECT_EQ(pkey_block(keys, 1).P_KeyTableBlock[7], 40);
    EXPECT_EQ(pkey_block(keys, 1).P_KeyTableBlock[8], 0);
    EXPECT_EQ(pkey_block(keys, 2).P_KeyTableBlock[0], 0);
}

} // namespace
} // namespace irpverbs::subnet_manager
