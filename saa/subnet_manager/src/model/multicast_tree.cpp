#include "routing.hpp"

#include <algorithm>

namespace irpverbs::subnet_manager {
namespace {

// Returns the root: `switches` are the positions of the members' switches. Among switches with the
// smallest sum of distances to them, `spread` selects one.
std::size_t choose_root(const switch_graph& graph, const std::vector<std::size_t>& switches,
                        std::uint32_t spread) {
    std::vector<std::size_t> best;
    std::uint64_t best_sum = ~0ull;
    for (std::size_t root = 0; root < graph.size(); ++root) {
        std::uint64_t sum = 0;
        for (const std::size_t member_switch : switches)
            sum += graph.distance(root, member_switch);
        if (sum > best_sum) continue;
        if (sum < best_sum) best.clear();
        best_sum = sum;
        best.push_back(root);
    }
    return best[spread % best.size()];
}

// Returns the link from `at` toward `root`: the lowest port to the nearest switch with the lowest
// GUID.
const switch_graph::link* uplink(const switch_graph& graph, std::size_t at, std::size_t root) {
    const switch_graph::link* best = nullptr;
    for (const auto& link : graph.links_of(at))
        if (graph.distance(link.to, root) + 1 == graph.distance(at, root) &&
            (best == nullptr || link.to < best->to))
            best = &link;
    return best;
}

// Returns the switch port that leads to a member: the far end of its link, or a switch's own port
// 0.
port_ref exit_of(const topology& subnet, port_ref member) {
    return subnet[member.node].is_switch() ? member : subnet.at(member).peer;
}

// Returns the position of the port's switch, or the graph's size when there is none.
std::size_t switch_of(const switch_graph& graph, port_ref exit) {
    return exit.valid() ? graph.position_of(exit.node) : graph.size();
}

multicast_tree::branch& branch_at(multicast_tree& tree, node_index at) {
    const auto place = std::ranges::lower_bound(tree.branches, at, {}, &multicast_tree::branch::at);
    if (place != tree.branches.end() && place->at == at) return *place;
    return *tree.branches.insert(place, {at, {}});
}

bool has_branch(const multicast_tree& tree, node_index at) {
    return std::ranges::binary_search(tree.branches, at, {}, &multicast_tree::branch::at);
}

void add_port(multicast_tree& tree, node_index at, std::uint8_t port) {
    std::vector<std::uint8_t>& ports = branch_at(tree, at).ports;
    const auto place = std::ranges::lower_bound(ports, port);
    if (place == ports.end() || *place != port) ports.insert(place, port);
}

} // namespace

std::vector<node_index> multicast_tree::add(const topology& subnet, const switch_graph& graph,
                                            port_ref member) {
    const port_ref exit = exit_of(subnet, member);
    std::size_t at = switch_of(graph, exit);
    if (at == graph.size() || graph.distance(at, root) == switch_graph::unreachable) {
        left_out.push_back(member);
        return {};
    }
    std::vector<node_index> changed{exit.node};
    bool joined = at == root || has_branch(*this, exit.node);
    add_port(*this, exit.node, exit.port);
    while (!joined) {
        const switch_graph::link& up = *uplink(graph, at, root);
        const port_ref far = subnet.at({graph.node_of(at), up.port}).peer;
        joined = up.to == root || has_branch(*this, far.node);
        add_port(*this, graph.node_of(at), up.port);
        add_port(*this, far.node, far.port);
        changed.push_back(far.node);
        at = up.to;
    }
    return changed;
}

multicast_tree make_multicast_tree_at(const topology& subnet, const switch_graph& graph,
                                      std::span<const port_ref> members, std::size_t root) {
    multicast_tree tree;
    tree.root = root;
    for (const port_ref member : members)
        tree.add(subnet, graph, member);
    return tree;
}

multicast_tree make_multicast_tree(const topology& subnet, const switch_graph& graph,
                                   std::span<const port_ref> members, std::uint32_t spread) {
    std::vector<std::size_t> switches;
    for (const port_ref member : members) {
        const std::size_t member_switch = switch_of(graph, exit_of(subnet, member));
        if (member_switch != graph.size()) switches.push_back(member_switch);
    }
    if (!switches.empty())
        return make_multicast_tree_at(subnet, graph, members, choose_root(graph, switches, spread));
    multicast_tree tree;
    tree.left_out.assign(members.begin(), members.end());
    return tree;
}

std::uint16_t multicast_tree::mask(node_index at, unsigned position) const {
    const auto found = std::ranges::lower_bound(branches, at, {}, &branch::at);
    if (found == branches.end() || found->at != at) return 0;
    std::uint16_t bits = 0;
    for (const std::uint8_t port : found->ports)
        if (port / 16 == position) bits = static_cast<std::uint16_t>(bits | 1u << port % 16);
    return bits;
}

} // namespace irpverbs::subnet_manager
