// The content of a topology file: nodes, their ports, and the cables between them.
#pragma once

#include <ci/ib_types.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace irpverbs::hca_software {

/// An end of a cable: a node by its index, a port by its number.
struct endpoint {
    std::size_t node = 0;
    UCHAR port = 0;
    bool operator==(const endpoint&) const = default;
};

struct port_plan {
    ib_guid_t guid = 0;
    ib_lid_t lid = 0; // 0: not given
    UCHAR lmc = 0;
    USHORT width = IB_LINK_WIDTH_4X;
    USHORT speed = IB_LINK_SPEED_QDR;
    std::optional<endpoint> peer;
    unsigned line = 0; // line of the cable's first mention
};

struct node_plan {
    IB_NODE_TYPE type = IB_NODE_CA;
    std::string id;          // the name in quotes: "S-0008f10400411f56", "Hca1"; "module#Hca1"
    std::string description; // the id, if there is no description
    ib_guid_t guid = 0;
    ib_guid_t system_image_guid = 0;
    ULONG vendor_id = 0;
    ULONG device_id = 0;
    std::vector<port_plan> ports; // [0] is port 0 of a switch
    unsigned line = 0;
};

struct topology {
    std::vector<node_plan> nodes;
};

/// "name:line: expected ...".
class topology_error : public std::runtime_error {
public:
    topology_error(std::string_view name, unsigned line, const std::string& what)
        : std::runtime_error(std::string(name) + ':' + std::to_string(line) + ": " + what) {}
};

/// Reads an included file. Returns false if it can't be read.
using file_reader = bool (*)(const std::string& name, std::string& text);

/// Parses the output of ibnetdiscover and the input of ibsim (docs/decisions/software-fabric.md).
/// `name` is used in messages; included files are relative to its folder. Throws topology_error.
topology parse_topology(std::string_view text, std::string_view name, file_reader read = nullptr);

/// Two switches with two cables between them, and two hosts at each, in ibsim's format.
std::string_view built_in_topology();

} // namespace irpverbs::hca_software
