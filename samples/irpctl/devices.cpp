// irpctl devices: one row per port; with --all also the limits of each device.
#include "commands.hpp"
#include "describe.hpp"
#include "output.hpp"
#include "session.hpp"

#include <boost/json/array.hpp>

namespace irpctl {

namespace json = boost::json;

namespace {

using rows = std::vector<std::vector<std::string>>;

void add_rows(rows& table, const json::object& device) {
    for (const json::value& port : device.at("ports").as_array()) {
        std::vector<std::string>& row = table.emplace_back();
        for (const char* key : {"device", "node_guid"})
            row.push_back(text_of(device.at(key)));
        for (const char* key : {"port", "state", "lid", "link"})
            row.push_back(text_of(port.at(key)));
        for (const char* key : {"vendor", "part", "firmware"})
            row.push_back(text_of(device.at(key)));
    }
}

void print_rows(const json::array& devices) {
    rows table;
    for (const json::value& each : devices)
        add_rows(table, each.as_object());
    print_table({{"DEVICE"},
                 {"NODE GUID"},
                 {"PORT"},
                 {"STATE"},
                 {"LID"},
                 {"LINK"},
                 {"VENDOR"},
                 {"PART"},
                 {"FIRMWARE"}},
                table);
}

void print_limits(const json::object& device) {
    print_line("");
    print_line(text_of(device.at("device")));
    print_members(device.at("limits").as_object());
    print_members(device.at("extended").as_object());
}

} // namespace

asio::awaitable<void> show_devices(session& here, bool with_limits) {
    json::array devices;
    for (const device& each : here.devices())
        co_await with_adapter(
            here, each, [&](const ci::channel_adapter& ca) -> asio::awaitable<void> {
                const ci::ca_attributes found = co_await ci::query_ca(ca, asio::use_awaitable);
                devices.push_back(describe(each, *found));
            });
    if (here.json()) co_return print_json(devices);
    print_rows(devices);
    if (!with_limits) co_return;
    for (const json::value& each : devices)
        print_limits(each.as_object());
}

} // namespace irpctl
