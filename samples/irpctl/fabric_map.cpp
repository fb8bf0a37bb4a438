#include "fabric_map.hpp"

#include "record_text.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace irpctl {

std::size_t fabric_node::links() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        ports, [](const auto& each) { return each.second.peer.has_value(); }));
}

fabric_map::fabric_map(const fabric_records& records) {
    add_nodes(records.nodes);
    add_ports(records.ports);
    add_links(records.links);
    add_managers(records.managers);
}

// A node has one record per port.
void fabric_map::add_nodes(std::span<const sa_node_record_t> records) {
    std::map<ib_guid_t, fabric_node> found;
    for (const sa_node_record_t& each : records) {
        fabric_node& node = found[each.NodeInfo.NodeGUID];
        node.guid = each.NodeInfo.NodeGUID;
        node.name = name_of(each);
        node.is_switch = each.NodeInfo.NodeType == SM_NODE_TYPE_SWITCH;
        node.ports[node.is_switch ? 0 : each.NodeInfo.LocalPortNum].lid = each.LID;
    }
    for (auto& [guid, node] : found)
        nodes_.push_back(std::move(node));
    std::ranges::sort(nodes_, {}, [](const fabric_node& each) {
        return std::tuple(!each.is_switch, each.name, each.guid);
    });
    for (std::size_t i = 0; i < nodes_.size(); ++i)
        for (const auto& [number, port] : nodes_[i].ports)
            by_lid_[port.lid] = {i, number};
}

const fabric_map::place_of_lid* fabric_map::find(ib_lid_t lid) const {
    const auto found = by_lid_.find(lid);
    return found != by_lid_.end() ? &found->second : nullptr;
}

fabric_port* fabric_map::port_at(ib_lid_t lid, std::uint8_t number) {
    const place_of_lid* const where = find(lid);
    return where != nullptr ? &nodes_[where->node].ports[number] : nullptr;
}

void fabric_map::add_ports(std::span<const sa_portinfo_record_t> records) {
    for (const sa_portinfo_record_t& each : records) {
        fabric_port* const port = port_at(each.EndportLID, each.PortNum);
        if (port == nullptr) continue;
        port->state = value_text(each, "PortState");
        if (each.PortInfo.PortState > IB_PORT_DOWN) port->link = link_text(each.PortInfo);
    }
}

void fabric_map::add_links(std::span<const sa_link_record_t> records) {
    for (const sa_link_record_t& each : records) {
        fabric_port* const port = port_at(each.FromLID, each.FromPort);
        const place_of_lid* const peer = find(each.ToLID);
        if (port == nullptr || peer == nullptr) continue;
        port->peer = peer->node;
        port->peer_port = each.ToPort;
        nodes_[peer->node].ports[each.ToPort]; // a link may arrive without the PortInfoRecord of
                                               // its far end
    }
}

void fabric_map::add_managers(std::span<const sa_sminfo_record_t> records) {
    for (const sa_sminfo_record_t& each : records)
        if (const place_of_lid* const where = find(each.LID))
            nodes_[where->node].ports[where->port].manager = value_text(each, "SMState");
}

std::vector<fabric_link> fabric_map::links() const {
    std::vector<fabric_link> found;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
        for (const auto& [number, port] : nodes_[i].ports)
            if (port.peer && std::pair(i, number) < std::pair(*port.peer, port.peer_port))
                found.push_back({i, number, *port.peer, port.peer_port});
    return found;
}

std::size_t fabric_map::count(bool switches) const {
    return static_cast<std::size_t>(std::ranges::count(nodes_, switches, &fabric_node::is_switch));
}

std::string fabric_map::place(std::size_t node, std::uint8_t port) const {
    return port == 0 ? nodes_[node].name : fmt::format("{} port {}", nodes_[node].name, port);
}

} // namespace irpctl
