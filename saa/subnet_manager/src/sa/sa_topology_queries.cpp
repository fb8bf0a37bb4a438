// Records about the discovered topology.
#include "sa_query.hpp"

#include <algorithm>

namespace irpverbs::subnet_manager {

namespace {

ib_lid_t lid_of(const subnet& net, port_ref end) {
    return net.lids.of(net.nodes.at(end).guid).base;
}

// Returns the end port that represents a port of a node.
port_ref end_port_of(const subnet& net, port_ref port) {
    return net.nodes[port.node].is_switch() ? port_ref{port.node, 0} : port;
}

template <class Visit>
void for_each_switch(const sa_query& query, const Visit& visit) {
    const subnet& net = query.net;
    for (node_index node = 0; node < net.nodes.nodes().size(); ++node)
        if (net.nodes.is_present_switch(node) && query.access.may_see({node, 0}))
            visit(node, lid_of(net, {node, 0}));
}

sm_nodedesc_t description_of(const subnet_node& node) {
    sm_nodedesc_t text{};
    const std::size_t size = std::min(node.description.size(), sizeof text.NodeString);
    std::copy_n(node.description.data(), size, text.NodeString);
    return text;
}

// Visits all ports of a switch, and the ports with LIDs of other nodes.
template <class Visit>
void for_each_visible_port(const sa_query& query, const Visit& visit) {
    const topology& nodes = query.net.nodes;
    const auto show = [&](port_ref port) {
        if (query.access.may_see(port)) visit(port);
    };
    for (const port_ref end : nodes.end_ports()) {
        if (!nodes[end.node].is_switch()) {
            show(end);
            continue;
        }
        for (std::size_t port = 0; port < nodes[end.node].ports.size(); ++port)
            show(port_ref{end.node, static_cast<std::uint8_t>(port)});
    }
}

} // namespace

std::vector<port_ref> visible_end_ports(const sa_query& query) {
    std::vector<port_ref> ends = query.net.nodes.end_ports();
    std::erase_if(ends, [&](port_ref end) { return !query.access.may_see(end); });
    return ends;
}

std::uint16_t find_nodes(const sa_query& query, record_list& found) {
    return add_matching<sa_node_record_t>(query, found, [&](const auto& emit) {
        for (const port_ref end : visible_end_ports(query)) {
            const subnet_node& node = query.net.nodes[end.node];
            sa_node_record_t record{};
            record.LID = lid_of(query.net, end);
            record.NodeInfo = node.info;
            record.NodeInfo.PortGUID = node.ports[end.port].guid;
            record.NodeInfo.LocalPortNum = end.port;
            record.NodeDescription = description_of(node);
            emit(record);
        }
    });
}

// With bit 31 of the modifier the CapabilityMask of a query is a set of bits that a port must have,
// not the whole mask. Source: errata of IBA 1.2; OpenSM.
std::uint16_t find_ports(const sa_query& query, record_list& found) {
    constexpr std::uint32_t by_bits = 0x8000'0000;
    sa_query others = query; // the components that are compared as a whole
    std::uint32_t bits = 0;
    if ((query.modifier & by_bits) != 0 && has(query.components, SA_PORTINFO_COMPMASK_CAPMASK)) {
        const auto wanted = unpack<sa_portinfo_record_t>(query.data);
        if (!wanted) return SA_STATUS_ERR_REQ_INVALID;
        bits = wanted->PortInfo.CapabilityMask;
        others.components &= ~std::uint64_t{SA_PORTINFO_COMPMASK_CAPMASK};
    }
    return add_matching<sa_portinfo_record_t>(others, found, [&](const auto& emit) {
        for_each_visible_port(query, [&](port_ref port) {
            if ((query.net.nodes.at(port).info.CapabilityMask & bits) != bits) return;
            sa_portinfo_record_t record{};
            record.EndportLID = lid_of(query.net, end_port_of(query.net, port));
            record.PortNum = port.port;
            record.PortInfo = query.net.nodes.at(port).info;
            record.PortInfo.ClientReregister = 0; // a request, not a state
            if (!query.trusted) record.PortInfo.M_Key = 0;
            emit(record);
        });
    });
}

std::uint16_t find_switches(const sa_query& query, record_list& found) {
    return add_matching<sa_switchinfo_record_t>(query, found, [&](const auto& emit) {
        for_each_switch(query, [&](node_index node, ib_lid_t lid) {
            sa_switchinfo_record_t record{};
            record.LID = lid;
            record.SwitchInfo = query.net.nodes[node].switch_info;
            emit(record);
        });
    });
}

std::uint16_t find_linear_tables(const sa_query& query, record_list& found) {
    return add_matching<sa_linearft_record_t>(query, found, [&](const auto& emit) {
        for_each_switch(query, [&](node_index node, ib_lid_t lid) {
            for (std::size_t i = 0; i < query.net.tables.blocks(node); ++i) {
                sa_linearft_record_t record{};
                record.LID = lid;
                record.BlockNum = static_cast<std::uint16_t>(i);
                record.LinearFT = query.net.tables.block(node, record.BlockNum);
                emit(record);
            }
        });
    });
}

std::uint16_t find_links(const sa_query& query, record_list& found) {
    return add_matching<sa_link_record_t>(query, found, [&](const auto& emit) {
        for_each_visible_port(query, [&](port_ref port) {
            const port_ref peer = query.net.nodes.at(port).peer;
            if (!peer.valid() || !query.access.may_see(peer)) return;
            emit(sa_link_record_t{lid_of(query.net, end_port_of(query.net, port)), port.port,
                                  peer.port, lid_of(query.net, end_port_of(query.net, peer))});
        });
    });
}

// Ports have only the GUID of their manufacturer; this SA assigns no others.
std::uint16_t find_guids(const sa_query& query, record_list& found) {
    return add_matching<sa_guidinfo_record_t>(query, found, [&](const auto& emit) {
        for (const port_ref end : visible_end_ports(query)) {
            const subnet_port& port = query.net.nodes.at(end);
            for (unsigned block = 0; block < (port.info.GUIDCap + 7u) / 8; ++block) {
                sa_guidinfo_record_t record{};
                record.LID = lid_of(query.net, end);
                record.BlockNum = static_cast<std::uint8_t>(block);
                if (block == 0) record.GUIDInfo.GUIDBlocks[0] = port.guid;
                emit(record);
            }
        }
    });
}

// Trusted requests only. Source: IBA 15.4.1 (P_Key tables).
std::uint16_t find_keys(const sa_query& query, record_list& found) {
    if (!query.trusted) return SA_STATUS_ERR_REQ_INVALID;
    return add_matching<sa_pkey_table_record_t>(query, found, [&](const auto& emit) {
        for (const port_ref end : visible_end_ports(query)) {
            const subnet_node& node = query.net.nodes[end.node];
            const auto keys = query.net.keys_of(end);
            for (std::size_t block = 0; block < (node.info.PartitionCap + 31u) / 32; ++block) {
                sa_pkey_table_record_t record{};
                record.LID = lid_of(query.net, end);
                record.BlockNum = static_cast<std::uint16_t>(block);
                record.PortNum = end.port;
                record.P_KeyTable = pkey_block(keys, record.BlockNum);
                emit(record);
            }
        }
    });
}

} // namespace irpverbs::subnet_manager
