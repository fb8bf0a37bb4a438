// irpctl qp: moves messages between two queue pairs, and prints latency or bandwidth in the numbers
// of perftest.
#include "open_port.hpp"
#include "output.hpp"
#include "qp_end.hpp"

#include <ci/data_path.h>
#include <ci/names.hpp>
#include <dispatch/ke.h>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <numeric>

namespace irpctl {

namespace json = boost::json;

namespace {

struct operation {
    const char* name;
    ib_wr_type_t type;
    bool has_immediate;
    bool has_receive; // at the peer
    bool is_atomic;
};

constexpr operation operations[] = {
    {"send", WR_SEND, false, true, false},
    {"send-imm", WR_SEND, true, true, false},
    {"write", WR_RDMA_WRITE, false, false, false},
    {"write-imm", WR_RDMA_WRITE, true, true, false},
    {"read", WR_RDMA_READ, false, false, false},
    {"fetch-add", WR_FETCH_ADD, false, false, true},
    {"compare-swap", WR_COMPARE_SWAP, false, false, true},
};

const operation& operation_of(const qp_options& options) {
    return *std::ranges::find_if(
        operations, [&](const operation& each) { return each.name == options.operation; });
}

ib_qp_type_t type_of(const qp_options& options) {
    if (options.service == "uc") return IB_QPT_UNRELIABLE_CONN;
    return options.service == "ud" ? IB_QPT_UNRELIABLE_DGRM : IB_QPT_RELIABLE_CONN;
}

/// A sample of times, in microseconds.
json::object latency_of(std::vector<double> times) {
    std::ranges::sort(times);
    const auto share = [&](double part) {
        return times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))];
    };
    const auto count = static_cast<double>(times.size());
    const double average = std::accumulate(times.begin(), times.end(), 0.0) / count;
    double squares = 0;
    for (const double each : times)
        squares += (each - average) * (each - average);
    return {{"min", times.front()},
            {"max", times.back()},
            {"typical", share(0.5)},
            {"average", average},
            {"deviation", std::sqrt(squares / count)},
            {"99 percent", share(0.99)},
            {"99.9 percent", share(0.999)}};
}

class qp_run {
public:
    qp_run(session& here, const open_port& from, const device& to, const qp_options& options)
        : here_(here), options_(options), what_(operation_of(options)),
          one_(from.which, from.attributes.PortNumber), two_(to, 1) {}

    asio::awaitable<void> run(const ci::channel_adapter& from, const ci::channel_adapter& to);
    asio::awaitable<void> close() {
        co_await one_.close();
        co_await two_.close();
    }

private:
    asio::awaitable<void> measure_latency();
    asio::awaitable<void> measure_bandwidth();
    asio::awaitable<double> exchange();
    asio::awaitable<void> take_completion(qp_end& end);
    asio::awaitable<bool> take_some(qp_end& end, std::uint64_t& count);
    void post(qp_end& from, const qp_end& to);
    std::uint32_t size() const { return what_.is_atomic ? 8 : options_.size; }
    void print(const json::object& measured, const char* unit) const;

    static LONGLONG now() { return KeQueryPerformanceCounter(nullptr).QuadPart; }
    static double microseconds_since(LONGLONG begin) {
        LARGE_INTEGER frequency;
        const LONGLONG passed = KeQueryPerformanceCounter(&frequency).QuadPart - begin;
        return static_cast<double>(passed) * 1e6 / static_cast<double>(frequency.QuadPart);
    }

    session& here_;
    const qp_options& options_;
    const operation& what_;
    qp_end one_;
    qp_end two_;
};

asio::awaitable<void> qp_run::run(const ci::channel_adapter& from, const ci::channel_adapter& to) {
    const ULONG depth = options_.bandwidth ? options_.depth : 2;
    co_await one_.open(from, type_of(options_), size(), depth);
    co_await two_.open(to, type_of(options_), size(), depth);
    co_await one_.connect(two_);
    co_await two_.connect(one_);
    if (options_.bandwidth)
        co_await measure_bandwidth();
    else
        co_await measure_latency();
}

void qp_run::post(qp_end& from, const qp_end& to) {
    ib_send_wr_t request = from.request(what_.type, to);
    if (what_.has_immediate) request.send_opt |= IB_SEND_OPT_IMMEDIATE;
    if (what_.type == WR_FETCH_ADD) request.remote_ops.atomic1 = 1;
    from.post(request);
}

asio::awaitable<void> qp_run::take_completion(qp_end& end) {
    IB_WC completion{};
    while (!end.poll(completion))
        co_await end.wait();
}

// Messages that the peer receives go forth and back, and half of the round trip counts, as in
// perftest; other operations are complete when their work completion is there.
asio::awaitable<double> qp_run::exchange() {
    const LONGLONG begin = now();
    post(one_, two_);
    if (!what_.has_receive) {
        co_await take_completion(one_);
        co_return microseconds_since(begin);
    }
    co_await take_completion(two_);
    post(two_, one_);
    for (int i = 0; i < 2; ++i)
        co_await take_completion(one_); // sent and received
    const double took = microseconds_since(begin) / 2;
    co_await take_completion(two_);
    one_.post_receive();
    two_.post_receive();
    co_return took;
}

