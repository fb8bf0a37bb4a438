// irpctl cm: connects by service id, or listens; prints the steps of each connection.
#include "as_result.hpp"
#include "gid.hpp"
#include "open_port.hpp"
#include "output.hpp"
#include "qp_end.hpp"

#include <ci/names.hpp>
#include <cm/async.hpp>
#include <dispatch/ke.h>
#include <irp/within.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <optional>

namespace irpctl {

namespace cm = irpverbs::cm;
namespace json = boost::json;

namespace {

constexpr std::size_t message_size = 64;

/// Whether an rdma_cm may listen for the service id: it has a port space and a port.
bool is_of_port(std::uint64_t service) { return (service & ~0xFFFFFFull) == 0x1000000; }

// As rdma_cm's requests: to a port of such a service, both addresses precede the private data.
void add_addresses(cm::connect_options& wanted, IB_CM* at) {
    sa_path_record_t path{};
    if (!is_of_port(wanted.svc_id) ||
        CmQueryEthernetPath(at, &wanted.dest_gid, &path) != STATUS_SUCCESS)
        return;
    wanted.path = path;
    wanted.ip = cm::ip_of_path(path);
}

std::string_view state_name(ib_qp_state_t state) {
    switch (state) {
    case IB_QPS_RESET:
        return "RESET";
    case IB_QPS_INIT:
        return "INIT";
    case IB_QPS_RTR:
        return "RTR";
    case IB_QPS_RTS:
        return "RTS";
    default:
        return "ERROR";
    }
}

/// The text of a field of private data, which ends with its first zero byte.
std::string text_in(const UCHAR* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data),
            strnlen(reinterpret_cast<const char*>(data), size)};
}

/// The reasons of rejections that peers give most; the others are numbers.
std::string reason_text(unsigned reason) {
    switch (reason) {
    case IB_CM_REJ_NO_RESOURCES:
        return "it has no resources";
    case IB_CM_REJ_TIMEOUT:
        return "it timed out";
    case IB_CM_REJ_INVALID_SERVICE_ID:
        return "it has no such service";
    case IB_CM_REJ_STALE_CONN:
        return "the queue pair has a connection";
    case IB_CM_REJ_CONSUMER_DEFINED:
        return "by its program";
    default:
        return fmt::format("reason {} of the IBA", reason);
    }
}

/// One end of a connection: its queue pair, and the record of what happened.
class cm_end {
public:
    cm_end(const device& which, std::uint8_t port, const cm_options& options)
        : options_(options), end_(which, port), port_(port) {}

    asio::awaitable<void> open(const ci::channel_adapter& ca) {
        co_await end_.open(ca, IB_QPT_RELIABLE_CONN, message_size, 4);
        manager_ = co_await cm::open(ca, port_, 0, asio::use_awaitable);
        begun_ = now();
    }
    asio::awaitable<void> listen() {
        listener_ = co_await cm::listen(manager_, options_.service, asio::use_awaitable);
    }
    /// Requests the connection, sends the text, gets it back, and disconnects.
    asio::awaitable<void> connect(ib_gid_t to);
    /// Accepts the next request, sends one message back, and waits until the peer disconnects.
    asio::awaitable<void> serve();
    asio::awaitable<void> close();

    void print(bool as_json) const;

private:
    static LONGLONG now() { return KeQueryPerformanceCounter(nullptr).QuadPart; }
    asio::awaitable<void> record(const char* step);
    asio::awaitable<void> take_completion() {
        IB_WC completion{};
        while (!end_.poll(completion))
            co_await end_.wait();
    }
    irpverbs::irp::ticks time_limit() const {
        return std::chrono::milliseconds(options_.milliseconds);
    }

    const cm_options& options_;
    qp_end end_;
    const std::uint8_t port_;
    cm::manager manager_;
    cm::listener listener_;
    cm::connection link_;
    LONGLONG begun_ = 0;
    json::object output_;
    json::array steps_;
};

// The time is since the step before; the state is that of the queue pair after the step.
asio::awaitable<void> cm_end::record(const char* step) {
    LARGE_INTEGER frequency;
    const LONGLONG time = KeQueryPerformanceCounter(&frequency).QuadPart;
    const ci::qp_attributes attributes =
        co_await ci::query_qp(end_.queue_pair(), asio::use_awaitable);
    steps_.push_back({{"step", step},
                      {"state", state_name(attributes->state)},
                      {"milliseconds", static_cast<double>(time - begun_) * 1e3 /
                                           static_cast<double>(frequency.QuadPart)}});
    if (attributes->state == IB_QPS_RTS) {
        output_["peer_qp"] = fmt::format("0x{:06x}", attributes->dest_num);
        const ib_av_attr_t& way = attributes->primary_av;
        if (way.dlid != 0)
            output_["peer_lid"] = way.dlid;
        else
            output_["peer_address"] = address_text(way.grh.dest_gid);
        output_["mtu"] = ci::bytes_of(static_cast<IB_MTU>(attributes->path_mtu));
    }
    begun_ = now();
}

