#include "topology.hpp"

#include "line_reader.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <unordered_map>
#include <utility>

namespace irpverbs::hca_software {

namespace {

// Without GUIDs in the file: locally administered, by the node's place in it.
constexpr ib_guid_t own_guids = 0x0200000000000000;
constexpr std::uint64_t most_ports = 254;

struct speed_name {
    std::string_view name;
    USHORT speed;
};
constexpr std::array speed_names{
    speed_name{"SDR", IB_LINK_SPEED_SDR}, speed_name{"DDR", IB_LINK_SPEED_DDR},
    speed_name{"QDR", IB_LINK_SPEED_QDR}, speed_name{"FDR10", IB_LINK_SPEED_FDR10},
    speed_name{"FDR", IB_LINK_SPEED_FDR}, speed_name{"EDR", IB_LINK_SPEED_EDR},
    speed_name{"HDR", IB_LINK_SPEED_HDR}, speed_name{"NDR", IB_LINK_SPEED_NDR},
};

struct width_name {
    std::uint64_t lanes;
    USHORT width;
};
constexpr std::array width_names{
    width_name{1, IB_LINK_WIDTH_1X},   width_name{2, IB_LINK_WIDTH_2X},
    width_name{4, IB_LINK_WIDTH_4X},   width_name{8, IB_LINK_WIDTH_8X},
    width_name{12, IB_LINK_WIDTH_12X},
};

// A cable's other end as the file names it; found when all nodes are known.
struct cable {
    endpoint from;
    std::string to_id;
    UCHAR to_port;
    std::string_view file;
    unsigned line;
};

// An included file may include others; so deep only by including itself.
constexpr unsigned deepest = 16;

USHORT expect_width(line_reader& in) {
    const std::uint64_t lanes = in.expect_number("a number of lanes", 12);
    for (const width_name& each : width_names)
        if (each.lanes == lanes) return each.width;
    in.fail("expected 1, 2, 4, 8 or 12 lanes");
}

// A mask of SDR, DDR and QDR; the fastest counts.
USHORT expect_speed(line_reader& in) {
    const std::uint64_t speeds = in.expect_number("a mask of speeds", 7);
    if (speeds == 0) in.fail("expected a mask of speeds, from 1 to 7");
    return static_cast<USHORT>(std::bit_floor(speeds));
}

class parser {
public:
    explicit parser(file_reader read) : read_(read) {}

    void file(std::string_view text, std::string name);
    topology finish();

private:
    void line(line_reader in);
    void include(line_reader& in);
    void assignment(line_reader& in);
    void header(line_reader& in, IB_NODE_TYPE type);
    void switch_comment(line_reader& in, node_plan& node);
    void port(line_reader& in);
    void port_options(line_reader& in, port_plan& port);
    void port_comment(line_reader& in, port_plan& port, bool of_switch);
    void link_name(line_reader& in, port_plan& port);
    void add_node(line_reader& in, node_plan node);
    void give_guids(node_plan& node, std::size_t index);
    void connect(const cable& each);
    void connect_end(endpoint from, endpoint to, const cable& by);
    void check_guids();

