// Maps from records that contradict each other, as an SA may return them.
#include <irpctl/fabric_map.hpp>

#include <gtest/gtest.h>

namespace {

using irpctl::fabric_map;

sa_node_record_t host(ib_lid_t lid) {
    sa_node_record_t made{};
    made.LID = lid;
    made.NodeInfo.NodeGUID = 0x100u * lid;
    made.NodeInfo.NodeType = SM_NODE_TYPE_CA;
    made.NodeInfo.LocalPortNum = 1;
    return made;
}

// A partition hides the PortInfoRecord, or the link came up between two queries.
TEST(IrpctlFabricMap, LinkToAPortWithoutPortInfo_EachPeerPortExists) {
    const sa_node_record_t nodes[] = {host(1), host(2)};
    const sa_link_record_t links[] = {
        {.FromLID = 1, .FromPort = 1, .ToPort = 7, .ToLID = 2},
        {.FromLID = 1, .FromPort = 3, .ToPort = 200, .ToLID = 1},
        {.FromLID = 1, .FromPort = 4, .ToPort = 1, .ToLID = 99},
    };
    const fabric_map map({.nodes = nodes, .ports = {}, .links = links, .managers = {}});
    ASSERT_EQ(map.nodes().size(), 2u);
    for (const irpctl::fabric_node& node : map.nodes())
        for (const auto& [number, port] : node.ports)
            if (port.peer) {
                EXPECT_EQ(map.nodes()[*port.peer].ports.count(port.peer_port), 1u);
            }
    EXPECT_EQ(map.links().size(), 2u);
}

} // namespace
