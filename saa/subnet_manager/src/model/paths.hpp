// PathRecords: what the tables say of the way between two end ports.
#pragma once

#include "partitions.hpp"
#include "routing.hpp"

#include <optional>
#include <vector>

namespace irpverbs::subnet_manager {

/// A way through the forwarding tables.
struct route {
    std::uint8_t mtu = 5;   // the smallest of its links
    std::uint8_t rate = 22; // the slowest
    std::uint32_t links = 0;
};

/// Follows the tables from a port to a LID; nullopt when they do not lead there.
std::optional<route> trace(const topology& subnet, const lid_table& lids,
                           const routing_tables& tables, port_ref from, ib_lid_t to);

struct path_settings {
    ib_sn_prefix_t prefix = 0xfe80000000000000;
    std::uint8_t packet_life_time = 18; // 1.07 s; between two ports, OpenSM's default
    ib_guid_t manager_guid = 0;
};

/// All that path queries are answered from.
struct subnet_view {
    const topology& subnet;
    const lid_table& lids;
    const routing_tables& tables;
    const partition_table& partitions;
    path_settings settings;
};

/// Whether all `bits` are among the components of a question.
constexpr bool has(std::uint64_t components, std::uint64_t bits) {
    return (components & bits) == bits;
}

/// REQ_INVALID for an MTU or a rate that is no code, if its selector is given, too.
/// INSUFFICIENT_COMPONENTS for one half of a ServiceID.
std::uint16_t check_path_query(const sa_path_record_t& wanted, std::uint64_t components);

/// The paths from one end port to another that fulfil the question, at most `most`; one for each
/// pair of their LIDs. Redundant ones (the same offset in both ranges) are first and have
/// Preference 0, the others 2, as in OpenSM. Empty: there is none. What the question leaves open
/// (P_Key, MTU, rate, SL) is filled in; selectors as OpenSM takes them: "less" lowers the path's
/// own value. A path of raw packets has P_Key 0.
std::vector<sa_path_record_t> paths_between(const subnet_view& view, port_ref from, port_ref to,
                                            const sa_path_record_t& wanted,
                                            std::uint64_t components, std::size_t most);

} // namespace irpverbs::subnet_manager
