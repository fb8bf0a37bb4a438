#include "topology.hpp"

#include "guid_base.hpp"
#include "line_reader.hpp"
#include "link_width_speed.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <deque>
#include <unordered_map>
#include <utility>

namespace irpverbs::hca_software {

namespace {

// GUIDs of nodes without one in the file: locally administered, by the index of the node.
constexpr ib_guid_t generated_guids = 0x0200000000000000;
constexpr std::uint64_t max_ports = 254;

// The other end of a cable, a node or an alias, as named in the file. It is resolved after all
// files are read.
struct cable {
    endpoint from;
    std::string to_name;
    UCHAR to_port;
    std::string_view file;
    unsigned line;
};

// An alternative name of a port: "module@name".
struct alias {
    endpoint of;
    unsigned line;
};

// The maximum depth of included files; only a file that includes itself exceeds it.
constexpr unsigned max_include_depth = 16;

constexpr ib_guid_t any_guid = ~ib_guid_t{0};

// The names of ibnetdiscover have the GUID: "H-0008f10403961354".
ib_guid_t guid_in(const std::string& id) {
    if (id.size() != 18 || id[1] != '-') return 0;
    ib_guid_t guid = 0;
    const auto [end, problem] = std::from_chars(id.data() + 2, id.data() + id.size(), guid, 16);
    return problem == std::errc() && end == id.data() + id.size() ? guid : 0;
}

void check_name(const line_reader& in, const std::string& name) {
    if (name.find_first_of("#@") != std::string::npos)
        in.fail("\"" + name + "\": '#' and '@' are for the names of modules and aliases");
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
    void guid_assignment(line_reader& in, guid_base& base);
    void header(line_reader& in, IB_NODE_TYPE type);
    void node_description(line_reader& in, node_plan& node);
    void switch_comment(line_reader& in, node_plan& node);
    endpoint port_number(line_reader& in);
    void port(line_reader& in);
    void port_alias(line_reader& in);
    std::string other_end(line_reader& in);
    void port_options(line_reader& in, port_plan& port);
    void port_comment(line_reader& in, port_plan& port, bool of_switch);
    void name_node(line_reader& in, node_plan& node);
    void add_node(line_reader& in, node_plan node);
    void assign_guids(node_plan& node, std::size_t index);
    endpoint find(const cable& each) const;
    void connect(const cable& each);
    void connect_end(endpoint from, endpoint to, const cable& by);
    void check_guids();

    file_reader read_;
    std::deque<std::string> names_;              // names of all files
    std::string_view name_;                      // name of this file
    unsigned depth_ = 0;                         // depth of this file
    unsigned last_line_ = 0;                     // last line of the outermost file
    std::vector<std::string_view> file_of_node_; // the file of each node
    topology result_;
    std::unordered_map<std::string, std::size_t> by_id_;
    std::unordered_map<std::string, alias> aliases_;
    std::vector<cable> cables_;
    node_plan next_node_; // values assigned for the next node
    std::string module_;  // module of the next nodes; the next four members apply to them as well
    USHORT width_ = IB_LINK_WIDTH_4X;
    USHORT speed_ = IB_LINK_SPEED_QDR;
    USHORT extended_speed_ = 0;
    std::array<guid_base, 4> guids_{guid_base(0), guid_base(0x100000), guid_base(0x200000),
                                    guid_base(0x300000)}; // indexed by IB_NODE_TYPE
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
    if (!in.at_end() && !in.starts_with("#")) in.fail("expected the end of the line");
    if (depth_ == max_include_depth)
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
    if (in.starts_with("#") || in.starts_with("Chassis") || in.starts_with("Non-Chassis")) return;
    if (in.starts_with("[")) return port(in);
    if (in.accept("@")) return port_alias(in);
    if (in.accept("Switch")) return header(in, IB_NODE_SWITCH);
    if (in.accept("Hca") || in.accept("Ca")) return header(in, IB_NODE_CA);
    if (in.accept("Rt")) return header(in, IB_NODE_ROUTER);
    if (in.accept("include")) return include(in);
    if (in.starts_with("do "))
        in.fail("'do' is a command of ibsim's console, which is not supported");
    assignment(in);
}

void parser::assignment(line_reader& in) {
    constexpr ULONG any = ~ULONG{0};
    const auto assigns = [&](std::string_view word) {
        if (!in.accept(word)) return false;
        in.expect("=");
        return true;
    };
    if (assigns("vendid")) {
        next_node_.vendor_id = static_cast<ULONG>(in.expect_number("a vendor id", any));
    } else if (assigns("devid")) {
        next_node_.device_id = static_cast<ULONG>(in.expect_number("a device id", any));
    } else if (assigns("sysimgguid")) {
        next_node_.system_image_guid = in.expect_number("a GUID", any_guid);
    } else if (in.accept("switchguid")) {
        guid_assignment(in, guids_[IB_NODE_SWITCH]);
    } else if (in.accept("caguid") || in.accept("hcaguid")) {
        guid_assignment(in, guids_[IB_NODE_CA]);
    } else if (in.accept("rtguid")) {
        guid_assignment(in, guids_[IB_NODE_ROUTER]);
    } else if (assigns("width")) {
        width_ = expect_width(in);
    } else if (assigns("speed")) {
        speed_ = expect_speed(in);
    } else if (assigns("extspeed")) {
        extended_speed_ = expect_extended_speed(in);
    } else if (assigns("module")) {
        module_ = in.expect_quoted("the module's name");
        check_name(in, module_);
    } else if (assigns("pdebug")) {
        in.expect_number("a level", any); // the verbosity of ibsim's parser
    } else {
        in.fail("expected a node (Switch, Ca, Hca, Rt), a port ([1] \"node\"[1]), an alias "
                "(@[1] \"alias\") or an assignment (vendid= devid= sysimgguid= switchguid= caguid= "
                "rtguid= width= speed= extspeed= module= include)");
    }
    if (!in.at_end() && !in.starts_with("#")) in.fail("expected the end of the line");
}

// switchguid=0x2c90200404c40(2c90200404c40): the GUID in parentheses is that of port 0; hcaguids+16
void parser::guid_assignment(line_reader& in, guid_base& base) {
    in.accept("s");
    if (in.accept("+")) {
        base.add(in.expect_number("a number of GUIDs", any_guid));
    } else {
        in.expect("=");
        base.assign(in.expect_number("a GUID", any_guid));
    }
    next_node_.ports.resize(1);
    if (const auto guid = in.accept_guid()) next_node_.ports[0].guid = *guid;
}

void parser::header(line_reader& in, IB_NODE_TYPE type) {
    node_plan node = std::exchange(next_node_, {});
    node.type = type;
    node.line = in.number();
    const std::uint64_t ports = in.expect_number("a number of ports", max_ports);
    if (ports == 0) in.fail("a node has at least one port");
    node.ports.resize(ports + 1);
    for (port_plan& each : node.ports) {
        each.width = width_;
        each.speed = speed_ | extended_speed_;
    }
    name_node(in, node);
    node.guid = guids_[type].allocate(type == IB_NODE_SWITCH ? 1 : ports + 1, guid_in(node.id));
    if (in.accept("#")) {
        node_description(in, node);
        if (type == IB_NODE_SWITCH) switch_comment(in, node);
    } else if (!in.at_end()) {
        in.fail("expected '#' or the end of the line behind the node's id");
    }
    add_node(in, std::move(node));
}

void parser::name_node(line_reader& in, node_plan& node) {
    node.id = in.expect_quoted("the node's id");
    check_name(in, node.id);
    if (!module_.empty()) node.id = module_ + '#' + node.id;
    node.description = node.id;
}

// "node01 HCA-1"; older tools wrote it without quotes.
void parser::node_description(line_reader& in, node_plan& node) {
    if (in.starts_with("\"")) {
        node.description = in.expect_quoted("the node's description");
        return;
    }
    const std::string_view text = in.read_until({"base port 0", "enhanced port 0"});
    if (!text.empty()) node.description = text;
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
    file_of_node_.push_back(name_);
    in_node_ = true;
}

endpoint parser::port_number(line_reader& in) {
    if (!in_node_) in.fail("a port stands below its node's line, with no empty line between");
    const std::size_t index = result_.nodes.size() - 1;
    in.expect("[");
    const std::uint64_t number =
        in.expect_number("a port number", result_.nodes[index].ports.size() - 1);
    if (number == 0) in.fail("ports that have cables are numbered from 1");
    in.expect("]");
    return {index, static_cast<UCHAR>(number)};
}

// [22](portguid) "H-0008f10403961354"[1](8f10403961355) w=3 # "description" lid 4 4xSDR
void parser::port(line_reader& in) {
    const endpoint here = port_number(in);
    node_plan& node = result_.nodes[here.node];
    port_plan& port = node.ports[here.port];
    if (in.accept("[ext")) {
        in.expect_number("an external port number", 255);
        in.expect("]");
    }
    if (const auto guid = in.accept_guid()) port.guid = *guid;
    cable found{here, other_end(in), 1, name_, in.number()};
    if (in.accept("[")) {
        found.to_port = static_cast<UCHAR>(in.expect_number("a port number", max_ports));
        in.expect("]");
    }
    in.accept_guid();
    port_options(in, port);
    if (in.accept("#")) port_comment(in, port, node.type == IB_NODE_SWITCH);
    cables_.push_back(std::move(found));
}

// @[1] "alias"
void parser::port_alias(line_reader& in) {
    const endpoint here = port_number(in);
    std::string name = in.expect_quoted("the port's alias");
    check_name(in, name);
    const auto [place, fresh] = aliases_.emplace(module_ + '@' + name, alias{here, in.number()});
    if (!fresh)
        in.fail("\"" + place->first + "\" is an alias already, at line " +
                std::to_string(place->second.line));
    port_options(in, result_.nodes[here.node].ports[here.port]);
}

// A node or an alias: "node" or "@alias" of this module; "module#node" or "module@alias".
std::string parser::other_end(line_reader& in) {
    std::string name = in.expect_quoted("the other node's id");
    if (name.starts_with('@')) return module_ + name;
    const bool whole = module_.empty() || name.find_first_of("#@") != std::string::npos;
    return whole ? name : module_ + '#' + name;
}

// ibsim: w=3 s=4 e=2
void parser::port_options(line_reader& in, port_plan& port) {
    constexpr unsigned extended = 0xFF00; // PortInfo's LinkSpeedExt
    while (!in.at_end() && !in.starts_with("#")) {
        if (in.accept("w=")) {
            port.width = expect_width(in);
        } else if (in.accept("s=")) {
            const USHORT speed = expect_speed(in, IB_LINK_SPEED_QDR);
            port.speed = static_cast<USHORT>((port.speed & extended) | speed);
        } else if (in.accept("e=")) {
            const USHORT speed = expect_extended_speed(in);
            port.speed = static_cast<USHORT>((port.speed & ~extended) | speed);
        } else {
            in.fail("expected 'w=', 's=', 'e=', '#' or the end of the line");
        }
    }
}

// On a switch: "description" lid 4 4xSDR. On other nodes: lid 4 lmc 0 "description" lid 6 4xSDR;
// the first LID is this port's.
void parser::port_comment(line_reader& in, port_plan& port, bool of_switch) {
    if (!of_switch && in.accept("lid")) {
        port.lid = static_cast<ib_lid_t>(in.expect_number("a LID", IB_LID_UNICAST_LAST));
        if (in.accept("lmc")) port.lmc = static_cast<UCHAR>(in.expect_number("an LMC", 7));
    }
    if (!in.starts_with("\"")) return;
    in.expect_quoted("the other node's description");
    if (!in.accept("lid")) return;
    in.expect_number("a LID", 0xFFFF);
    const auto link = link_name(in);
    if (!link) return;
    port.width = link->width;
    port.speed = link->speed;
}

void parser::assign_guids(node_plan& node, std::size_t index) {
    if (node.guid == 0) node.guid = generated_guids + ((index + 1) << 8);
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

endpoint parser::find(const cable& each) const {
    if (each.to_name.find('@') != std::string::npos) {
        const auto place = aliases_.find(each.to_name);
        if (place != aliases_.end()) return place->second.of;
        throw topology_error(each.file, each.line, "there is no alias \"" + each.to_name + "\"");
    }
    const auto place = by_id_.find(each.to_name);
    if (place == by_id_.end())
        throw topology_error(each.file, each.line, "there is no node \"" + each.to_name + "\"");
    const std::size_t ports = result_.nodes[place->second].ports.size() - 1;
    if (each.to_port == 0 || each.to_port > ports)
        throw topology_error(each.file, each.line,
                             "\"" + each.to_name + "\" has ports 1 to " + std::to_string(ports));
    return {place->second, each.to_port};
}

void parser::connect(const cable& each) {
    const endpoint to = find(each);
    if (to == each.from) throw topology_error(each.file, each.line, "a cable has two ends");
    connect_end(each.from, to, each);
    connect_end(to, each.from, each);
}

void parser::check_guids() {
    std::unordered_map<ib_guid_t, unsigned> nodes, ports; // GUID to line
    for (std::size_t i = 0; i < result_.nodes.size(); ++i) {
        const node_plan& node = result_.nodes[i];
        const auto claim = [&](auto& seen, ib_guid_t guid, const std::string& whose,
                               const char* of) {
            const auto [place, fresh] = seen.emplace(guid, node.line);
            if (!fresh)
                throw topology_error(file_of_node_[i], node.line,
                                     "the GUID of \"" + node.id + '"' + whose + " is that of " +
                                         of + " at line " + std::to_string(place->second));
        };
        claim(nodes, node.guid, "", "the node");
        if (node.type == IB_NODE_SWITCH) continue; // the ports of a switch share its GUID
        for (std::size_t port = 1; port < node.ports.size(); ++port)
            claim(ports, node.ports[port].guid, '[' + std::to_string(port) + ']',
                  "a port of the node");
    }
}

topology parser::finish() {
    if (result_.nodes.empty())
        throw topology_error(name_, last_line_, "expected at least one node");
    for (std::size_t i = 0; i < result_.nodes.size(); ++i) {
        assign_guids(result_.nodes[i], i);
        for (port_plan& each : result_.nodes[i].ports)
            each.speed = std::bit_floor(each.speed);
    }
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
