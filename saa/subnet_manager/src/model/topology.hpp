// The discovered subnet: nodes, ports, links, from NodeInfo, PortInfo and SwitchInfo. The topology
// is independent of their transport. Each sweep fills a new one.
#pragma once

#include <basics.hpp>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace irpverbs::subnet_manager {

using node_index = std::uint32_t;
inline constexpr node_index no_node = 0xffffffff;

/// The egress ports of a directed route, in order; at most ibmf::max_hops.
using directed_route = std::vector<std::uint8_t>;

struct port_ref {
    node_index node = no_node;
    std::uint8_t port = 0;

    bool valid() const { return node != no_node; }
    bool operator==(const port_ref&) const = default;
};

struct subnet_port {
    ib_guid_t guid = 0; // of an end port, which has a LID
    sm_portinfo_t info{};
    bool was_read = false; // `info` is the port's
    port_ref peer;
};

struct subnet_node {
    sm_nodeinfo_t info{};
    sm_switchinfo_t switch_info{};
    std::string description;
    std::vector<subnet_port> ports; // by number, 0..NumPorts; port 0 of a CA is unused
    bool is_removed = false;        // for a removed switch

    bool is_switch() const { return info.NodeType == SM_NODE_TYPE_SWITCH; }
};

class topology {
public:
    /// The number of unicast LIDs, and so of the nodes that a subnet can have. Nodes announce
    /// further nodes by themselves, so without a limit one of them could announce any number.
    static constexpr std::size_t max_nodes = 0xBFFF;
    /// Limits the distances between switches to 128 MiB.
    static constexpr std::size_t max_switches = 8192;

    /// Returns the node with that NodeGUID, and adds it if it is new; no_node beyond max_nodes or
    /// max_switches.
    /// Stores the port GUID for the port that responded to NodeInfo (port 0 of a switch).
    node_index add_node(const sm_nodeinfo_t& info, std::string_view description = {});

    /// Returns false when the node has no such port.
    bool set_port(port_ref at, const sm_portinfo_t& info);
    void set_switch(node_index node, const sm_switchinfo_t& info) {
        nodes_[node].switch_info = info;
    }
    void describe(node_index node, std::string description) {
        nodes_[node].description = std::move(description);
    }

    /// Connects two ports, and removes their earlier links. Returns false when a port does not
    /// exist, or both are the same.
    bool connect(port_ref a, port_ref b);
    void disconnect(port_ref a);

    /// Removes all links of an end port; with port 0 of a switch, all links of the switch.
    void remove(port_ref end);

    const std::vector<subnet_node>& nodes() const { return nodes_; }
    const subnet_node& operator[](node_index node) const { return nodes_[node]; }
    const subnet_port& at(port_ref port) const { return nodes_[port.node].ports[port.port]; }
    bool has(port_ref port) const;
    node_index find_node(ib_guid_t node_guid) const;

    bool is_present_switch(node_index node) const {
        return nodes_[node].is_switch() && !nodes_[node].is_removed;
    }

    /// Returns the ports that need LIDs, by port GUID: switches' port 0, linked ports of other
    /// nodes. A port without its PortInfo counts as unreachable: its LID is not known.
    std::vector<port_ref> end_ports() const;

private:
    bool has_room_for(const sm_nodeinfo_t& info) const;

    std::vector<subnet_node> nodes_;
    std::size_t switches_ = 0;
    std::unordered_map<ib_guid_t, node_index> by_guid_;
};

/// Whether the port has a link that is configured or may be.
bool is_linked(const sm_portinfo_t& info);

/// Returns the rate code of a port's active width and speed; 0 when the port reports none. Source:
/// IBA 14.2.5.6; codes as in OpenSM.
std::uint8_t rate_of(const sm_portinfo_t& info);

/// Returns the Gb/s of a rate code, in tenths; 0 for an invalid code. Codes are not in order of
/// speed.
std::uint32_t tenths_of_gigabits(std::uint8_t rate);

/// Whether a code is a valid MTU or rate.
constexpr bool is_mtu(std::uint8_t code) { return code >= 1 && code <= 5; }
inline bool is_rate(std::uint8_t code) { return tenths_of_gigabits(code) != 0; }

/// Returns the code of the next slower rate; 0 for none.
std::uint8_t rate_below(std::uint8_t rate);

} // namespace irpverbs::subnet_manager
