// irpctl port: all attributes of one port.
#include "commands.hpp"
#include "describe.hpp"
#include "open_port.hpp"
#include "output.hpp"

#include <boost/json/array.hpp>

#include <fmt/format.h>

namespace irpctl {

namespace json = boost::json;

namespace {

void print_list(const json::object& port, const char* table, const char* heading,
                const char* value) {
    std::vector<std::vector<std::string>> rows;
    for (const json::value& each : port.at(table).as_array())
        rows.push_back({text_of(each.at("index")), text_of(each.at(value))});
    print_line("");
    print_table({{"INDEX"}, {heading}}, rows);
}

void print(const json::object& port) {
    print_line(fmt::format("{} port {}", text_of(port.at("device")), text_of(port.at("port"))));
    print_members(port);
    print_list(port, "gids", "GID", "gid");
    print_list(port, "pkeys", "P_KEY", "pkey");
}

} // namespace

asio::awaitable<void> show_port(session& here, port_choice which) {
    json::object port;
    co_await with_port(here, which, [&](const open_port& at) -> asio::awaitable<void> {
        const UCHAR number = at.attributes.PortNumber;
        const ci::port_attributes found =
            co_await ci::query_port(at.ca, number, asio::use_awaitable);
        port = describe(at.which, *found);
    });
    if (here.json())
        print_json(port);
    else
        print(port);
}

} // namespace irpctl
