#include "topology.hpp"

#include <algorithm>
#include <array>

namespace irpverbs::subnet_manager {

node_index topology::add_node(const sm_nodeinfo_t& info, std::string_view description) {
    if (!by_guid_.contains(info.NodeGUID) && !has_room_for(info)) return no_node;
    const auto [found, is_new] =
        by_guid_.try_emplace(info.NodeGUID, static_cast<node_index>(nodes_.size()));
    if (is_new) {
        subnet_node& node = nodes_.emplace_back();
        node.info = info;
        node.description = description;
        node.ports.resize(info.NumPorts + 1u);
        switches_ += node.is_switch() ? 1 : 0;
    }
    subnet_node& node = nodes_[found->second];
    const std::uint8_t port = node.is_switch() ? std::uint8_t{0} : info.LocalPortNum;
    if (port < node.ports.size()) node.ports[port].guid = info.PortGUID;
    return found->second;
}

bool topology::has_room_for(const sm_nodeinfo_t& info) const {
    const bool is_switch = info.NodeType == SM_NODE_TYPE_SWITCH;
    return nodes_.size() < max_nodes && (!is_switch || switches_ < max_switches);
}

bool topology::has(port_ref port) const {
    return port.node < nodes_.size() && port.port < nodes_[port.node].ports.size();
}

bool topology::set_port(port_ref at, const sm_portinfo_t& info) {
    if (!has(at)) return false;
    subnet_port& port = nodes_[at.node].ports[at.port];
    port.info = info;
    port.was_read = true;
    return true;
}

bool topology::connect(port_ref a, port_ref b) {
    if (!has(a) || !has(b) || a == b || a.port == 0 || b.port == 0) return false;
    disconnect(a);
    disconnect(b);
    nodes_[a.node].ports[a.port].peer = b;
    nodes_[b.node].ports[b.port].peer = a;
    return true;
}

void topology::disconnect(port_ref a) {
    if (!has(a)) return;
    const port_ref peer = at(a).peer;
    if (peer.valid()) nodes_[peer.node].ports[peer.port].peer = {};
    nodes_[a.node].ports[a.port].peer = {};
}

void topology::remove(port_ref end) {
    subnet_node& node = nodes_[end.node];
    if (!node.is_switch()) return disconnect(end);
    node.is_removed = true;
    for (std::size_t p = 1; p < node.ports.size(); ++p)
        disconnect({end.node, static_cast<std::uint8_t>(p)});
}

node_index topology::find_node(ib_guid_t node_guid) const {
    const auto found = by_guid_.find(node_guid);
    return found == by_guid_.end() ? no_node : found->second;
}

bool is_linked(const sm_portinfo_t& info) {
    constexpr std::uint8_t physical_link_up = 5;
    constexpr std::uint8_t init = 2;
    return info.PortPhysicalState == physical_link_up && info.PortState >= init;
}

std::vector<port_ref> topology::end_ports() const {
    std::vector<port_ref> ends;
    for (node_index n = 0; n < nodes_.size(); ++n) {
        const subnet_node& node = nodes_[n];
        if (node.is_switch()) {
            if (!node.is_removed && node.ports[0].was_read) ends.push_back({n, 0});
            continue;
        }
        for (std::size_t p = 1; p < node.ports.size(); ++p)
            if (node.ports[p].peer.valid() && node.ports[p].was_read)
                ends.push_back({n, static_cast<std::uint8_t>(p)});
    }
    std::ranges::sort(ends, {}, [&](port_ref p) { return std::pair(at(p).guid, p.port); });
    return ends;
}

namespace {

// Pairs of code and tenths of Gb/s.
constexpr std::array<std::pair<std::uint8_t, std::uint32_t>, 21> rates{
    {{2, 25},    {3, 100},   {4, 300},   {5, 50},   {6, 200},   {7, 400},   {8, 600},
     {9, 800},   {10, 1200}, {11, 140},  {12, 560}, {13, 1120}, {14, 1680}, {15, 250},
     {16, 1000}, {17, 2000}, {18, 3000}, {19, 280}, {20, 500},  {21, 4000}, {22, 6000}}};

std::uint32_t lanes_of(std::uint8_t width) {
    switch (width) {
    case 1:
        return 1;
    case 2:
        return 4;
    case 4:
        return 8;
    case 8:
        return 12;
    case 16:
        return 2;
    default:
        return 0;
    }
}

std::uint32_t lane_tenths(const sm_portinfo_t& info) {
    switch (info.LinkSpeedExtActive) {
    case 1:
        return 140;
    case 2:
        return 250;
    case 4:
        return 500;
    case 8:
        return 1000;
    default:
        break;
    }
    switch (info.LinkSpeedActive) {
    case 1:
        return 25;
    case 2:
        return 50;
    case 4:
        return 100;
    default:
        return 0;
    }
}

} // namespace

std::uint32_t tenths_of_gigabits(std::uint8_t rate) {
    for (const auto& [code, tenths] : rates)
        if (code == rate) return tenths;
    return 0;
}

std::uint8_t rate_below(std::uint8_t rate) {
    std::uint8_t best = 0;
    for (const auto& [code, tenths] : rates)
        if (tenths < tenths_of_gigabits(rate) && tenths > tenths_of_gigabits(best)) best = code;
    return best;
}

std::uint8_t rate_of(const sm_portinfo_t& info) {
    const std::uint32_t wanted = lanes_of(info.LinkWidthActive) * lane_tenths(info);
    for (const auto& [code, tenths] : rates)
        if (tenths == wanted) return code;
    return 0;
}

} // namespace irpverbs::subnet_manager
