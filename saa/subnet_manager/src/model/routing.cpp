#include "routing.hpp"

#include <algorithm>
#include <cstring>

namespace irpverbs::subnet_manager {
namespace {

// A port with a LID, and its switch.
struct destination {
    lid_range lids;
    std::uint32_t switch_position = 0; // position of its switch
    std::uint8_t last_port = 0;        // the egress port of that switch; 0: the switch itself
};

std::vector<destination> destinations_of(const topology& subnet, const switch_graph& graph,
                                         const lid_table& lids, bool switches) {
    std::vector<destination> all;
    for (port_ref end : subnet.end_ports()) {
        const subnet_port& port = subnet.at(end);
        const lid_range range = lids.of(port.guid);
        const bool is_switch = subnet[end.node].is_switch();
        const port_ref exit = is_switch ? end : port.peer;
        const std::size_t switch_position = graph.position_of(exit.node);
        if (range.base == 0 || is_switch != switches || switch_position == graph.size()) continue;
        all.push_back({range, static_cast<std::uint32_t>(switch_position), exit.port});
    }
    std::ranges::sort(all, {}, [](const destination& d) { return d.lids.base; });
    return all;
}

// Computes the routes of one switch.
class switch_router {
public:
    switch_router(const switch_graph& graph, std::size_t at, std::vector<std::uint8_t>& table)
        : at_(at), table_(table), candidates_(graph.size()) {
        for (std::size_t to = 0; to < graph.size(); ++to) {
            const std::uint16_t far = graph.distance(at, to);
            if (far == switch_graph::unreachable || to == at) continue;
            for (const auto& link : graph.links_of(at))
                if (graph.distance(link.to, to) + 1 == far) candidates_[to].push_back(link.port);
        }
    }

    void route(const destination& d, bool counted) {
        std::uint16_t used_here[256] = {}; // by LIDs of this destination, so that an LMC yields
                                           // different paths
        for (std::uint32_t i = 0; i < d.lids.size(); ++i) {
            std::uint8_t& entry = table_[d.lids.base + i];
            if (d.switch_position == at_) {
                entry = d.last_port;
                continue;
            }
            const std::vector<std::uint8_t>& ports = candidates_[d.switch_position];
            if (ports.empty()) continue;
            entry = *std::ranges::min_element(ports, {}, [&](std::uint8_t port) {
                return std::uint64_t{used_here[port]} << 32 | load_[port];
            });
            ++used_here[entry];
            if (counted) ++load_[entry];
        }
    }

private:
    std::size_t at_;
    std::vector<std::uint8_t>& table_;
    std::vector<std::vector<std::uint8_t>> candidates_; // by destination switch; ascending
    std::uint32_t load_[256] = {};
};

} // namespace

void routing_tables::compute(const topology& subnet, const switch_graph& graph,
                             const lid_table& lids) {
    const auto hosts = destinations_of(subnet, graph, lids, false);
    const auto switches = destinations_of(subnet, graph, lids, true);
    tables_.assign(subnet.nodes().size(), {});
    for (std::size_t at = 0; at < graph.size(); ++at) {
        auto& table = tables_[graph.node_of(at)];
        table.assign(lids.top() + 1u, no_port);
        switch_router router(graph, at, table);
        for (const destination& d : hosts)
            router.route(d, true);
        for (const destination& d : switches)
            router.route(d, false);
    }
}

sm_linear_forwarding_table_t routing_tables::block(node_index at, std::uint16_t number) const {
    sm_linear_forwarding_table_t out;
    std::memset(out.PortBlock, no_port, sizeof out.PortBlock);
    const auto& table = tables_[at];
    const std::size_t first = std::size_t{number} * 64;
    if (first < table.size())
        std::memcpy(out.PortBlock, table.data() + first,
                    std::min<std::size_t>(64, table.size() - first));
    return out;
}

} // namespace irpverbs::subnet_manager