asio::awaitable<void> qp_run::measure_latency() {
    std::vector<double> times;
    if (what_.has_receive) one_.post_receive();
    if (what_.has_receive) two_.post_receive();
    for (std::uint64_t i = 0; i < options_.count; ++i) {
        times.push_back(co_await exchange());
        if (i % 256 == 0) co_await asio::post(asio::use_awaitable); // sees Ctrl-C
    }
    print(latency_of(std::move(times)), "microseconds");
}

// Takes the completions that are there; returns false when there was none.
asio::awaitable<bool> qp_run::take_some(qp_end& end, std::uint64_t& count) {
    IB_WC completion{};
    const std::uint64_t before = count;
    while (end.poll(completion))
        ++count;
    co_return count != before;
}

asio::awaitable<void> qp_run::measure_bandwidth() {
    std::uint64_t posted = 0;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t receives = 0;
    std::uint64_t window_end = 0;
    double peak = 0;
    const LONGLONG begin = now();
    LONGLONG window_begin = begin;
    while (sent < options_.count || (what_.has_receive && received < options_.count)) {
        for (;
             what_.has_receive && receives < received + options_.depth && receives < options_.count;
             ++receives)
            two_.post_receive();
        for (; posted < options_.count && posted < sent + options_.depth &&
               (!what_.has_receive || posted < receives);
             ++posted)
            post(one_, two_);
        bool any = co_await take_some(one_, sent);
        if (what_.has_receive && co_await take_some(two_, received)) any = true;
        if (!any) co_await (sent < posted ? one_ : two_).wait();
        if (sent >= window_end + options_.depth) {
            const double took = std::max(microseconds_since(window_begin), 0.1);
            peak = std::max(peak, static_cast<double>(sent - window_end) / took);
            window_end = sent;
            window_begin = now();
            co_await asio::post(asio::use_awaitable); // sees Ctrl-C
        }
    }
    const double rate = static_cast<double>(sent) / std::max(microseconds_since(begin), 0.1);
    print({{"peak", std::max(peak, rate) * size()}, {"average", rate * size()}, {"messages", rate}},
          "MB/s, and million messages/s");
}

void qp_run::print(const json::object& measured, const char* unit) const {
    json::object output{
        {"from", one_.which().name}, {"to", two_.which().name}, {"service", options_.service},
        {"operation", what_.name},   {"bytes", size()},         {"count", options_.count}};
    if (here_.json()) {
        output[options_.bandwidth ? "bandwidth" : "microseconds"] = measured;
        return print_json(output);
    }
    print_line(fmt::format("{} to {}: {} {}, {} times {} bytes", one_.which().name,
                           two_.which().name, options_.service, what_.name, options_.count,
                           size()));
    std::string line;
    for (const auto& [name, value] : measured)
        line += fmt::format("{}{} {:.3f}", line.empty() ? "" : ", ", std::string_view(name),
                            value.as_double());
    print_line(fmt::format("{} {}", line, unit));
}

const device& peer_of(session& here, const qp_options& options, const device& from) {
    if (!options.to.empty()) return here.find(options.to);
    for (const device& each : here.devices())
        if (each.guid != from.guid) return each;
    return from;
}

// A datagram is one packet.
void expect_one_packet(const qp_options& options, const IB_PORT_ATTR& port) {
    const auto most = ci::bytes_of(static_cast<IB_MTU>(port.ActiveMtu));
    if (options.service == "ud" && options.size > most)
        throw failure(fmt::format("--size: a datagram of this port has at most {} bytes", most));
}

} // namespace

std::string problem_of(const qp_options& options) {
    const operation& what = operation_of(options);
    const bool sends = what.type == WR_SEND;
    if (options.service == "ud" && !sends)
        return fmt::format("--operation: ud has send and send-imm, not {}", what.name);
    if (options.service == "uc" && !sends && what.type != WR_RDMA_WRITE)
        return fmt::format("--operation: uc has no {}; rc has", what.name);
    return {};
}

asio::awaitable<void> show_transfers(session& here, qp_options options) {
    co_await with_port(here, options.from, [&](const open_port& from) -> asio::awaitable<void> {
        expect_one_packet(options, from.attributes);
        const device& to = peer_of(here, options, from.which);
        co_await with_adapter(here, to,
                              [&](const ci::channel_adapter& two) -> asio::awaitable<void> {
                                  qp_run run(here, from, to, options);
                                  std::exception_ptr failed;
                                  try {
                                      co_await run.run(from.ca, two);
                                  } catch (...) {
                                      failed = std::current_exception();
                                  }
                                  co_await asio::this_coro::reset_cancellation_state();
                                  co_await run.close();
                                  if (failed) std::rethrow_exception(failed);
                              });
    });
}

} // namespace irpctl
