// Generated subnets for the subnet manager's algorithms.
#pragma once

#include <dispatch/testing/choices.hpp>
#include <model/topology.hpp>

#include <vector>

namespace irpverbs::subnet_manager::testing {

/// Builds a subnet by hand: ports are used in order, all links are 4x FDR with an MTU of 4096.
class subnet_builder {
public:
    topology subnet;

    node_index add_switch(std::uint8_t ports) { return add(SM_NODE_TYPE_SWITCH, ports, 0x5000); }
    node_index add_host() { return add(SM_NODE_TYPE_CA, 1, 0xc000); }

    /// Links the next unused port of each node.
    void link(node_index a, node_index b) { subnet.connect(next(a), next(b)); }

    void hosts_at(node_index at, unsigned count) {
        for (unsigned i = 0; i < count; ++i)
            link(at, add_host());
    }

private:
    node_index add(std::uint8_t type, std::uint8_t ports, std::uint64_t kind) {
        sm_nodeinfo_t info{};
        info.NodeType = type;
        info.NumPorts = ports;
        info.NodeGUID = kind << 48 | ++made_;
        info.PortGUID = info.NodeGUID + (type == SM_NODE_TYPE_CA ? 0x100000000 : 0);
        info.LocalPortNum = 1;
        const node_index node = subnet.add_node(info);
        sm_portinfo_t port{};
        port.MTUCap = 5;
        port.LinkWidthActive = 2;
        port.LinkSpeedExtActive = 1;
        for (unsigned p = 0; p <= ports; ++p)
            subnet.set_port({node, static_cast<std::uint8_t>(p)}, port);
        used_.push_back(0);
        return node;
    }
    port_ref next(node_index node) { return {node, ++used_[node]}; }

    std::uint64_t made_ = 0;
    std::vector<std::uint8_t> used_;
};

/// Two levels: every leaf has `links` links to every spine.
inline topology fat_tree(unsigned leaves, unsigned spines, unsigned hosts, unsigned links = 1) {
    subnet_builder build;
    std::vector<node_index> tops;
    for (unsigned s = 0; s < spines; ++s)
        tops.push_back(build.add_switch(static_cast<std::uint8_t>(leaves * links)));
    for (unsigned l = 0; l < leaves; ++l) {
        const node_index leaf = build.add_switch(static_cast<std::uint8_t>(spines * links + hosts));
        for (const node_index top : tops)
            for (unsigned i = 0; i < links; ++i)
                build.link(leaf, top);
        build.hosts_at(leaf, hosts);
    }
    return std::move(build.subnet);
}

inline topology ring(unsigned switches, unsigned hosts) {
    subnet_builder build;
    std::vector<node_index> all;
    for (unsigned i = 0; i < switches; ++i)
        all.push_back(build.add_switch(static_cast<std::uint8_t>(2 + hosts)));
    for (unsigned i = 0; i < switches; ++i)
        build.link(all[i], all[(i + 1) % switches]);
    for (const node_index at : all)
        build.hosts_at(at, hosts);
    return std::move(build.subnet);
}

inline topology mesh(unsigned width, unsigned height, unsigned hosts) {
    subnet_builder build;
    std::vector<node_index> all;
    for (unsigned i = 0; i < width * height; ++i)
        all.push_back(build.add_switch(static_cast<std::uint8_t>(4 + hosts)));
    for (unsigned y = 0; y < height; ++y)
        for (unsigned x = 0; x < width; ++x) {
            if (x + 1 < width) build.link(all[y * width + x], all[y * width + x + 1]);
            if (y + 1 < height) build.link(all[y * width + x], all[(y + 1) * width + x]);
        }
    for (const node_index at : all)
        build.hosts_at(at, hosts);
    return std::move(build.subnet);
}

/// Switches in a random tree with some more links, and hosts at random places.
inline topology irregular(dispatch::choices& source) {
    subnet_builder build;
    const unsigned switches = 2 + source.pick(9, "switches");
    std::vector<node_index> all;
    for (unsigned i = 0; i < switches; ++i) {
        all.push_back(build.add_switch(60));
        if (i > 0) build.link(all[i], all[source.pick(i, "parent")]);
    }
    for (unsigned i = source.pick(10, "more links"); i-- > 0;) {
        const unsigned a = source.pick(switches, "end");
        const unsigned b = source.pick(switches, "end");
        if (a != b) build.link(all[a], all[b]);
    }
    for (const node_index at : all)
        build.hosts_at(at, source.pick(4, "hosts"));
    return std::move(build.subnet);
}

} // namespace irpverbs::subnet_manager::testing
