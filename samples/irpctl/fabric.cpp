// irpctl fabric: the subnet as text, JSON or a picture.
#include "commands.hpp"
#include "fabric_drawing.hpp"
#include "guid.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "sa_session.hpp"

#include <boost/json/array.hpp>

#include <fmt/format.h>

namespace irpctl {

namespace json = boost::json;

namespace {

asio::awaitable<fabric_map> ask_for_map(sa_session& sa) {
    const auto nodes = co_await sa.all<sa_node_record_t>();
    const auto ports = co_await sa.all<sa_portinfo_record_t>();
    const auto links = co_await sa.all<sa_link_record_t>();
    const auto managers = co_await sa.all<sa_sminfo_record_t>();
    co_return fabric_map(fabric_records{nodes, ports, links, managers});
}

std::string managers_in(const fabric_map& map) {
    std::string text;
    for (std::size_t i = 0; i < map.nodes().size(); ++i)
        for (const auto& [number, port] : map.nodes()[i].ports)
            if (!port.manager.empty())
                text += fmt::format("{}{}, LID {} ({})", text.empty() ? "" : "; ",
                                    map.place(i, number), port.lid, port.manager);
    return text.empty() ? "none found" : text;
}

std::vector<std::string> row_of(const fabric_map& map, std::uint8_t number,
                                const fabric_port& port) {
    const fabric_port* const end =
        port.peer ? &map.nodes()[*port.peer].ports.at(port.peer_port) : nullptr;
    std::string to = port.peer ? map.place(*port.peer, port.peer_port) : "-";
    if (end != nullptr && !end->manager.empty()) to += " (SM)";
    return {std::to_string(number), port.state, port.link.empty() ? "-" : port.link, to,
            end != nullptr && end->lid != 0 ? std::to_string(end->lid) : ""};
}

void print_ports(const fabric_map& map, const fabric_node& node) {
    std::vector<std::vector<std::string>> rows;
    for (const auto& [number, port] : node.ports)
        if (number != 0 && port.peer) rows.push_back(row_of(map, number, port));
    if (!rows.empty()) print_table({{"PORT"}, {"STATE", 6}, {"LINK", 7}, {"TO"}, {"LID"}}, rows);
}

std::string heading(const fabric_node& node) {
    std::size_t outside = 0;
    std::string lids;
    for (const auto& [number, port] : node.ports) {
        if (number != 0) ++outside;
        if (port.lid != 0) lids += fmt::format(", LID {}", port.lid);
    }
    const std::string guid = guid_text(node.guid);
    return fmt::format("{} {}{}: {} of {} ports have a link", node.is_switch ? "switch" : "host",
                       node.name == guid ? guid : fmt::format("{}  {}", node.name, guid), lids,
                       node.links(), outside);
}

std::string counted(std::size_t count, const char* one, const char* many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

void print(const fabric_map& map) {
    print_line(fmt::format("{}, {}, {}", counted(map.count(true), "switch", "switches"),
                           counted(map.count(false), "host", "hosts"),
                           counted(map.links().size(), "link", "links")));
    print_line("subnet manager: " + managers_in(map));
    for (const fabric_node& each : map.nodes()) {
        print_line("");
        print_line(heading(each));
        print_ports(map, each);
    }
}

json::object described(const fabric_map& map, const fabric_port& port, std::uint8_t number) {
    json::object output{{"port", number}, {"state", port.state}};
    if (port.lid != 0) output["lid"] = port.lid;
    if (!port.link.empty()) output["link"] = port.link;
    if (!port.manager.empty()) output["subnet_manager"] = port.manager;
    if (port.peer)
        output["to"] = {{"node_guid", guid_text(map.nodes()[*port.peer].guid)},
                        {"node", map.nodes()[*port.peer].name},
                        {"port", port.peer_port}};
    return output;
}

json::object described(const fabric_map& map) {
    json::array nodes;
    for (const fabric_node& each : map.nodes()) {
        json::array ports;
        for (const auto& [number, port] : each.ports)
            ports.push_back(described(map, port, number));
        nodes.push_back({{"node", each.name},
                         {"node_guid", guid_text(each.guid)},
                         {"type", each.is_switch ? "switch" : "host"},
                         {"ports", ports}});
    }
    return {{"switches", map.count(true)},
            {"hosts", map.count(false)},
            {"links", map.links().size()},
            {"nodes", nodes}};
}

} // namespace

asio::awaitable<void> show_fabric(session& here, fabric_options options) {
    fabric_map map;
    co_await with_sa(here, options.parameters, [&](sa_session& sa) -> asio::awaitable<void> {
        co_await while_showing([] { return std::string("querying the SA ..."); },
                               [](fabric_map& into, sa_session& of) -> asio::awaitable<void> {
                                   into = co_await ask_for_map(of);
                               }(map, sa));
    });
    if (options.form == fabric_form::dot)
        write_out(dot_of(map));
    else if (options.form == fabric_form::svg)
        write_out(svg_of(map));
    else if (here.json())
        print_json(described(map));
    else
        print(map);
}

} // namespace irpctl
