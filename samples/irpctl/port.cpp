// irpctl port: all that is known of one port.
#include "commands.hpp"
#include "describe.hpp"
#include "output.hpp"

#include <boost/json/array.hpp>

#include <charconv>
#include <fmt/format.h>
#include <memory>
#include <optional>

namespace irpctl {

namespace json = boost::json;

namespace {

struct wanted_port {
    std::string device;
    std::string port;
};

std::optional<UCHAR> port_number(const std::string& text) {
    UCHAR number = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool good = wrong == std::errc() && end == text.data() + text.size() && number != 0;
    return good ? std::optional(number) : std::nullopt;
}

// `port 2` is a port of the first device.
void understand(wanted_port& wanted) {
    if (wanted.port.empty() && port_number(wanted.device)) std::swap(wanted.device, wanted.port);
    if (!wanted.port.empty() && !port_number(wanted.port))
        throw CLI::ValidationError("PORT",
                                   "a number from 1 to 255 was expected, not " + wanted.port);
}

void print_list(const json::object& port, const char* table, const char* heading,
                const char* value) {
    std::vector<std::vector<std::string>> rows;
    for (const json::value& each : port.at(table).as_array())
        rows.push_back({text_of(each.at("index")), text_of(each.at(value))});
    fmt::print("\n");
    print_table({{"INDEX"}, {heading}}, rows);
}

void print(const json::object& port) {
    fmt::print("{} port {}\n", text_of(port.at("device")), text_of(port.at("port")));
    print_members(port);
    print_list(port, "gids", "GID", "gid");
    print_list(port, "pkeys", "P_KEY", "pkey");
}

asio::awaitable<void> show_port(session& here, wanted_port wanted) {
    const device& which = here.find(wanted.device);
    const UCHAR number = port_number(wanted.port).value_or(1);
    json::object port;
    co_await with_adapter(here, which, [&](const ci::channel_adapter& ca) -> asio::awaitable<void> {
        const ci::ca_attributes all = co_await ci::query_ca(ca, asio::use_awaitable);
        if (number > all->PortCount)
            throw failure(fmt::format("{} has no port {}, only 1 to {}; irpctl devices lists them",
                                      which.name, number, all->PortCount));
        const ci::port_attributes found = co_await ci::query_port(ca, number, asio::use_awaitable);
        port = describe(which, *found);
    });
    if (here.json())
        print_json(port);
    else
        print(port);
}

} // namespace

void add_port(CLI::App& parent, invocation& chosen) {
    CLI::App* command =
        parent.add_subcommand("port", "Shows all attributes of a port, its GIDs and P_Keys");
    const auto wanted = std::make_shared<wanted_port>();
    command->add_option("DEVICE", wanted->device, "name or node GUID of the HCA; else the first");
    command->add_option("PORT", wanted->port, "its number; else 1");
    command->callback([&chosen, wanted] {
        understand(*wanted);
        chosen.run = [wanted](session& here) { return show_port(here, *wanted); };
    });
}

} // namespace irpctl
