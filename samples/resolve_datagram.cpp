// A client resolves a service id to a queue pair of unreliable datagrams of another host, and sends
// it a message. There is no connection.
#include "connected_end.hpp"
#include "local_subnet_manager.hpp"

#include <cm/async.hpp>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/parallel_group.hpp>

#include <cstdio>
#include <string_view>

namespace {

using namespace samples;
using namespace asio::experimental::awaitable_operators;
namespace cm = irpverbs::cm;

constexpr ib_svc_id_t service = 0x1000000000000DA7;
constexpr ib_qkey_t q_key = 0x1234;
constexpr std::size_t route = 40; // bytes in front of a received datagram

/// A queue pair that is ready, and the manager of the port.
struct datagram_end : connected_end {
    cm::manager manager;

    asio::awaitable<void> open(ib_guid_t hca) {
        constexpr ib_qp_type_t type = IB_QPT_UNRELIABLE_DGRM;
        co_await connected_end::open(hca, type);
        co_await ci::modify_qp(qp, ci::to_init(type, {.qkey = q_key}));
        co_await ci::modify_qp(qp, ci::to_rtr(type));
        co_await ci::modify_qp(qp, ci::to_rts(type));
        manager = co_await cm::open(ca);
    }
    asio::awaitable<void> close() {
        co_await manager.async_close();
        co_await connected_end::close();
    }
};

asio::awaitable<void> serve(datagram_end& end, cm::listener& listener) {
    cm::incoming_resolution next = co_await listener.next_resolution();
    ib_cm_ud_response_t response{};
    response.qpn = end.qp.number();
    response.q_key = q_key;
    // The receive is posted before the client knows where to send.
    co_await asio::experimental::make_parallel_group(end.qp.recv(end.buffer()),
                                                     cm::respond_ud(next.link, response, "clock"))
        .async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
    co_await next.link.async_close();
}

asio::awaitable<void> send_to(datagram_end& end, ib_gid_t server) {
    const ib_cm_ud_reply_t found = co_await cm::resolve_ud(end.manager, {service, server});
    std::printf("%s\n", reinterpret_cast<const char*>(found.pdata));
    ci::address_vector way = co_await ci::create_av(end.pd, found.av);
    end.set_text("what time is it?");
    co_await end.qp.send_to({way, found.qpn, found.q_key, 0}, end.buffer(24));
    co_await way.async_close();
}

asio::awaitable<int> run(ib_guid_t first, ib_guid_t second) {
    datagram_end client;
    datagram_end server;
    co_await client.open(first);
    co_await server.open(second);
    const ib_gid_t gid = ci::gids(*co_await ci::query_port(server.ca, 1)).front();
    cm::listener listener =
        co_await cm::listen(server.manager, {.svc_id = service, .datagrams = true});
    co_await (serve(server, listener) && send_to(client, gid));
    std::printf("%s\n", server.text() + route);
    co_await listener.async_close();
    co_await client.close();
    co_await server.close();
    co_return server.text() + route == std::string_view("what time is it?") ? 0 : 1;
}

} // namespace

int main() {
    irpverbs::dispatch::asio_machine machine;
    const irpverbs::dispatch::machine::scope inside(machine);
    const irpverbs::hca::attachment fabric("software:");
    const local_subnet_manager manager("software:");
    const auto guids = irpverbs::hca::guids();
    return asio::co_spawn(machine.context(), run(guids[0], guids[1]), asio::use_future).get();
}
