#include "switch_poll.hpp"

#include <algorithm>
#include <set>

namespace irpverbs::subnet_manager {

namespace {

// PortState and PortPhysicalState. The PortInfo of an unchanged port need not be unpacked. Source:
// IBA 14.2.5.6 (PortInfo).
constexpr std::size_t state_at = 32;
constexpr std::uint8_t low_bits = 0xF;

using port_states = std::pair<std::uint8_t, std::uint8_t>;

port_states states_in(const smp_data& port_info) {
    return {static_cast<std::uint8_t>(port_info[state_at] & low_bits),
            static_cast<std::uint8_t>(port_info[state_at + 1] >> 4)};
}

bool has_changed(const subnet_port& known, const smp_data& port_info) {
    const port_states was{known.info.PortState, known.info.PortPhysicalState};
    return states_in(port_info) != was || known.peer.valid() != is_linked(known.info);
}

} // namespace

void switch_poll::read(std::function<void(const port_changes&)> done) {
    done_ = std::move(done);
    found_ = {};
    outstanding_ = of_.nodes[at_].ports.size() - 1; // except port 0, which has no link
    if (outstanding_ == 0) return finish();
    const directed_route route = of_.route_to({at_, 0});
    for (std::size_t number = 1; number < of_.nodes[at_].ports.size(); ++number) {
        const port_ref port{at_, static_cast<std::uint8_t>(number)};
        smps_.send(get_smp(route, sm_port_info, port.port),
                   [this, port](const smp_response& response) { on_port_info(port, response); });
    }
}

// The callback may destroy this object.
void switch_poll::finish() {
    const auto done = std::exchange(done_, nullptr);
    done(found_);
}

void switch_poll::on_port_info(port_ref port, const smp_response& response) {
    if (!response.success())
        found_.more = true;
    else if (has_changed(of_.nodes.at(port), response.data))
        compare(port, *unpack<sm_portinfo_t>(response.data));
    if (--outstanding_ == 0) finish();
}

void switch_poll::compare(port_ref port, const sm_portinfo_t& now) {
    if (of_.nodes.at(port).peer.valid() && !is_linked(now))
        found_.cut.push_back(port);
    else
        found_.more = true;
    of_.nodes.set_port(port, now);
}

void switch_poll::clear(std::function<void(bool success)> done) {
    sm_switchinfo_t info = of_.nodes[at_].switch_info;
    info.PortStateChange = 1;
    smps_.send(
        set_smp(of_.route_to({at_, 0}), sm_switch_info, 0, info),
        [done = std::move(done)](const smp_response& response) { done(response.success()); });
}

namespace {

bool same_link(const topology& nodes, port_ref one, port_ref other) {
    return one == other || nodes.at(one).peer == other;
}

// No route passes through a channel adapter.
std::set<std::pair<node_index, std::uint8_t>> reached_without(const subnet& net,
                                                              std::span<const port_ref> cut) {
    const topology& nodes = net.nodes;
    std::set<std::pair<node_index, std::uint8_t>> reached;
    std::vector<node_index> to_leave{net.manager.node};
    if (nodes[net.manager.node].is_switch()) reached.insert({net.manager.node, std::uint8_t{0}});
    for (std::size_t i = 0; i < to_leave.size(); ++i)
        for (std::size_t number = 1; number < nodes[to_leave[i]].ports.size(); ++number) {
            const port_ref out{to_leave[i], static_cast<std::uint8_t>(number)};
            const port_ref in = nodes.at(out).peer;
            const bool is_cut = std::ranges::any_of(
                cut, [&](port_ref each) { return same_link(nodes, each, out); });
            if (!in.valid() || is_cut) continue;
            const bool leads_on = nodes[in.node].is_switch();
            const bool is_new =
                reached.insert({in.node, leads_on ? std::uint8_t{0} : in.port}).second;
            if (is_new && leads_on) to_leave.push_back(in.node);
        }
    return reached;
}

} // namespace

std::vector<port_ref> unreachable_without(const subnet& net, std::span<const port_ref> cut) {
    const bool hosts_only = std::ranges::none_of(
        cut, [&](port_ref each) { return net.nodes[net.nodes.at(each).peer.node].is_switch(); });
    std::vector<port_ref> lost;
    if (hosts_only) {
        for (const port_ref each : cut)
            lost.push_back(net.nodes.at(each).peer);
        return lost;
    }
    const auto reached = reached_without(net, cut);
    for (const port_ref end : net.nodes.end_ports())
        if (end != net.manager && !reached.contains({end.node, end.port})) lost.push_back(end);
    return lost;
}

} // namespace irpverbs::subnet_manager
