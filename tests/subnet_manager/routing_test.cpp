// Properties of the routing over generated subnets, compared with a breadth-first search of the
// test's own.
#include "topologies.hpp"

#include <model/routing.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>

namespace irpverbs::subnet_manager {
namespace {

using namespace testing;

struct routed {
    topology subnet;
    lid_table lids;
    switch_graph graph;
    routing_tables tables;

    explicit routed(topology built, std::uint8_t lmc = 0)
        : subnet(std::move(built)), graph((lids.assign(subnet, lmc), subnet)) {
        tables.compute(subnet, graph, lids);
    }
};

// The number of links from each node to `to`, by a search of the whole graph.
std::vector<unsigned> oracle_distances(const topology& subnet, node_index to) {
    std::vector<unsigned> distance(subnet.nodes().size(), ~0u);
    std::queue<node_index> queue;
    distance[to] = 0;
    queue.push(to);
    while (!queue.empty()) {
        const node_index at = queue.front();
        queue.pop();
        if (at != to && !subnet[at].is_switch()) continue; // hosts do not forward
        for (const subnet_port& port : subnet[at].ports) {
            if (!port.peer.valid() || distance[port.peer.node] != ~0u) continue;
            distance[port.peer.node] = distance[at] + 1;
            queue.push(port.peer.node);
        }
    }
    return distance;
}

// The number of links from a node to a LID by the tables; nullopt when the tables lead nowhere or
// in a circle.
std::optional<unsigned> walk(const routed& r, node_index from, ib_lid_t lid) {
    const port_ref end = r.lids.port_of(lid);
    unsigned links = 0;
    for (node_index at = from; at != end.node;) {
        const std::uint8_t out =
            r.subnet[at].is_switch() ? r.tables.port_for(at, lid) : std::uint8_t{1};
        if (!r.subnet.has({at, out}) || !r.subnet.at({at, out}).peer.valid()) return std::nullopt;
        at = r.subnet.at({at, out}).peer.node;
        if (++links > r.subnet.nodes().size()) return std::nullopt;
    }
    return links;
}

// A node is reachable exactly when the graph says so, without a loop, over the fewest links.
void expect_shortest_everywhere(const routed& r) {
    for (const port_ref end : r.subnet.end_ports()) {
        const auto distance = oracle_distances(r.subnet, end.node);
        const lid_range range = r.lids.of(r.subnet.at(end).guid);
        ASSERT_NE(range.base, 0);
        for (std::uint32_t i = 0; i < range.size(); ++i)
            for (const port_ref from : r.subnet.end_ports()) {
                const auto links = walk(r, from.node, static_cast<ib_lid_t>(range.base + i));
                if (distance[from.node] == ~0u) {
                    EXPECT_FALSE(links);
                } else {
                    ASSERT_TRUE(links) << from.node << " to " << end.node;
                    EXPECT_EQ(*links, distance[from.node]);
                }
            }
    }
}

// At a switch, ports that lead nearer to the same destinations carry equally many of them, give or
// take one.
void expect_balanced(const routed& r) {
    for (std::size_t at = 0; at < r.graph.size(); ++at) {
        const node_index node = r.graph.node_of(at);
        std::map<std::set<std::size_t>, std::vector<std::uint8_t>> alike;
        for (const auto& link : r.graph.links_of(at)) {
            std::set<std::size_t> leads_to;
            for (std::size_t to = 0; to < r.graph.size(); ++to)
                if (to != at && r.graph.distance(link.to, to) + 1 == r.graph.distance(at, to))
                    leads_to.insert(to);
            alike[leads_to].push_back(link.port);
        }
        std::map<std::uint8_t, unsigned> load;
        for (const port_ref end : r.subnet.end_ports())
            if (!r.subnet[end.node].is_switch())
                ++load[r.tables.port_for(node, r.lids.of(r.subnet.at(end).guid).base)];
        for (const auto& [leads_to, ports] : alike) {
            const auto [least, most] =
                std::ranges::minmax(ports, {}, [&](std::uint8_t p) { return load[p]; });
            EXPECT_LE(load[most], load[least] + 1) << "switch " << at;
        }
    }
}

void expect_well_routed(topology subnet) {
    const routed r(std::move(subnet));
    expect_shortest_everywhere(r);
    expect_balanced(r);
}

TEST(Routing, FatTree_IsWellRouted) { expect_well_routed(fat_tree(6, 4, 6)); }
TEST(Routing, FatTreeWithDoubledLinks_IsWellRouted) { expect_well_routed(fat_tree(4, 3, 8, 2)); }
TEST(Routing, Ring_IsWellRouted) { expect_well_routed(ring(7, 3)); }
TEST(Routing, EvenRing_IsWellRouted) { expect_well_routed(ring(8, 2)); }
TEST(Routing, Mesh_IsWellRouted) { expect_well_routed(mesh(4, 3, 2)); }

TEST(Routing, IrregularFabrics_AreWellRouted) {
    for (std::uint64_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        dispatch::random_choices source(seed);
        expect_well_routed(irregular(source));
    }
}

// In a tree without over-subscription each uplink carries the same number of hosts.
TEST(Routing, FatTreeUplinks_ShareLoadEvenly) {
    const routed r(fat_tree(8, 4, 4));
    for (std::size_t at = 0; at < r.graph.size(); ++at) {
        const node_index leaf = r.graph.node_of(at);
        if (r.graph.links_of(at).size() != 4) continue;
        std::map<std::uint8_t, unsigned> load;
        for (const port_ref end : r.subnet.end_ports())
            if (!r.subnet[end.node].is_switch() && r.subnet.at(end).peer.node != leaf)
                ++load[r.tables.port_for(leaf, r.lids.of(r.subnet.at(end).guid).base)];
        for (const auto& link : r.graph.links_of(at))
            EXPECT_EQ(load[link.port], 7u);
    }
}

TEST(Routing, LinksPulledInTurn_AreRoutedAround) {
    dispatch::random_choices source(5);
    topology subnet = fat_tree(4, 3, 2);
    for (int pulled = 0; pulled < 12; ++pulled) {
        std::vector<port_ref> links;
        for (node_index n = 0; n < subnet.nodes().size(); ++n)
            for (unsigned p = 1; p < subnet[n].ports.size(); ++p) {
                const port_ref at{n, static_cast<std::uint8_t>(p)};
                const port_ref peer = subnet.at(at).peer;
                if (peer.valid() && subnet[n].is_switch() && subnet[peer.node].is_switch())
                    links.push_back(at);
            }
        if (links.empty()) break;
        subnet.disconnect(links[source.pick(static_cast<std::uint32_t>(links.size()), "link")]);
        expect_well_routed(subnet);
    }
}

TEST(Routing, LidsOfOnePort_UseDifferentUplinks) {
    const routed r(fat_tree(3, 4, 2), 2);
    expect_shortest_everywhere(r);
    for (const port_ref end : r.subnet.end_ports()) {
        if (r.subnet[end.node].is_switch()) continue;
        const lid_range range = r.lids.of(r.subnet.at(end).guid);
        ASSERT_EQ(range.size(), 4u);
        for (std::size_t at = 0; at < r.graph.size(); ++at) {
            const node_index leaf = r.graph.node_of(at);
            if (r.graph.links_of(at).size() != 4 || leaf == r.subnet.at(end).peer.node) continue;
            std::set<std::uint8_t> ways;
            for (unsigned i = 0; i < 4; ++i)
                ways.insert(r.tables.port_for(leaf, static_cast<ib_lid_t>(range.base + i)));
            EXPECT_EQ(ways.size(), 4u);
        }
    }
}

TEST(Routing, SameFabric_YieldsSameTables) {
    const routed first(mesh(3, 3, 3));
    const routed second(mesh(3, 3, 3));
    for (std::size_t at = 0; at < first.graph.size(); ++at)
        for (unsigned lid = 0; lid <= first.lids.top(); ++lid)
            ASSERT_EQ(first.tables.port_for(first.graph.node_of(at), static_cast<ib_lid_t>(lid)),
                      second.tables.port_for(second.graph.node_of(at), static_cast<ib_lid_t>(lid)));
}

TEST(Routing, LinearTableBlocks_HoldRoutesOrNoPort) {
    const routed r(fat_tree(4, 2, 20));
    const node_index at = r.graph.node_of(0);
    ASSERT_EQ(r.tables.blocks(at), 2u);
    for (std::uint16_t number = 0; number < 3; ++number) {
        const auto block = r.tables.block(at, number);
        for (unsigned i = 0; i < 64; ++i)
            EXPECT_EQ(block.PortBlock[i],
                      r.tables.port_for(at, static_cast<ib_lid_t>(number * 64 + i)));
    }
    EXPECT_EQ(r.tables.block(at, 0).PortBlock[0], no_port);
}

// Every member gets one copy, no other host gets any, and no copy circulates.
void expect_tree(const topology& subnet, const std::vector<port_ref>& members,
                 const multicast_tree& tree, port_ref sender) {
    std::map<node_index, std::vector<std::uint8_t>> forward;
    for (const auto& branch : tree.branches)
        forward[branch.at] = branch.ports;
    std::multiset<node_index> received;
    std::queue<port_ref> copies; // receiving ports
    copies.push(subnet.at(sender).peer);
    for (int steps = 0; !copies.empty(); ++steps) {
        ASSERT_LT(steps, 10000) << "a packet circulates";
        const port_ref in = copies.front();
        copies.pop();
        if (!subnet[in.node].is_switch()) {
            received.insert(in.node);
            continue;
        }
        for (const std::uint8_t out : forward[in.node])
            if (out != in.port && out != 0) copies.push(subnet.at({in.node, out}).peer);
    }
    std::multiset<node_index> expected;
    for (const port_ref member : members)
        if (member.node != sender.node) expected.insert(member.node);
    EXPECT_EQ(received, expected);
}

TEST(MulticastTree, AnySender_EveryMemberReceivesOneCopy) {
    for (std::uint64_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        dispatch::random_choices source(seed);
        const topology subnet = seed % 3 == 0   ? ring(6, 2)
                                : seed % 3 == 1 ? fat_tree(4, 3, 3)
                                                : irregular(source);
        const switch_graph graph(subnet);
        std::vector<port_ref> members;
        for (const port_ref end : subnet.end_ports())
            if (!subnet[end.node].is_switch() && source.pick(2, "member") == 1)
                members.push_back(end);
        if (members.empty()) continue;
        const auto tree = make_multicast_tree(subnet, graph, members, source.pick(100, "mlid"));
        EXPECT_TRUE(tree.left_out.empty());
        for (const port_ref sender : members)
            expect_tree(subnet, members, tree, sender);
    }
}

TEST(MulticastTree, UnreachableMembers_AreReported) {
    subnet_builder build;
    const node_index left = build.add_switch(4), right = build.add_switch(4);
    build.hosts_at(left, 2);
    build.hosts_at(right, 1);
    std::vector<port_ref> members;
    for (const port_ref end : build.subnet.end_ports())
        if (!build.subnet[end.node].is_switch()) members.push_back(end);
    const switch_graph graph(build.subnet);
    const auto tree = make_multicast_tree(build.subnet, graph, members, 0);
    ASSERT_EQ(tree.left_out.size(), 1u);
    EXPECT_EQ(build.subnet.at(tree.left_out[0]).peer.node, right);
    EXPECT_EQ(tree.mask(left, 0), 0x6);
    EXPECT_EQ(tree.mask(right, 0), 0);
    EXPECT_TRUE(make_multicast_tree(build.subnet, graph, {}, 0).branches.empty());
}

} // namespace
} // namespace irpverbs::subnet_manager
