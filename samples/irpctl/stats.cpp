// irpctl stats: prints IBMF's counters after a number of requests.
#include "output.hpp"
#include "transactions.hpp"

#include <boost/json/array.hpp>

#include <fmt/format.h>

namespace irpctl {

namespace ibmf = irpverbs::ibmf;
namespace json = boost::json;

namespace {

struct counter {
    const char* name;
    std::uint64_t ibmf_stats_t::*value;
};

constexpr counter counters[] = {
    {"messages_allocated", &ibmf_stats_t::st_msgs_alloced},
    {"transactions", &ibmf_stats_t::st_transactions},
    {"in_flight", &ibmf_stats_t::st_in_flight},
    {"queued", &ibmf_stats_t::st_queued},
    {"sends_active", &ibmf_stats_t::st_sends_active},
    {"receives_active", &ibmf_stats_t::st_receives_active},
    {"buffers", &ibmf_stats_t::st_buffers},
    {"callbacks_active", &ibmf_stats_t::st_callbacks_active},
    {"alternate_qps", &ibmf_stats_t::st_alt_qps},
    {"messages_sent", &ibmf_stats_t::st_msgs_sent},
    {"messages_received", &ibmf_stats_t::st_msgs_received},
    {"datagrams_sent", &ibmf_stats_t::st_datagrams_sent},
    {"datagrams_received", &ibmf_stats_t::st_datagrams_received},
    {"retries", &ibmf_stats_t::st_retries},
    {"busy", &ibmf_stats_t::st_busy},
    {"redirected", &ibmf_stats_t::st_redirected},
    {"timeouts", &ibmf_stats_t::st_timeouts},
    {"cancelled", &ibmf_stats_t::st_cancelled},
    {"send_failures", &ibmf_stats_t::st_send_failures},
    {"rmpp_errors", &ibmf_stats_t::st_rmpp_errors},
    {"rmpp_segments_resent", &ibmf_stats_t::st_rmpp_resent},
    {"transaction_ids_in_use", &ibmf_stats_t::st_tids_in_use},
    {"malformed", &ibmf_stats_t::st_malformed},
    {"wrong_class", &ibmf_stats_t::st_wrong_class},
    {"stale", &ibmf_stats_t::st_stale},
    {"wrong_peer", &ibmf_stats_t::st_wrong_peer},
    {"wrong_response", &ibmf_stats_t::st_wrong_response},
    {"no_client", &ibmf_stats_t::st_no_client},
    {"no_callback", &ibmf_stats_t::st_no_callback},
    {"overflows", &ibmf_stats_t::st_overflows},
    {"no_memory", &ibmf_stats_t::st_no_memory},
};
static_assert(std::size(counters) * sizeof(std::uint64_t) == sizeof(ibmf_stats_t));

json::object counted(ibmf_handle_t handle, boolean_t of_port) {
    ibmf_stats_t all{};
    ibmf_query_stats(handle, of_port, &all);
    json::object output;
    for (const counter& each : counters)
        output[each.name] = all.*each.value;
    return output;
}

mad_request class_port_info(std::uint64_t transaction) {
    mad_request made;
    made.header.mgmt_class = MAD_MGMT_CLASS_PERF;
    made.header.method = MAD_METHOD_GET;
    made.header.attribute_id = MAD_ATTR_ID_CLASSPORTINFO;
    made.header.transaction_id = transaction;
    const ibmf::class_layout layout = ibmf::layout_of(made.header.mgmt_class);
    made.class_header.resize(layout.class_header_size);
    made.data.resize(layout.data_size());
    return made;
}

// The statistics count failed requests.
asio::awaitable<void> query_path(session& here, ibmf_handle_t handle, std::uint64_t transaction,
                                 std::uint16_t lid, timeouts times) {
    try {
        const auto got = co_await transact(handle, class_port_info(transaction), lid, times);
        if (!got) ++here.cancelled_waits;
    } catch (const failure&) {
    }
}

void print(const json::object& client, const json::object& port) {
    std::vector<std::vector<std::string>> rows;
    for (const auto& each : client)
        rows.push_back({text_of(each.key()), text_of(each.value()), text_of(port.at(each.key()))});
    print_table({{"COUNTER"}, {"CLIENT"}, {"PORT"}}, rows);
}

} // namespace

asio::awaitable<void> show_statistics(session& here, stats_options options) {
    json::object client;
    json::object port;
    co_await with_port(here, options.from, [&](const open_port& at) -> asio::awaitable<void> {
        const std::uint16_t lid = options.lid != 0 ? options.lid : at.attributes.Lid;
        co_await with_ibmf(at, PERF_MANAGER, 0, [&](ibmf_handle_t handle) -> asio::awaitable<void> {
            std::vector<asio::awaitable<void>> queries;
            for (std::uint32_t i = 1; i <= options.count; ++i)
                queries.push_back(query_path(here, handle, i, lid, options.times));
            co_await all_of(std::move(queries));
            client = counted(handle, B_FALSE);
            port = counted(handle, B_TRUE);
        });
    });
    if (here.json())
        print_json({{"client", client}, {"port", port}});
    else
        print(client, port);
}

} // namespace irpctl
