#include "discovery.hpp"

#include <algorithm>
#include <cstring>

namespace irpverbs::subnet_manager {

namespace {

std::string text_of(const sm_nodedesc_t& description) {
    const auto* const text = reinterpret_cast<const char*>(description.NodeString);
    return {text, strnlen(text, sizeof description.NodeString)};
}

directed_route longer(const directed_route& way, std::uint8_t port) {
    directed_route further = way;
    further.push_back(port);
    return further;
}

} // namespace

void discovery::run(std::function<void()> done) {
    visit({}, {});
    asked_.when_done(std::move(done));
}

template <class Host, class Told>
void discovery::ask(const directed_route& way, sm_attribute attribute, std::uint32_t modifier,
                    Told told) {
    asked_.ask(get_smp(way, attribute, modifier),
               [this, told = std::move(told)](const smp_answer& answer) {
                   const auto host =
                       answer.success() ? unpack<Host>(answer.data) : std::optional<Host>();
                   if (host)
                       told(*host);
                   else
                       incomplete_ = true;
               });
}

void discovery::visit(const directed_route& way, port_ref from) {
    if (way.size() > ibmf::max_hops) return;
    ask<sm_nodeinfo_t>(way, sm_node_info, 0,
                       [this, way, from](const sm_nodeinfo_t& info) { arrive(way, from, info); });
}

// The first route to a switch is kept, and for other nodes the first route to each of their ports.
void discovery::arrive(const directed_route& way, port_ref from, const sm_nodeinfo_t& info) {
    const std::size_t known = into_.nodes.nodes().size();
    const node_index node = into_.nodes.add_node(info);
    const bool is_new = node == known;
    const bool is_switch = into_.nodes[node].is_switch();
    const port_ref in{node, info.LocalPortNum};
    if (!into_.nodes.has(in)) return void(incomplete_ = true);
    if (from.valid()) into_.nodes.connect(from, in);
    if (way.empty()) into_.manager = is_switch ? port_ref{node, 0} : in;
    const std::uint8_t end = is_switch ? std::uint8_t{0} : in.port;
    const bool is_new_way = into_.ways.try_emplace({node, end}, way).second;
    if (is_new) ask_node(way, node);
    if (is_new_way && !is_switch) ask_port(way, in);
}

void discovery::ask_node(const directed_route& way, node_index node) {
    ask<sm_nodedesc_t>(way, sm_node_description, 0, [this, node](const sm_nodedesc_t& text) {
        into_.nodes.describe(node, text_of(text));
    });
    if (!into_.nodes[node].is_switch()) return;
    ask<sm_switchinfo_t>(way, sm_switch_info, 0, [this, way, node](sm_switchinfo_t info) {
        if (clears_ && info.PortStateChange != 0) {
            clear_change(way, info);
            info.PortStateChange = 0;
        }
        into_.nodes.set_switch(node, info);
        for (std::size_t port = 0; port < into_.nodes[node].ports.size(); ++port)
            ask_port(way, {node, static_cast<std::uint8_t>(port)});
    });
}

// Clears the change bit before the ports are read: a later change sets it again.
void discovery::clear_change(const directed_route& way, const sm_switchinfo_t& info) {
    asked_.ask(set_smp(way, sm_switch_info, 0, info), [this](const smp_answer& answer) {
        if (!answer.success()) incomplete_ = true;
    });
}

void discovery::ask_port(const directed_route& way, port_ref port) {
    ask<sm_portinfo_t>(way, sm_port_info, port.port, [this, way, port](const sm_portinfo_t& info) {
        port_came(way, port, info);
    });
}

// Discovery follows a link once, and does not continue through a channel adapter.
void discovery::port_came(const directed_route& way, port_ref port, const sm_portinfo_t& info) {
    into_.nodes.set_port(port, info);
    const bool leads_on = way.empty() || into_.nodes[port.node].is_switch();
    if (port.port == 0 || !leads_on || !is_linked(info)) return;
    if (!into_.nodes.at(port).peer.valid()) visit(longer(way, port.port), port);
}

} // namespace irpverbs::subnet_manager
