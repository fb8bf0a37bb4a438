#include "topologies.hpp"

#include <model/lids.hpp>

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace irpverbs::subnet_manager {
namespace {

using namespace testing;

std::map<ib_guid_t, ib_lid_t> bases(const topology& subnet, const lid_table& lids) {
    std::map<ib_guid_t, ib_lid_t> all;
    for (const port_ref end : subnet.end_ports())
        all[subnet.at(end).guid] = lids.of(subnet.at(end).guid).base;
    return all;
}

// A node that invents nodes behind its ports does not use up the memory of the manager.
TEST(DiscoveredNodes, MoreThanUnicastLids_AreNotAdded) {
    topology subnet;
    sm_nodeinfo_t info{};
    info.NodeType = SM_NODE_TYPE_CA;
    for (std::size_t i = 0; i < topology::max_nodes; ++i) {
        info.NodeGUID = i + 1;
        ASSERT_EQ(subnet.add_node(info), i);
    }
    info.NodeGUID = topology::max_nodes + 1;
    EXPECT_EQ(subnet.add_node(info), no_node);
    EXPECT_EQ(subnet.nodes().size(), topology::max_nodes);
    info.NodeGUID = 1;
    EXPECT_EQ(subnet.add_node(info), 0u) << "a known node";
}

TEST(DiscoveredNodes, MoreSwitchesThanTheLimit_AreNotAdded) {
    topology subnet;
    sm_nodeinfo_t info{};
    info.NodeType = SM_NODE_TYPE_SWITCH;
    for (std::size_t i = 0; i < topology::max_switches; ++i) {
        info.NodeGUID = i + 1;
        ASSERT_EQ(subnet.add_node(info), i);
    }
    info.NodeGUID = topology::max_switches + 1;
    EXPECT_EQ(subnet.add_node(info), no_node);
    info.NodeType = SM_NODE_TYPE_CA;
    EXPECT_EQ(subnet.add_node(info), topology::max_switches) << "an adapter";
}

TEST(LidAssignment, EachLmc_RangesAreAlignedAndUnique) {
    for (std::uint8_t lmc = 0; lmc <= 7; ++lmc) {
        const topology subnet = fat_tree(5, 3, 7);
        lid_table lids;
        EXPECT_EQ(lids.assign(subnet, lmc), 0u);
        std::set<unsigned> used;
        for (const port_ref end : subnet.end_ports()) {
            const lid_range range = lids.of(subnet.at(end).guid);
            EXPECT_EQ(range.lmc, subnet[end.node].is_switch() ? 0 : lmc);
            EXPECT_EQ(range.base % range.size(), 0u);
            EXPECT_NE(range.base, 0);
            for (unsigned i = 0; i < range.size(); ++i) {
                EXPECT_TRUE(used.insert(range.base + i).second);
                EXPECT_EQ(lids.port_of(static_cast<ib_lid_t>(range.base + i)), end);
            }
        }
        EXPECT_EQ(lids.top(), *used.rbegin());
    }
}

// A port that leaves and returns gets its LID again; the other ports keep theirs.
TEST(LidAssignment, PortAbsentThenBack_LidsUnchanged) {
    topology subnet = ring(5, 3);
    lid_table lids;
    lids.assign(subnet, 1);
    const auto before = bases(subnet, lids);
    const port_ref host = subnet.end_ports().back();
    const port_ref at = subnet.at(host).peer;
    subnet.disconnect(host);
    lids.assign(subnet, 1);
    for (const auto& [guid, base] : bases(subnet, lids))
        EXPECT_EQ(base, before.at(guid));
    EXPECT_FALSE(lids.port_of(before.at(subnet.at(host).guid)).valid()) << "the port is absent";
    subnet.connect(host, at);
    lids.assign(subnet, 1);
    EXPECT_EQ(bases(subnet, lids), before);
}

// A subnet manager that takes over keeps the LIDs in use.
TEST(LidAssignment, LidReportedByPort_KeptUnlessDuplicateOrInvalid) {
    topology subnet = ring(3, 1);
    const auto ends = subnet.end_ports();
    sm_portinfo_t info{};
    info.LID = 40;
    subnet.set_port(ends[0], info);
    info.LID = 41;
    subnet.set_port(ends[1], info);
    subnet.set_port(ends[2], info);
    info.LID = 0xc001;
    subnet.set_port(ends[3], info);
    lid_table lids;
    lids.assign(subnet, 0);
    EXPECT_EQ(lids.of(subnet.at(ends[0]).guid).base, 40);
    EXPECT_EQ(lids.of(subnet.at(ends[1]).guid).base, 41);
    EXPECT_NE(lids.of(subnet.at(ends[2]).guid).base, 41);
    EXPECT_NE(lids.of(subnet.at(ends[3]).guid).base, 0xc001) << "multicast";
}

TEST(LidAssignment, LmcChanged_AllRangesReassigned) {
    const topology subnet = ring(3, 2);
    lid_table lids;
    lids.assign(subnet, 0);
    EXPECT_EQ(lids.assign(subnet, 3), 0u);
    for (const port_ref end : subnet.end_ports()) {
        const lid_range range = lids.of(subnet.at(end).guid);
        EXPECT_EQ(range.lmc, subnet[end.node].is_switch() ? 0 : 3);
        EXPECT_EQ(range.base % range.size(), 0u);
    }
}

// 383 ranges of 128 LIDs fit; the ranges of absent ports are reused before a present port gets
// none.
TEST(LidAssignment, LidSpaceExhausted_AbsentPortsRangesReused) {
    subnet_builder full;
    for (int i = 0; i < 4; ++i)
        full.hosts_at(full.add_switch(100), 96);
    lid_table lids;
    EXPECT_EQ(lids.assign(full.subnet, 7), 384u - 383u);
    topology fewer = full.subnet;
    for (const port_ref end : full.subnet.end_ports())
        if (!full.subnet[end.node].is_switch() && lids.of(full.subnet.at(end).guid).base != 0) {
            fewer.disconnect(end);
            break;
        }
    EXPECT_EQ(lids.assign(fewer, 7), 0u);
}

} // namespace
} // namespace irpverbs::subnet_manager
