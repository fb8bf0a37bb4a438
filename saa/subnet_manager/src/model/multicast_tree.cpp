#include "routing.hpp"

#include <algorithm>

namespace irpverbs::subnet_manager {
namespace {

// Switch positions that members hang on, and the sum of distances from each switch to them.
std::size_t choose_root(const switch_graph& graph, const std::vector<std::size_t>& homes,
                        std::uint32_t spread) {
    std::vector<std::size_t> best;
    std::uint64_t best_sum = ~0ull;
    for (std::size_t root = 0; root < graph.size(); ++root) {
        std::uint64_t sum = 0;
        for (const std::size_t home : homes)
            sum += graph.distance(root, home);
        if (sum > best_sum) continue;
        if (sum < best_sum) best.clear();
        best_sum = sum;
        best.push_back(root);
    }
    return best[spread % best.size()];
}

// The link from `at` that comes nearer to `root`; the lowest port of the nearest switch by GUID.
const switch_graph::link* way_up(const switch_graph& graph, std::size_t at, std::size_t root) {
    const switch_graph::link* best = nullptr;
    for (const auto& link : graph.links_of(at))
        if (graph.distance(link.to, root) + 1 == graph.distance(at, root) &&
            (best == nullptr || link.to < best->to))
            best = &link;
    return best;
}

class tree_builder {
public:
    tree_builder(const topology& subnet, const switch_graph& graph, std::size_t root)
        : subnet_(subnet), graph_(graph), root_(root), ports_(graph.size()), joined_(graph.size()) {
        joined_[root] = true;
    }

    void add(std::size_t home, std::uint8_t member_port) {
        ports_[home].push_back(member_port);
        for (std::size_t at = home; !joined_[at];) {
            joined_[at] = true;
            const switch_graph::link& up = *way_up(graph_, at, root_);
            const port_ref far = subnet_.at({graph_.node_of(at), up.port}).peer;
            ports_[at].push_back(up.port);
            ports_[up.to].push_back(far.port);
            at = up.to;
        }
    }

    std::vector<multicast_tree::branch> take() {
        std::vector<multicast_tree::branch> branches;
        for (std::size_t at = 0; at < ports_.size(); ++at) {
            auto& ports = ports_[at];
            if (ports.empty()) continue;
            std::ranges::sort(ports);
            ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
            branches.push_back({graph_.node_of(at), std::move(ports)});
        }
        std::ranges::sort(branches, {}, &multicast_tree::branch::at);
        return branches;
    }

private:
    const topology& subnet_;
    const switch_graph& graph_;
    std::size_t root_;
    std::vector<std::vector<std::uint8_t>> ports_;
    std::vector<bool> joined_;
};

} // namespace

multicast_tree make_multicast_tree(const topology& subnet, const switch_graph& graph,
                                   std::span<const port_ref> members, std::uint32_t spread) {
    multicast_tree tree;
    const auto exit_of = [&](port_ref member) {
        return subnet[member.node].is_switch() ? member : subnet.at(member).peer;
    };
    std::vector<std::size_t> homes;
    for (port_ref member : members) {
        const port_ref exit = exit_of(member);
        if (exit.valid() && graph.position_of(exit.node) != graph.size())
            homes.push_back(graph.position_of(exit.node));
    }
    if (homes.empty()) {
        tree.left_out.assign(members.begin(), members.end());
        return tree;
    }
    const std::size_t root = choose_root(graph, homes, spread);
    tree_builder builder(subnet, graph, root);
    for (port_ref member : members) {
        const port_ref exit = exit_of(member);
        const std::size_t home = exit.valid() ? graph.position_of(exit.node) : graph.size();
        if (home == graph.size() || graph.distance(home, root) == switch_graph::unreachable)
            tree.left_out.push_back(member);
        else
            builder.add(home, exit.port);
    }
    tree.branches = builder.take();
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