    file_reader read_;
    std::deque<std::string> names_;    // of all files
    std::string_view name_;            // of this one
    unsigned depth_ = 0;               // of it
    unsigned last_line_ = 0;           // of the outermost one
    std::vector<std::string_view> in_; // the file of each node
    topology result_;
    std::unordered_map<std::string, std::size_t> by_id_;
    std::vector<cable> cables_;
    node_plan coming_;                // what was assigned for the next node
    USHORT width_ = IB_LINK_WIDTH_4X; // of the nodes to come
    USHORT speed_ = IB_LINK_SPEED_QDR;
    bool in_node_ = false;
};

void parser::file(std::string_view text, std::string name) {
    const std::string_view outer = std::exchange(name_, names_.emplace_back(std::move(name)));
    ++depth_;
    unsigned number = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        line(line_reader(text.substr(0, end), name_, ++number));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    --depth_;
    last_line_ = number;
    if (depth_ != 0) name_ = outer;
}

// include "leaves.net"
void parser::include(line_reader& in) {
    const std::string named = in.expect_quoted("the file's name");
    if (!in.at_end() && !in.sees("#")) in.fail("expected the end of the line");
    if (depth_ == deepest)
        in.fail("\"" + named + "\" is included too deep: does it include itself?");
    const std::size_t folder = name_.rfind('/');
    const bool beside = !named.starts_with('/') && folder != std::string_view::npos;
    std::string name = beside ? std::string(name_.substr(0, folder + 1)) + named : named;
    std::string text;
    if (read_ == nullptr || !read_(name, text)) in.fail("\"" + name + "\" can't be read");
    in_node_ = false;
    file(text, std::move(name));
    in_node_ = false;
}

void parser::line(line_reader in) {
    if (in.at_end()) {
        in_node_ = false;
        return;
    }
    if (in.sees("#") || in.sees("Chassis") || in.sees("Non-Chassis")) return;
    if (in.sees("[")) return port(in);
    if (in.accept("Switch")) return header(in, IB_NODE_SWITCH);
    if (in.accept("Hca") || in.accept("Ca")) return header(in, IB_NODE_CA);
    if (in.accept("Rt")) return header(in, IB_NODE_ROUTER);
    if (in.accept("include ")) return include(in);
    if (in.sees("do ")) in.fail("'do' is for ibsim's console, which is not here");
    assignment(in);
}

void parser::assignment(line_reader& in) {
    constexpr ULONG any = ~ULONG{0};
    constexpr ib_guid_t any_guid = ~ib_guid_t{0};
    if (in.accept("vendid=")) {
        coming_.vendor_id = static_cast<ULONG>(in.expect_number("a vendor id", any));
    } else if (in.accept("devid=")) {
        coming_.device_id = static_cast<ULONG>(in.expect_number("a device id", any));
    } else if (in.accept("sysimgguid=")) {
        coming_.system_image_guid = in.expect_number("a GUID", any_guid);
    } else if (in.accept("switchguid=") || in.accept("caguid=") || in.accept("rtguid=")) {
        coming_.guid = in.expect_number("a GUID", any_guid);
        coming_.ports.resize(1);
        if (const auto guid = in.accept_guid()) coming_.ports[0].guid = *guid;
    } else if (in.accept("width=")) {
        width_ = expect_width(in);
    } else if (in.accept("speed=")) {
        speed_ = expect_speed(in);
    } else {
        in.fail("expected a node (Switch, Ca, Hca, Rt), a port ([1] \"node\"[1]) or an assignment "
                "(vendid= devid= sysimgguid= switchguid= caguid= rtguid= width= speed=)");
    }
    if (!in.at_end() && !in.sees("#")) in.fail("expected the end of the line");
}

void parser::header(line_reader& in, IB_NODE_TYPE type) {
    node_plan node = std::exchange(coming_, {});
    node.type = type;
    node.line = in.number();
    const std::uint64_t ports = in.expect_number("a number of ports", most_ports);
    if (ports == 0) in.fail("a node has at least one port");
    node.ports.resize(ports + 1);
    for (port_plan& each : node.ports) {
        each.width = width_;
        each.speed = speed_;
    }
    node.id = in.expect_quoted("the node's id");
    node.description = node.id;
    if (in.accept("@")) in.word(); // an alias, for ibsim's console
    if (in.accept("#")) {
        if (in.sees("\"")) node.description = in.expect_quoted("the node's description");
        if (type == IB_NODE_SWITCH) switch_comment(in, node);
    } else if (!in.at_end()) {
        in.fail("expected '#' or the end of the line behind the node's id");
    }
    add_node(in, std::move(node));
}

// base port 0 lid 6 lmc 0
void parser::switch_comment(line_reader& in, node_plan& node) {
    if (!in.accept("base port 0") && !in.accept("enhanced port 0")) return;
    if (in.accept("lid"))
        node.ports[0].lid = static_cast<ib_lid_t>(in.expect_number("a LID", IB_LID_UNICAST_LAST));
    if (in.accept("lmc")) node.ports[0].lmc = static_cast<UCHAR>(in.expect_number("an LMC", 7));
}

void parser::add_node(line_reader& in, node_plan node) {
    const std::size_t index = result_.nodes.size();
    const auto [place, fresh] = by_id_.emplace(node.id, index);
    if (!fresh)
        in.fail("\"" + node.id + "\" is a node already, at line " +
                std::to_string(result_.nodes[place->second].line));
    result_.nodes.push_back(std::move(node));
    in_.push_back(name_);
    in_node_ = true;
}

// [22](portguid) "H-0008f10403961354"[1](8f10403961355) w=4 # "description" lid 4 4xSDR
void parser::port(line_reader& in) {
    if (!in_node_) in.fail("a port stands below its node's line, with no empty line between");
    const std::size_t index = result_.nodes.size() - 1;
    node_plan& node = result_.nodes[index];
    in.expect("[");
    const std::uint64_t number = in.expect_number("a port number", node.ports.size() - 1);
    if (number == 0) in.fail("ports that have cables are numbered from 1");
    in.expect("]");
    if (in.accept("@")) in.word();
    port_plan& port = node.ports[number];
    if (in.accept("[ext")) {
        in.expect_number("an external port number", 255);
        in.expect("]");
    }
    if (const auto guid = in.accept_guid()) port.guid = *guid;
    cable found{{index, static_cast<UCHAR>(number)},
                in.expect_quoted("the other node's id"),
                0,
                name_,
                in.number()};
    in.expect("[");
    found.to_port = static_cast<UCHAR>(in.expect_number("a port number", most_ports));
    in.expect("]");
    if (in.accept("@")) in.word();
    in.accept_guid();
    port_options(in, port);
    if (in.accept("#")) port_comment(in, port, node.type == IB_NODE_SWITCH);
    cables_.push_back(std::move(found));
}

// ibsim: w=12 s=4
void parser::port_options(line_reader& in, port_plan& port) {
    while (!in.at_end() && !in.sees("#")) {
        if (in.accept("w=")) {
            port.width = expect_width(in);
        } else if (in.accept("s=")) {
            port.speed = expect_speed(in);
        } else {
            in.fail("expected 'w=', 's=', '#' or the end of the line");
        }
    }
}

// Of a switch: "description" lid 4 4xSDR. Of others: lid 4 lmc 0 "description" lid 6 4xSDR, where
// the first LID is this port's.
void parser::port_comment(line_reader& in, port_plan& port, bool of_switch) {
    if (!of_switch && in.accept("lid")) {
        port.lid = static_cast<ib_lid_t>(in.expect_number("a LID", IB_LID_UNICAST_LAST));
        if (in.accept("lmc")) port.lmc = static_cast<UCHAR>(in.expect_number("an LMC", 7));
    }
    if (!in.sees("\"")) return;
    in.expect_quoted("the other node's description");
    if (!in.accept("lid")) return;
    in.expect_number("a LID", 0xFFFF);
    link_name(in, port);
}

void parser::link_name(line_reader& in, port_plan& port) {
    const std::string_view name = in.word();
    if (name.empty() || name.find('?') != std::string_view::npos) return; // ibnetdiscover: unknown
    const std::string_view lanes = name.substr(0, name.find('x'));
    const std::string_view rest = name.substr(lanes.size());
    const auto width = std::ranges::find_if(
        width_names, [&](const width_name& each) { return std::to_string(each.lanes) == lanes; });
    const auto speed = std::ranges::find_if(speed_names, [&](const speed_name& each) {
        return rest.starts_with('x') && rest.substr(1) == each.name;
    });
    if (width == width_names.end() || speed == speed_names.end())
        in.fail("expected a link's width and speed, like 4xEDR");
    port.width = width->width;
    port.speed = speed->speed;
}

// "H-0008f10403961354": what ibnetdiscover calls a node says its GUID.
ib_guid_t guid_in(const node_plan& node) {
    if (node.id.size() != 18 || node.id[1] != '-') return 0;
    std::size_t used = 0;
    try {
        const ib_guid_t guid = std::stoull(node.id.substr(2), &used, 16);
        return used == 16 ? guid : 0;
    } catch (const std::exception&) {
        return 0;
    }
}

void parser::give_guids(node_plan& node, std::size_t index) {
    if (node.guid == 0) node.guid = guid_in(node);
    const bool own = node.guid == 0;
    if (own) node.guid = own_guids + ((index + 1) << 8);
    if (node.system_image_guid == 0) node.system_image_guid = node.guid;
    if (node.ports[0].guid == 0) node.ports[0].guid = node.guid;
    for (std::size_t i = 1; i < node.ports.size(); ++i)
        if (node.ports[i].guid == 0)
            node.ports[i].guid = node.type == IB_NODE_SWITCH ? node.guid : node.guid + i;
}

void parser::connect_end(endpoint from, endpoint to, const cable& by) {
    port_plan& port = result_.nodes[from.node].ports[from.port];
    if (port.peer && *port.peer != to)
        throw topology_error(by.file, by.line,
                             "\"" + result_.nodes[from.node].id + "\"[" +
                                 std::to_string(from.port) + "] has another cable, at line " +
                                 std::to_string(port.line));
    if (!port.peer) port.line = by.line;
    port.peer = to;
}

void parser::connect(const cable& each) {
    const auto place = by_id_.find(each.to_id);
    if (place == by_id_.end())
        throw topology_error(each.file, each.line, "there is no node \"" + each.to_id + "\"");
    const endpoint to{place->second, each.to_port};
    const std::size_t ports = result_.nodes[to.node].ports.size() - 1;
    if (to.port == 0 || to.port > ports)
        throw topology_error(each.file, each.line,
                             "\"" + each.to_id + "\" has ports 1 to " + std::to_string(ports));
    if (to == each.from) throw topology_error(each.file, each.line, "a cable has two ends");
    connect_end(each.from, to, each);
    connect_end(to, each.from, each);
}

void parser::check_guids() {
    std::unordered_map<ib_guid_t, unsigned> nodes, ports; // lines
    for (std::size_t i = 0; i < result_.nodes.size(); ++i) {
        const node_plan& node = result_.nodes[i];
        const auto claim = [&](auto& seen, ib_guid_t guid, const std::string& whose,
                               const char* of) {
            const auto [place, fresh] = seen.emplace(guid, node.line);
            if (!fresh)
                throw topology_error(in_[i], node.line,
                                     "the GUID of \"" + node.id + '"' + whose + " is that of " +
                                         of + " at line " + std::to_string(place->second));
        };
        claim(nodes, node.guid, "", "the node");
        if (node.type == IB_NODE_SWITCH) continue; // its ports share its own
        for (std::size_t port = 1; port < node.ports.size(); ++port)
            claim(ports, node.ports[port].guid, '[' + std::to_string(port) + ']',
                  "a port of the node");
    }
}

topology parser::finish() {
    if (result_.nodes.empty())
        throw topology_error(name_, last_line_, "expected at least one node");
    for (std::size_t i = 0; i < result_.nodes.size(); ++i)
        give_guids(result_.nodes[i], i);
    for (const cable& each : cables_)
        connect(each);
    check_guids();
    return std::move(result_);
}

} // namespace

topology parse_topology(std::string_view text, std::string_view name, file_reader read) {
    parser reading(read);
    reading.file(text, std::string(name));
    return reading.finish();
}

std::string_view built_in_topology() {
    return R"(Hca 2 "host1"
[1] "switch1"[1]
[2] "switch2"[5]

Hca 1 "host2"
[1] "switch1"[2]

Hca 1 "host3"
[1] "switch2"[1]

Hca 1 "host4"
[1] "switch2"[2]

Switch 8 "switch1"
[1] "host1"[1]
[2] "host2"[1]
[7] "switch2"[7]
[8] "switch2"[8]

Switch 8 "switch2"
[1] "host3"[1]
[2] "host4"[1]
[5] "host1"[2]
[7] "switch1"[7]
[8] "switch1"[8]
)";
}

} // namespace irpverbs::hca_software
