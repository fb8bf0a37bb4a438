// irpctl mad: sends any datagram, and prints its response.
#include "datagrams.hpp"
#include "output.hpp"
#include "transactions.hpp"

#include <boost/json/array.hpp>
#include <fmt/format.h>

namespace irpctl {

namespace ibmf = irpverbs::ibmf;
namespace json = boost::json;

namespace {

std::uint16_t lid_for(const mad_request& request, const open_port& from) {
    if (request.lid) return *request.lid;
    const ib_lid_t lid = request.is_for_the_sa() ? from.attributes.SmLid : from.attributes.Lid;
    if (lid == 0)
        throw failure(fmt::format("{} port {} knows no LID to ask; --lid names one, or --route a "
                                  "way",
                                  from.which.name, from.attributes.PortNumber));
    return lid;
}

failure no_response(std::uint16_t lid, const timeouts& times) {
    return failure(fmt::format("{}: no response within {} ms, asked {} times; --timeout and "
                               "--retries allow more time",
                               lid == IB_LID_PERMISSIVE ? "that route" : fmt::format("LID {}", lid),
                               times.milliseconds, times.retries + 1));
}

asio::awaitable<std::optional<mad_response>>
exchange(const open_port& from, const mad_options& options, std::uint16_t lid) {
    datagram_client client = co_await datagram_client::open(from, options.request);
    const irpverbs::irp::ticks wait = std::chrono::milliseconds(options.times.milliseconds);
    outcome last;
    for (std::uint32_t tries = 0; tries <= options.times.retries; ++tries) {
        last = co_await client.exchange(options.request, lid, wait);
        if (last.response || last.interrupted) break;
    }
    co_await asio::this_coro::reset_cancellation_state();
    co_await client.close();
    if (!last.response && !last.interrupted) throw no_response(lid, options.times);
    co_return std::move(last.response);
}

// Source: IBA 13.4.5 (management methods).
bool has_response(std::uint8_t method) {
    return method != MAD_METHOD_SEND && method != MAD_METHOD_TRAP_REPRESS &&
           (method & MAD_RESPONSE_BIT) == 0;
}

asio::awaitable<void> send_only(const open_port& from, const mad_request& what, std::uint16_t lid) {
    datagram_client client = co_await datagram_client::open(from, what);
    co_await client.send_only(what, lid);
    co_await asio::this_coro::reset_cancellation_state();
    co_await client.close();
}

asio::awaitable<std::optional<mad_response>>
query_sa(const open_port& from, const mad_options& options, std::uint16_t lid) {
    std::optional<mad_response> got;
    co_await with_ibmf(from, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP,
                       [&](ibmf_handle_t handle) -> asio::awaitable<void> {
                           got = co_await transact(handle, options.request, lid, options.times);
                       });
    // A response of one datagram has the full length of the data, not that of the record.
    if (got) got->has_table = got->data.size() != options.request.data.size();
    co_return got;
}

void print(const json::object& output) {
    print_members(output);
    const json::value* const records = output.if_contains("records");
    if (records == nullptr) {
        std::vector<std::vector<std::string>> rows;
        for (const json::value& each : output.at("data").as_array())
            rows.push_back({text_of(each.at("offset")), text_of(each.at("bytes"))});
        print_line("");
        return print_table({{"OFFSET"}, {"DATA"}}, rows);
    }
    for (const json::value& each : records->as_array()) {
        print_line("");
        print_members(each.as_object());
    }
}

} // namespace

asio::awaitable<void> show_response(session& here, mad_options options) {
    std::optional<mad_response> got;
    const bool expects_response = has_response(options.request.header.method);
    co_await with_port(here, options.from, [&](const open_port& from) -> asio::awaitable<void> {
        expect_lids(from);
        const std::uint16_t lid = lid_for(options.request, from);
        if (!expects_response)
            co_await send_only(from, options.request, lid);
        else if (options.request.is_for_the_sa())
            got = co_await query_sa(from, options, lid);
        else
            got = co_await exchange(from, options, lid);
    });
    if (!expects_response) {
        if (here.json())
            print_json({{"sent", true}});
        else
            print_line("sent; this method has no response");
        co_return;
    }
    if (!got) {
        ++here.cancelled_waits;
        co_return;
    }
    const json::object output = describe(*got, here.json() ? output_form::json : output_form::text);
    if (here.json())
        print_json(output);
    else
        print(output);
    const std::uint16_t status = got->header.status & 0x7FFF;
    if (status != 0)
        throw failure(fmt::format("refused with status 0x{:04x}: {}", status,
                                  output.at("meaning").as_string().c_str()));
}

} // namespace irpctl
