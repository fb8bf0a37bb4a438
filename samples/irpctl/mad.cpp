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

std::uint16_t lid_for(const question& asked, const open_port& from) {
    if (asked.lid) return *asked.lid;
    const ib_lid_t lid = asked.is_for_the_sa() ? from.attributes.SmLid : from.attributes.Lid;
    if (lid == 0)
        throw failure(fmt::format("{} port {} knows no LID to ask; --lid names one, or --route a "
                                  "way",
                                  from.which.name, from.attributes.PortNumber));
    return lid;
}

failure unanswered(std::uint16_t lid, const patience& times) {
    return failure(fmt::format("{}: no answer within {} ms, asked {} times; --timeout and "
                               "--retries allow more time",
                               lid == IB_LID_PERMISSIVE ? "that route" : fmt::format("LID {}", lid),
                               times.milliseconds, times.retries + 1));
}

asio::awaitable<std::optional<answer>> ask(const open_port& from, const mad_options& options,
                                           std::uint16_t lid) {
    datagram_client client = co_await datagram_client::open(from, options.asked);
    const irpverbs::irp::ticks wait = std::chrono::milliseconds(options.times.milliseconds);
    outcome last;
    for (std::uint32_t tries = 0; tries <= options.times.retries; ++tries) {
        last = co_await client.ask(options.asked, lid, wait);
        if (last.answered || last.interrupted) break;
    }
    co_await asio::this_coro::reset_cancellation_state();
    co_await client.close();
    if (!last.answered && !last.interrupted) throw unanswered(lid, options.times);
    co_return std::move(last.answered);
}

// Source: IBA 13.4.5 (management methods).
bool is_answered(std::uint8_t method) {
    return method != MAD_METHOD_SEND && method != MAD_METHOD_TRAP_REPRESS &&
           (method & MAD_RESPONSE_BIT) == 0;
}

asio::awaitable<void> tell(const open_port& from, const question& what, std::uint16_t lid) {
    datagram_client client = co_await datagram_client::open(from, what);
    co_await client.tell(what, lid);
    co_await asio::this_coro::reset_cancellation_state();
    co_await client.close();
}

asio::awaitable<std::optional<answer>> ask_the_sa(const open_port& from, const mad_options& options,
                                                  std::uint16_t lid) {
    std::optional<answer> got;
    co_await with_ibmf(from, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP,
                       [&](ibmf_handle_t handle) -> asio::awaitable<void> {
                           got = co_await transact(handle, options.asked, lid, options.times);
                       });
    // A response of one datagram has the full length of the data, not that of the record.
    if (got) got->whole_table = got->data.size() != options.asked.data.size();
    co_return got;
}

void print(const json::object& told) {
    print_members(told);
    const json::value* const records = told.if_contains("records");
    if (records == nullptr) {
        std::vector<std::vector<std::string>> rows;
        for (const json::value& each : told.at("data").as_array())
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

asio::awaitable<void> show_answer(session& here, mad_options options) {
    std::optional<answer> got;
    const bool answered = is_answered(options.asked.header.method);
    co_await with_port(here, options.from, [&](const open_port& from) -> asio::awaitable<void> {
        expect_lids(from);
        const std::uint16_t lid = lid_for(options.asked, from);
        if (!answered)
            co_await tell(from, options.asked, lid);
        else if (options.asked.is_for_the_sa())
            got = co_await ask_the_sa(from, options, lid);
        else
            got = co_await ask(from, options, lid);
    });
    if (!answered) {
        if (here.json())
            print_json({{"sent", true}});
        else
            print_line("sent; this method has no answer");
        co_return;
    }
    if (!got) {
        ++here.cancelled_waits;
        co_return;
    }
    const json::object told = describe(*got, here.json() ? answer_form::json : answer_form::words);
    if (here.json())
        print_json(told);
    else
        print(told);
    const std::uint16_t status = got->header.status & 0x7FFF;
    if (status != 0)
        throw failure(fmt::format("refused with status 0x{:04x}: {}", status,
                                  told.at("meaning").as_string().c_str()));
}

} // namespace irpctl
