// PathRecords: paths between two end ports, computed from the forwarding tables.
#pragma once

#include "partitions.hpp"
#include "routing.hpp"

#include <optional>
#include <vector>

namespace irpverbs::subnet_manager {

/// A route through the forwarding tables.
struct traced_path {
    std::uint8_t mtu = 5;   // the smallest of its links
    std::uint8_t rate = 22; // the slowest
    std::uint32_t links = 0;
};

/// Follows the tables from a port to a LID; returns nullopt when they do not reach it.
std::optional<traced_path> trace(const topology& subnet, const lid_table& lids,
                                 const routing_tables& tables, port_ref from, ib_lid_t to);

struct path_settings {
    ib_sn_prefix_t prefix = 0xfe80000000000000;
    std::uint8_t packet_life_time = 18; // 1.07 s between two ports, OpenSM's default
    ib_guid_t manager_guid = 0;
};

/// The state from which the SA responds to path queries.
struct subnet_view {
    const topology& subnet;
    const lid_table& lids;
    const routing_tables& tables;
    const partition_table& partitions;
    path_settings settings;
};

/// Whether all `bits` are among the components of a query.
constexpr bool has(std::uint64_t components, std::uint64_t bits) {
    return (components & bits) == bits;
}

/// Returns REQ_INVALID for an invalid code of an MTU or a rate whose selector is set, and
/// INSUFFICIENT_COMPONENTS for one half of a ServiceID.
std::uint16_t check_path_query(const sa_path_record_t& wanted, std::uint64_t components);

/// Returns the paths from one end port to another that match the query, at most `most`; one for
/// each pair of their LIDs. Redundant paths (the same offset in both ranges) are first and have
/// Preference 0, the others 2, as in OpenSM. The result is empty when there is no path. The
/// function fills in the components that the query leaves open (P_Key, MTU, rate, SL), with
/// OpenSM's semantics of selectors: "less" lowers the path's own value. A path of raw packets has
/// P_Key 0.
std::vector<sa_path_record_t> paths_between(const subnet_view& view, port_ref from, port_ref to,
                                            const sa_path_record_t& wanted,
                                            std::uint64_t components, std::size_t most);

} // namespace irpverbs::subnet_manager
