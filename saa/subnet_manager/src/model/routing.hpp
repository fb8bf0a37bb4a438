// Linear forwarding tables by shortest paths. Every hop comes nearer to the destination, so no
// table can loop. A switch selects the shortest-path port with the fewest destinations so far:
// ports that lead to the same destinations differ by at most one destination (LMC 0; hosts count,
// the switches' own LIDs, which carry management only, do not).
#pragma once

#include "lids.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace irpverbs::subnet_manager {

/// The distances between switches in links, as a matrix.
class switch_graph {
public:
    static constexpr std::uint16_t unreachable = 0xffff;

    explicit switch_graph(const topology& subnet);

    std::size_t size() const { return nodes_.size(); }
    node_index node_of(std::size_t position) const { return nodes_[position]; }
    /// Returns the position of a node among the switches, or size() for another node.
    std::size_t position_of(node_index node) const { return positions_[node]; }
    std::uint16_t distance(std::size_t from, std::size_t to) const {
        return distances_[from * size() + to];
    }

    /// A link to another switch.
    struct link {
        std::uint8_t port;
        std::uint32_t to; // position
    };
    std::span<const link> links_of(std::size_t position) const { return links_[position]; }

private:
    std::vector<node_index> nodes_;
    std::vector<std::size_t> positions_;
    std::vector<std::vector<link>> links_; // by port
    std::vector<std::uint16_t> distances_;
};

inline constexpr std::uint8_t no_port = 0xff;

class routing_tables {
public:
    void compute(const topology& subnet, const switch_graph& graph, const lid_table& lids);

    /// Returns the egress port at a switch, 0 for the switch itself, no_port without a route.
    std::uint8_t port_for(node_index at, ib_lid_t destination) const {
        const auto& table = tables_[at];
        return destination < table.size() ? table[destination] : no_port;
    }

    /// Returns entries 64 x block .. +63 in the format of a LinearForwardingTable; no_port past the
    /// end.
    sm_linear_forwarding_table_t block(node_index at, std::uint16_t number) const;

    /// Returns the number of blocks that hold a route.
    std::size_t blocks(node_index at) const { return (tables_[at].size() + 63) / 64; }

private:
    std::vector<std::vector<std::uint8_t>> tables_; // by node; empty unless the node is a switch
};

/// The ports of each switch that forward a multicast group: a tree that spans the members'
/// switches.
struct multicast_tree {
    struct branch {
        node_index at;
        std::vector<std::uint8_t> ports; // ascending
    };
    static constexpr std::size_t no_root = ~std::size_t{0};

    std::vector<branch> branches;   // by node
    std::vector<port_ref> left_out; // members that the root cannot reach
    std::size_t root = no_root;     // position of a switch in the graph; no_root: no member is
                                    // attached to a switch

    /// Returns 16 ports of a switch in the format of a MulticastForwardingTable entry.
    std::uint16_t mask(node_index at, unsigned position) const;

    /// Adds a member by its shortest path to the tree; the root stays. Returns the switches whose
    /// ports changed. Requires a root.
    std::vector<node_index> add(const topology& subnet, const switch_graph& graph, port_ref member);
};

/// Builds a tree whose root is the switch with the smallest sum of distances to the members. Among
/// equal switches `spread` (the MLID) selects one, so that not all groups meet at one switch.
multicast_tree make_multicast_tree(const topology& subnet, const switch_graph& graph,
                                   std::span<const port_ref> members, std::uint32_t spread);

/// Builds a tree with the given root.
multicast_tree make_multicast_tree_at(const topology& subnet, const switch_graph& graph,
                                      std::span<const port_ref> members, std::size_t root);

} // namespace irpverbs::subnet_manager
