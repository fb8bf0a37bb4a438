// A subnet as one sweep discovered and configured it.
#pragma once

#include "paths.hpp"

#include <map>

namespace irpverbs::subnet_manager {

struct subnet {
    topology nodes;
    lid_table lids;
    routing_tables tables;
    partition_table partitions;
    path_settings settings;
    port_ref manager; // the subnet manager's port

    /// The directed routes to end ports, and to switches by their port 0.
    std::map<std::pair<node_index, std::uint8_t>, directed_route> routes;

    const directed_route& route_to(port_ref end) const {
        static const directed_route no_route;
        const std::uint8_t port = nodes[end.node].is_switch() ? std::uint8_t{0} : end.port;
        const auto found = routes.find({end.node, port});
        return found != routes.end() ? found->second : no_route;
    }
    /// Returns the end port with that GUID, or an invalid one.
    port_ref port_of(ib_guid_t port_guid) const { return lids.port_of(lids.of(port_guid).base); }
    ib_lid_t manager_lid() const {
        return manager.valid() ? lids.of(nodes.at(manager).guid).base : ib_lid_t{0};
    }
    /// Removes an end port that has become unreachable.
    void remove(port_ref end) {
        lids.set_unreachable(nodes.at(end).guid);
        routes.erase({end.node, end.port});
        nodes.remove(end);
    }

    /// Returns the P_Keys of an end port; none for an invalid one.
    std::vector<ib_pkey_t> keys_of(port_ref end) const {
        if (!end.valid()) return {};
        return partitions.keys_of(nodes.at(end).guid, nodes[end.node].info.NodeType,
                                  settings.manager_guid);
    }
    ib_gid_t gid_of(port_ref end) const {
        return end.valid() ? ib_gid_t{settings.prefix, nodes.at(end).guid} : ib_gid_t{};
    }
    subnet_view view() const { return {nodes, lids, tables, partitions, settings}; }
};

} // namespace irpverbs::subnet_manager
