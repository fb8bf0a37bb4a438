#include "routing.hpp"

#include <algorithm>

namespace irpverbs::subnet_manager {

switch_graph::switch_graph(const topology& subnet) {
    const auto& nodes = subnet.nodes();
    for (node_index n = 0; n < nodes.size(); ++n)
        if (nodes[n].is_switch()) nodes_.push_back(n);
    std::ranges::sort(nodes_, {}, [&](node_index n) { return nodes[n].info.NodeGUID; });
    positions_.assign(nodes.size(), nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i)
        positions_[nodes_[i]] = i;

    links_.resize(size());
    for (std::size_t i = 0; i < size(); ++i) {
        const auto& ports = nodes[nodes_[i]].ports;
        for (std::size_t p = 1; p < ports.size(); ++p) {
            const port_ref peer = ports[p].peer;
            if (!peer.valid() || positions_[peer.node] == size() || peer.node == nodes_[i])
                continue;
            links_[i].push_back(
                {static_cast<std::uint8_t>(p), static_cast<std::uint32_t>(positions_[peer.node])});
        }
    }

    distances_.assign(size() * size(), unreachable);
    std::vector<std::uint32_t> queue;
    for (std::size_t root = 0; root < size(); ++root) {
        std::uint16_t* row = distances_.data() + root * size();
        row[root] = 0;
        queue.assign(1, static_cast<std::uint32_t>(root));
        for (std::size_t i = 0; i < queue.size(); ++i)
            for (const link& l : links_[queue[i]]) {
                if (row[l.to] != unreachable) continue;
                row[l.to] = static_cast<std::uint16_t>(row[queue[i]] + 1);
                queue.push_back(l.to);
            }
    }
}

} // namespace irpverbs::subnet_manager
