// The subnet as it was discovered: nodes, ports, links. Filled from NodeInfo, PortInfo and
// SwitchInfo; knows nothing of how these came. A sweep fills a new one.
#pragma once

#include <basics.hpp>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace irpverbs::subnet_manager {

using node_index = std::uint32_t;
inline constexpr node_index no_node = 0xffffffff;

/// Ports to leave by, one after the other; at most ibmf::max_hops.
using directed_route = std::vector<std::uint8_t>;

struct port_ref {
    node_index node = no_node;
    std::uint8_t port = 0;

    bool valid() const { return node != no_node; }
    bool operator==(const port_ref&) const = default;
};

struct subnet_port {
    ib_guid_t guid = 0; // of an end port: one that has a LID
    sm_portinfo_t info{};
    port_ref peer;
};

struct subnet_node {
    sm_nodeinfo_t info{};
    sm_switchinfo_t switch_info{};
    std::string description;
    std::vector<subnet_port> ports; // by number, 0..NumPorts; port 0 of a CA is unused
    bool has_gone = false;          // of a switch that was removed

    bool is_switch() const { return info.NodeType == SM_NODE_TYPE_SWITCH; }
};

class topology {
public:
    /// The node of that NodeGUID, made when it is new. A port GUID is noted for the port that the
    /// NodeInfo was read through (port 0 of a switch).
    node_index add_node(const sm_nodeinfo_t& info, std::string_view description = {});

    /// False when the node has no such port.
    bool set_port(port_ref at, const sm_portinfo_t& info);
    void set_switch(node_index node, const sm_switchinfo_t& info) {
        nodes_[node].switch_info = info;
    }
    void describe(node_index node, std::string description) {
        nodes_[node].description = std::move(description);
    }

    /// Undoes what either end was linked to. False when a port does not exist, or both are one.
    bool connect(port_ref a, port_ref b);
    void disconnect(port_ref a);

    /// Takes all links of an end port; with port 0 of a switch, all of the switch.
    void remove(port_ref end);

    const std::vector<subnet_node>& nodes() const { return nodes_; }
    const subnet_node& operator[](node_index node) const { return nodes_[node]; }
    const subnet_port& at(port_ref port) const { return nodes_[port.node].ports[port.port]; }
    bool has(port_ref port) const;
    node_index find_node(ib_guid_t node_guid) const;

    bool is_present_switch(node_index node) const {
        return nodes_[node].is_switch() && !nodes_[node].has_gone;
    }

    /// Ports that are to have LIDs, by port GUID: switches' port 0, linked ports of the others.
    std::vector<port_ref> end_ports() const;

private:
    std::vector<subnet_node> nodes_;
    std::unordered_map<ib_guid_t, node_index> by_guid_;
};

/// The port has a link that may be configured, or is.
bool is_linked(const sm_portinfo_t& info);

/// The rate code that a port's active width and speed make; 0 when the port tells none.
/// Source: IBA 14.2.5.6; codes as OpenSM has them.
std::uint8_t rate_of(const sm_portinfo_t& info);

/// Gb/s of a rate code, in tenths; 0 for none. Codes are not in order of speed.
std::uint32_t tenths_of_gigabits(std::uint8_t rate);

/// Whether a code stands for an MTU, or a rate, at all.
constexpr bool is_mtu(std::uint8_t code) { return code >= 1 && code <= 5; }
inline bool is_rate(std::uint8_t code) { return tenths_of_gigabits(code) != 0; }

/// The code of the next slower rate that there is; 0 for none.
std::uint8_t rate_below(std::uint8_t rate);

} // namespace irpverbs::subnet_manager