asio::awaitable<void> cm_end::connect(ib_gid_t to) {
    output_ = {{"role", "connect"}, {"device", end_.which().name}};
    cm::connect_options wanted(options_.service, to);
    wanted.flags = 0;
    wanted.data = std::string_view(options_.text);
    add_addresses(wanted, manager_);
    auto [error, made] = co_await cm::connect(manager_, end_.queue_pair(), wanted,
                                              irpverbs::irp::within(time_limit(), as_result));
    if (made.reply.rej_reason != 0)
        throw failure(fmt::format("{}: the peer rejected the request: {}", end_.which().name,
                                  reason_text(made.reply.rej_reason)));
    if (error) throw boost::system::system_error(error, "CmConnect");
    link_ = std::move(made.link);
    output_["reply"] = text_in(made.reply.pdata, made.reply.pdata_length);
    co_await record("reply received");
    co_await cm::complete_connect(link_, {}, asio::use_awaitable);
    co_await record("established");
    end_.post_receive();
    std::memset(end_.bytes().data(), 0, end_.bytes().size());
    std::memcpy(end_.bytes().data() + qp_end::grh_bytes, options_.text.data(),
                options_.text.size());
    end_.post(end_.request(WR_SEND, end_));
    for (int i = 0; i < 2; ++i)
        co_await take_completion(); // sent and received
    co_await record("message sent and received");
    co_await cm::disconnect(link_, {}, asio::use_awaitable);
    co_await record("disconnected");
}

asio::awaitable<void> cm_end::serve() {
    steps_.clear();
    output_ = {{"role", "listen"}, {"device", end_.which().name}};
    cm::incoming next = co_await listener_.next(asio::use_awaitable);
    link_ = std::move(next.link);
    output_["request"] = text_in(next.request.pdata, next.request.pdata_length);
    co_await record("request received");
    co_await cm::accept(link_, end_.queue_pair(), cm::private_data("irpctl"), asio::use_awaitable);
    end_.post_receive();
    co_await record("established");
    co_await take_completion();
    end_.post(end_.request(WR_SEND, end_));
    co_await take_completion();
    co_await record("message received and sent");
    co_await link_.next_event(asio::use_awaitable);
    co_await record("disconnected by the peer");
}

asio::awaitable<void> cm_end::close() {
    if (link_ != nullptr) co_await link_.async_close(asio::use_awaitable);
    if (listener_ != nullptr) co_await listener_.async_close(asio::use_awaitable);
    if (manager_ != nullptr) co_await manager_.async_close(asio::use_awaitable);
    co_await end_.close();
}

void cm_end::print(bool as_json) const {
    if (as_json) {
        json::object output = output_;
        output["service"] = guid_text(options_.service);
        output["steps"] = steps_;
        return print_json(output);
    }
    const auto text = [&](const char* key) { return text_of(output_.at(key)); };
    const bool connects = text("role") == "connect";
    const std::string peer =
        output_.contains("peer_lid") ? "LID " + text("peer_lid") : text("peer_address");
    print_line(fmt::format("{} {} {}: service {}, peer's queue pair {}, MTU {}, \"{}\"",
                           text("device"), connects ? "connected to" : "accepted", peer,
                           guid_text(options_.service), text("peer_qp"), text("mtu"),
                           text(connects ? "reply" : "request")));
    for (const json::value& each : steps_)
        print_line(fmt::format("  {}: {}, {:.3f} ms", text_of(each.at("step")),
                               text_of(each.at("state")), each.at("milliseconds").as_double()));
}

/// Runs `work`, and closes the end after success and failure.
asio::awaitable<void> and_close(cm_end& end, asio::awaitable<void> work) {
    const std::exception_ptr failed = co_await outcome_of(std::move(work));
    co_await asio::this_coro::reset_cancellation_state();
    co_await end.close();
    if (failed) std::rethrow_exception(failed);
}

asio::awaitable<void> connect_here(session& here, cm_end& client, const open_port& from,
                                   const device& to, const cm_options& options) {
    co_await with_adapter(here, to, [&](const ci::channel_adapter& peer) -> asio::awaitable<void> {
        cm_end server(to, 1, options);
        const auto both = [&]() -> asio::awaitable<void> {
            const ci::port_attributes port = co_await ci::query_port(peer, 1, asio::use_awaitable);
            co_await server.open(peer);
            co_await server.listen();
            co_await client.open(from.ca);
            std::vector<asio::awaitable<void>> ends;
            ends.push_back(server.serve());
            ends.push_back(client.connect(ci::gids(*port).front()));
            co_await all_of(std::move(ends));
            client.print(here.json());
            server.print(here.json());
        };
        co_await and_close(server, both());
    });
}

const device& peer_of(session& here, const cm_options& options, const device& from) {
    if (!options.to.empty()) return here.find(options.to);
    for (const device& each : here.devices())
        if (each.guid != from.guid) return each;
    return from;
}

} // namespace

std::string problem_of(const cm_options& options) {
    const std::size_t limit = is_of_port(options.service) ? IB_CM_REQ_IP_PDATA_SIZE : message_size;
    if (options.text.size() > limit) return fmt::format("--text: at most {} bytes", limit);
    return {};
}

asio::awaitable<void> show_connection(session& here, cm_options options) {
    co_await with_port(here, options.from, [&](const open_port& from) -> asio::awaitable<void> {
        cm_end client(from.which, from.attributes.PortNumber, options);
        const auto connect = [&]() -> asio::awaitable<void> {
            const std::optional<ib_gid_t> away = gid_from(options.to);
            if (!away)
                co_return co_await connect_here(here, client, from,
                                                peer_of(here, options, from.which), options);
            co_await client.open(from.ca);
            co_await client.connect(*away);
            client.print(here.json());
        };
        co_await and_close(client, connect());
    });
}

asio::awaitable<void> show_listener(session& here, cm_options options) {
    co_await with_port(here, options.from, [&](const open_port& from) -> asio::awaitable<void> {
        for (std::uint64_t done = 0; options.count == 0 || done < options.count; ++done) {
            cm_end server(from.which, from.attributes.PortNumber, options);
            const auto serve = [&]() -> asio::awaitable<void> {
                co_await server.open(from.ca);
                co_await server.listen();
                co_await server.serve();
                server.print(here.json());
            };
            co_await and_close(server, serve());
        }
    });
}

} // namespace irpctl
