#include "discovery.hpp"

#include <algorithm>
#include <cstring>

namespace irpverbs::subnet_manager {

namespace {

std::string text_of(const sm_nodedesc_t& description) {
    const auto* const text = reinterpret_cast<const char*>(description.NodeString);
    return {text, strnlen(text, sizeof description.NodeString)};
}

directed_route longer(const directed_route& route, std::uint8_t port) {
    directed_route further = route;
    further.push_back(port);
    return further;
}

} // namespace

void discovery::run(std::function<void()> done) {
    visit({}, {});
    batch_.when_done(std::move(done));
}

template <class Host, class Handler>
void discovery::get_attribute(const directed_route& route, sm_attribute attribute,
                              std::uint32_t modifier, Handler handler) {
    batch_.send(get_smp(route, attribute, modifier),
                [this, handler = std::move(handler)](const smp_response& response) {
                    const auto host =
                        response.success() ? unpack<Host>(response.data) : std::optional<Host>();
                    if (host)
                        handler(*host);
                    else
                        incomplete_ = true;
                });
}

void discovery::visit(const directed_route& route, port_ref from) {
    if (route.size() > ibmf::max_hops) return;
    get_attribute<sm_nodeinfo_t>(
        route, sm_node_info, 0,
        [this, route, from](const sm_nodeinfo_t& info) { on_node_info(route, from, info); });
}

// The first route to a switch is kept, and for other nodes the first route to each of their ports.
void discovery::on_node_info(const directed_route& route, port_ref from,
                             const sm_nodeinfo_t& info) {
    const std::size_t known = into_.nodes.nodes().size();
    const node_index node = into_.nodes.add_node(info);
    if (node == no_node) return void(incomplete_ = true);
    const bool is_new = node == known;
    const bool is_switch = into_.nodes[node].is_switch();
    const port_ref in{node, info.LocalPortNum};
    if (!into_.nodes.has(in)) return void(incomplete_ = true);
    if (from.valid()) into_.nodes.connect(from, in);
    if (route.empty()) into_.manager = is_switch ? port_ref{node, 0} : in;
    const std::uint8_t end = is_switch ? std::uint8_t{0} : in.port;
    const bool is_new_route = into_.routes.try_emplace({node, end}, route).second;
    if (is_new) query_node(route, node);
    if (is_new_route && !is_switch) query_port(route, in);
}

void discovery::query_node(const directed_route& route, node_index node) {
    get_attribute<sm_nodedesc_t>(
        route, sm_node_description, 0,
        [this, node](const sm_nodedesc_t& text) { into_.nodes.describe(node, text_of(text)); });
    if (!into_.nodes[node].is_switch()) return;
    get_attribute<sm_switchinfo_t>(route, sm_switch_info, 0,
                                   [this, route, node](sm_switchinfo_t info) {
                                       if (clear_change_bits_) clear_change_bit(route, info);
                                       into_.nodes.set_switch(node, info);
                                       query_ports(route, node);
                                   });
}

// Clears the change bit before the ports are read: a later change sets it again.
void discovery::clear_change_bit(const directed_route& route, sm_switchinfo_t& info) {
    if (info.PortStateChange == 0) return;
    batch_.send(set_smp(route, sm_switch_info, 0, info), [this](const smp_response& response) {
        if (!response.success()) incomplete_ = true;
    });
    info.PortStateChange = 0;
}

void discovery::query_ports(const directed_route& route, node_index of_switch) {
    for (std::size_t port = 0; port < into_.nodes[of_switch].ports.size(); ++port)
        query_port(route, {of_switch, static_cast<std::uint8_t>(port)});
}

void discovery::read_again(std::function<void()> done) {
    clear_change_bits_ = true;
    const std::size_t known = into_.nodes.nodes().size();
    for (node_index node = 0; node < known; ++node) {
        sm_switchinfo_t info = into_.nodes[node].switch_info;
        if (!into_.nodes[node].is_switch() || info.PortStateChange == 0) continue;
        const directed_route route = into_.route_to({node, 0});
        clear_change_bit(route, info);
        into_.nodes.set_switch(node, info);
        query_ports(route, node);
    }
    batch_.when_done(std::move(done));
}

void discovery::query_port(const directed_route& route, port_ref port) {
    get_attribute<sm_portinfo_t>(
        route, sm_port_info, port.port,
        [this, route, port](const sm_portinfo_t& info) { on_port_info(route, port, info); });
}

// Discovery follows a link once, and does not continue through a channel adapter.
void discovery::on_port_info(const directed_route& route, port_ref port,
                             const sm_portinfo_t& info) {
    into_.nodes.set_port(port, info);
    if (!is_linked(info)) into_.nodes.disconnect(port);
    const bool leads_on = route.empty() || into_.nodes[port.node].is_switch();
    if (port.port == 0 || !leads_on || !is_linked(info)) return;
    if (!into_.nodes.at(port).peer.valid()) visit(longer(route, port.port), port);
}

} // namespace irpverbs::subnet_manager
