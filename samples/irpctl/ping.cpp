// irpctl ping: sends a request every second, and prints the round-trip time of each response.
#include "as_result.hpp"
#include "datagrams.hpp"
#include "output.hpp"

#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>

namespace irpctl {

namespace ibmf = irpverbs::ibmf;
namespace json = boost::json;

namespace {

// The class and OUI of the server of infiniband-diags' ibping.
constexpr std::uint8_t ping_class = 0x32;
constexpr std::uint32_t ping_oui = 0x001405;

mad_request request_of(const ping_options& options) {
    mad_request made;
    made.header.mgmt_class = options.vendor ? ping_class : MAD_MGMT_CLASS_PERF;
    made.header.method = MAD_METHOD_GET;
    made.header.attribute_id = options.vendor ? 0 : MAD_ATTR_ID_CLASSPORTINFO;
    const ibmf::class_layout layout = ibmf::layout_of(made.header.mgmt_class);
    made.class_header.resize(layout.class_header_size);
    made.data.resize(layout.data_size());
    if (!options.vendor) return made;
    made.oui = ping_oui;
    ibmf::store_oui(std::span(made.class_header).first<4>(), ping_oui);
    return made;
}

/// The round-trip times of the responses, in milliseconds.
class round_trips {
public:
    void add(double took) {
        min_ = count_ == 0 ? took : std::min(min_, took);
        max_ = std::max(max_, took);
        sum_ += took;
        squares_ += took * took;
        ++count_;
    }
    std::uint64_t count() const { return count_; }
    json::object output() const {
        if (count_ == 0) return {};
        const double mean = sum_ / static_cast<double>(count_);
        const double variance = squares_ / static_cast<double>(count_) - mean * mean;
        return {{"min", min_},
                {"average", mean},
                {"max", max_},
                {"deviation", std::sqrt(std::max(variance, 0.0))}};
    }

private:
    std::uint64_t count_ = 0;
    double min_ = 0;
    double max_ = 0;
    double sum_ = 0;
    double squares_ = 0;
};

class ping_run {
public:
    ping_run(session& here, const open_port& from, const ping_options& options)
        : here_(here), from_(from), options_(options),
          lid_(options.lid != 0 ? options.lid : from.attributes.Lid),
          request_(request_of(options)) {}

    asio::awaitable<void> run();

private:
    bool more() const { return options_.count == 0 || sent_ < options_.count; }
    void print_result(const outcome& how);
    void print_totals(std::uint64_t late) const;
    asio::awaitable<bool> wait_for(asio::steady_timer& due);

    session& here_;
    const open_port& from_;
    const ping_options& options_;
    const std::uint16_t lid_;
    mad_request request_;
    std::uint64_t sent_ = 0;
    std::uint64_t refused_ = 0;
    round_trips responses_;
};

asio::awaitable<void> ping_run::run() {
    here_.ends_by_interruption = options_.count == 0;
    datagram_client client = co_await datagram_client::open(from_, request_);
    const irpverbs::irp::ticks time_limit = std::chrono::milliseconds(options_.milliseconds);
    asio::steady_timer due(co_await asio::this_coro::executor, std::chrono::seconds(0));
    for (bool goes_on = true; goes_on && more();) {
        request_.header.transaction_id = ++sent_;
        const outcome how = co_await client.exchange(request_, lid_, time_limit);
        goes_on = !how.interrupted;
        if (how.interrupted)
            --sent_; // its result is unknown
        else
            print_result(how);
        due.expires_at(due.expiry() + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::duration<double>(options_.interval)));
        if (goes_on && more()) goes_on = co_await wait_for(due);
    }
    print_totals(client.late());
    co_await asio::this_coro::reset_cancellation_state();
    co_await client.close();
    if (sent_ != 0 && responses_.count() == 0)
        throw failure(
            fmt::format("LID {} did not respond; irpctl ping --timeout allows more time", lid_));
}

// Returns false when Ctrl-C interrupts the wait.
asio::awaitable<bool> ping_run::wait_for(asio::steady_timer& due) {
    const auto [cancelled] = co_await due.async_wait(as_result);
    if (cancelled) ++here_.cancelled_waits;
    co_return !cancelled;
}

void ping_run::print_result(const outcome& how) {
    json::object output{
        {"sequence", sent_}, {"lid", lid_}, {"responded", how.response.has_value()}};
    std::string line = fmt::format("no response from LID {}: sequence {}", lid_, sent_);
    if (how.response) {
        const double took = static_cast<double>(how.response->ticks) / 1e4;
        const std::uint16_t status = how.response->header.status;
        responses_.add(took);
        if (status != 0) ++refused_;
        output["milliseconds"] = took;
        output["status"] = fmt::format("0x{:04x}", status);
        line =
            fmt::format("response from LID {}: sequence {}, {:.3f} ms{}", how.response->from_lid,
                        sent_, took, status != 0 ? fmt::format(", status 0x{:04x}", status) : "");
    }
    if (here_.json())
        print_json(output);
    else
        print_line(line);
}

void ping_run::print_totals(std::uint64_t late) const {
    const std::uint64_t lost = sent_ - responses_.count();
    const json::object times = responses_.output();
    if (here_.json())
        return print_json({{"sent", sent_},
                           {"responded", responses_.count()},
                           {"refused", refused_},
                           {"lost", lost},
                           {"late", late},
                           {"milliseconds", times}});
    const double share =
        sent_ == 0 ? 0 : 100.0 * static_cast<double>(lost) / static_cast<double>(sent_);
    print_line(fmt::format("{} sent, {} responded ({} refused), {} lost ({:.1f}%), {} late", sent_,
                           responses_.count(), refused_, lost, share, late));
    if (responses_.count() == 0) return;
    const auto part = [&](const char* name) { return times.at(name).as_double(); };
    print_line(
        fmt::format("round trip: min {:.3f}, average {:.3f}, max {:.3f}, deviation {:.3f} ms",
                    part("min"), part("average"), part("max"), part("deviation")));
}

} // namespace

asio::awaitable<void> show_pings(session& here, ping_options options) {
    co_await with_port(here, options.from, [&](const open_port& from) -> asio::awaitable<void> {
        expect_lids(from);
        ping_run all(here, from, options);
        co_await all.run();
    });
}

} // namespace irpctl
