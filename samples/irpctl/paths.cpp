// irpctl paths: paths from a port to every other, with all queries in flight at once.
#include "commands.hpp"
#include "guid.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "record_text.hpp"
#include "sa_session.hpp"

#include <boost/json/array.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace irpctl {

namespace json = boost::json;

namespace {

/// A port of the subnet, and the path to it.
struct destination {
    std::string name;
    unsigned port;
    ib_guid_t guid;
    ib_lid_t lid;
    saa::record_list<sa_path_record_t> paths{};
};

std::vector<destination> destinations_in(const saa::record_list<sa_node_record_t>& nodes) {
    std::vector<destination> found;
    for (const sa_node_record_t& each : nodes) {
        const bool is_switch = each.NodeInfo.NodeType == SM_NODE_TYPE_SWITCH;
        found.push_back({name_of(each), is_switch ? 0u : each.NodeInfo.LocalPortNum,
                         each.NodeInfo.PortGUID, each.LID});
    }
    std::ranges::sort(found, {},
                      [](const destination& each) { return std::pair(each.name, each.port); });
    return found;
}

json::object described(const destination& to) {
    json::object output{{"to", to.name},
                        {"port", to.port},
                        {"port_guid", guid_text(to.guid)},
                        {"lid", to.lid},
                        {"reached", !to.paths.empty()}};
    if (to.paths.empty()) return output;
    const sa_path_record_t& path = to.paths[0];
    for (const char* field : {"Mtu", "Rate", "SL"})
        output[field] = value_text(path, field);
    output["P_Key"] = fmt::format("0x{:04x}", path.P_Key);
    output["life_time_us"] = 4.096 * static_cast<double>(std::uint64_t{1} << path.PacketLifeTime);
    return output;
}

void print(const json::array& all) {
    std::vector<std::vector<std::string>> rows;
    for (const json::value& each : all) {
        const json::object& to = each.as_object();
        std::vector<std::string>& row = rows.emplace_back();
        for (const char* key : {"to", "port", "port_guid", "lid"})
            row.push_back(text_of(to.at(key)));
        for (const char* key : {"Mtu", "Rate", "SL", "P_Key"})
            row.push_back(to.contains(key) ? text_of(to.at(key)) : "-");
        row.push_back(to.contains("life_time_us")
                          ? fmt::format("{:.0f} us", to.at("life_time_us").as_double())
                          : "no path");
    }
    print_table({{"TO"},
                 {"PORT"},
                 {"PORT GUID"},
                 {"LID"},
                 {"MTU"},
                 {"RATE"},
                 {"SL"},
                 {"P_KEY"},
                 {"LIFE TIME"}},
                rows);
}

/// Sends one query per path. SA access limits the number of queries in flight.
class path_survey {
public:
    explicit path_survey(sa_session& sa) : sa_(sa) {}

    asio::awaitable<void> run() {
        all_ = destinations_in(co_await sa_.all<sa_node_record_t>());
        std::vector<asio::awaitable<void>> queries;
        for (destination& each : all_)
            queries.push_back(query_path(each));
        co_await all_of(std::move(queries));
    }
    std::string progress() const { return fmt::format("{} of {} paths", done_, all_.size()); }
    json::array result() const {
        json::array output;
        for (const destination& each : all_)
            output.push_back(described(each));
        return output;
    }

private:
    asio::awaitable<void> query_path(destination& to) {
        to.paths = co_await sa_.path_to(sa_.gid_of(to.guid));
        ++done_;
    }

    sa_session& sa_;
    std::vector<destination> all_;
    std::size_t done_ = 0;
};

} // namespace

asio::awaitable<void> show_paths(session& here, sa_parameters parameters) {
    json::array output;
    co_await with_sa(here, parameters, [&](sa_session& sa) -> asio::awaitable<void> {
        path_survey paths(sa);
        co_await while_showing([&] { return paths.progress(); }, paths.run());
        output = paths.result();
    });
    if (here.json())
        print_json(output);
    else
        print(output);
}

} // namespace irpctl
