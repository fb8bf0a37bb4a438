// The nodes and links of a subnet, built from the records of its administrator.
#pragma once

#include <saa/records.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace irpctl {

struct fabric_port {
    ib_lid_t lid = 0; // 0: an external port of a switch, which has no LID
    std::string state;
    std::string link;                // "4X QDR"; empty: no link
    std::optional<std::size_t> peer; // a node
    std::uint8_t peer_port = 0;
    std::string manager; // "Master": the state of the port's subnet manager; empty: none
};

struct fabric_node {
    ib_guid_t guid = 0;
    std::string name;
    bool is_switch = false;
    std::map<std::uint8_t, fabric_port> ports; // port 0 of a switch is the switch itself

    std::size_t links() const;
};

struct fabric_link {
    std::size_t from = 0; // nodes, the lower one first
    std::uint8_t from_port = 0;
    std::size_t to = 0;
    std::uint8_t to_port = 0;
};

/// The records of a map. The SA returns one table after the other, so they may contradict each
/// other.
struct fabric_records {
    std::span<const sa_node_record_t> nodes;
    std::span<const sa_portinfo_record_t> ports;
    std::span<const sa_link_record_t> links;
    std::span<const sa_sminfo_record_t> managers;
};

/// Each `peer` is a node of the map, and each `peer_port` a port of that node.
class fabric_map {
public:
    fabric_map() = default;
    explicit fabric_map(const fabric_records& records);

    /// Returns the switches first, then the hosts, each by name.
    const std::vector<fabric_node>& nodes() const { return nodes_; }
    /// Returns each link once.
    std::vector<fabric_link> links() const;
    std::size_t count(bool switches) const;
    /// Returns "host1 port 1", or the name alone for a switch.
    std::string place(std::size_t node, std::uint8_t port) const;

private:
    struct place_of_lid {
        std::size_t node;
        std::uint8_t port;
    };

    void add_nodes(std::span<const sa_node_record_t> records);
    void add_ports(std::span<const sa_portinfo_record_t> records);
    void add_links(std::span<const sa_link_record_t> records);
    void add_managers(std::span<const sa_sminfo_record_t> records);
    const place_of_lid* find(ib_lid_t lid) const;
    fabric_port* port_at(ib_lid_t lid, std::uint8_t number);

    std::vector<fabric_node> nodes_;
    std::map<ib_lid_t, place_of_lid> by_lid_;
};

} // namespace irpctl
