// Times connections between two hosts of the software fabric in one process, on real threads:
//
//     cm_speed [CONNECTIONS]
//
// One after another, beside the exchange of as many datagrams; many at once; and the memory of a
// connection while all of them exist. docs/speed.md has the results.
#include "async_host.hpp"

#include <ci/qp_changes.hpp>
#include <dispatch/machine.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;
using namespace boost::asio::experimental::awaitable_operators;
namespace asio = boost::asio;

using hosts = std::vector<async_host>; // the client, and the server

class stopwatch {
public:
    double us() const {
        return std::chrono::duration<double, std::micro>(clock::now() - begin_).count();
    }

private:
    using clock = std::chrono::steady_clock;
    clock::time_point begin_ = clock::now();
};

/// Bytes of this process that are in memory.
double resident() {
    std::size_t size = 0;
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> size >> pages;
    return static_cast<double>(pages) * 4096;
}

// ---- the messages alone: three datagrams, as REQ, REP and RTU

asio::awaitable<void> send(const ci::mad_agent& from, const IB_MAD_ADDRESS& to, const mad& what) {
    IB_MAD_SEND sent{};
    sent.To = to;
    sent.Data = what.data();
    sent.Length = IB_MAD_SIZE;
    co_await ci::send_mad(from, sent);
}

asio::awaitable<void> respond(const ci::mad_agent& at, std::size_t count) {
    for (; count != 0; --count) {
        const ci::received_mad asked = co_await ci::get_mad(at);
        co_await send(at, asked.from, mad(vendor_class, 3, 1));
        co_await ci::get_mad(at);
    }
}

asio::awaitable<void> ask(const ci::mad_agent& at, ib_lid_t peer, std::size_t count) {
    const mad request(vendor_class, 3, 1);
    for (; count != 0; --count) {
        co_await send(at, to_lid(peer), request);
        co_await ci::get_mad(at);
        co_await send(at, to_lid(peer), request);
    }
}

asio::awaitable<double> time_of_messages(const hosts& of, ib_lid_t peer, std::size_t count) {
    const IB_MAD_AGENT_ATTR attr = agent_of(vendor_class, {3});
    ci::mad_agent client = co_await ci::register_mad_agent(of[0].ca, attr);
    ci::mad_agent server = co_await ci::register_mad_agent(of[1].ca, attr);
    const stopwatch watch;
    co_await (ask(client, peer, count) && respond(server, count));
    const double passed = watch.us();
    co_await client.async_close();
    co_await server.async_close();
    co_return passed / static_cast<double>(count);
}

// ---- the changes of both queue pairs alone: to INIT, RTR and RTS

asio::awaitable<double> time_of_changes(const async_host& at, ib_lid_t peer, std::size_t count) {
    ci::queue_pair pair = co_await at.make_qp();
    constexpr ib_qp_type_t type = IB_QPT_RELIABLE_CONN;
    ci::rtr_attributes path;
    path.av.dlid = peer;
    path.av.port_num = 1;
    path.dest_qp = static_cast<IB_QP*>(pair)->Num;
    const stopwatch watch;
    for (std::size_t i = 0; i != 2 * count; ++i) {
        co_await ci::modify_qp(pair, ci::to_init(type, {}));
        co_await ci::modify_qp(pair, ci::to_rtr(type, path));
        co_await ci::modify_qp(pair, ci::to_rts(type));
        co_await ci::modify_qp(pair, ci::to_state(IB_QPS_RESET));
    }
    const double passed = watch.us();
    co_await pair.async_close();
    co_return passed / static_cast<double>(count);
}

// ---- connections

/// One end of all connections.
struct end {
    std::vector<ci::queue_pair> pairs;
    std::vector<cm::connection> links;

    asio::awaitable<void> make(const async_host& at, std::size_t count) {
        links.reserve(count);
        while (pairs.size() != count)
            pairs.push_back(co_await at.make_qp());
    }
    asio::awaitable<void> disconnect() {
        for (cm::connection& each : links)
            co_await cm::disconnect(each);
    }
    asio::awaitable<void> close() {
        for (cm::connection& each : links)
            co_await each.async_close();
        for (ci::queue_pair& each : pairs)
            co_await each.async_close();
    }
};

asio::awaitable<void> accept(end& at, std::size_t index, cm::incoming request) {
    co_await cm::accept(request.link, at.pairs[index]);
    at.links.push_back(std::move(request.link));
}

asio::awaitable<void> serve(end& at, const cm::listener& from, std::size_t count) {
    for (std::size_t i = 0; i != count; ++i)
        asio::co_spawn(co_await asio::this_coro::executor, accept(at, i, co_await from.next()),
                       asio::detached);
}

/// Connects the pairs from `next` to `last`.
asio::awaitable<void> connect(end& from, const async_host& at, const cm::connect_options& wanted,
                              std::size_t& next, std::size_t last) {
    while (next != last) {
        const ci::queue_pair& pair = from.pairs[next++];
        cm::connected made = co_await cm::connect(at.cm, pair, wanted);
        from.links.push_back(std::move(made.link));
    }
}

asio::awaitable<void> connect_at_once(end& from, const async_host& at,
                                      const cm::connect_options& wanted, std::size_t& next,
                                      std::size_t last) {
    auto four = [&] {
        const auto one = [&] { return connect(from, at, wanted, next, last); };
        return one() && one() && one() && one();
    };
    co_await (four() && four() && four() && four());
}

void print(const char* what, double value, const char* unit) {
    std::printf("%-52s %10.1f %s\n", what, value, unit);
}

asio::awaitable<void> run(const attached& fabric, ib_lid_t peer, cm::connect_options wanted,
                          std::size_t count) {
    hosts both(2);
    co_await both[0].open(fabric.guid(0));
    co_await both[1].open(fabric.guid(1));
    const std::size_t single = count / 10;
    const double messages = co_await time_of_messages(both, peer, single);
    const double changes = co_await time_of_changes(both[0], peer, single);
    end client;
    end server;
    co_await client.make(both[0], count);
    co_await server.make(both[1], count);
    cm::listener listener = co_await cm::listen(both[1].cm, service);
    asio::co_spawn(co_await asio::this_coro::executor, serve(server, listener, count),
                   asio::detached);
    const double before = resident();
    std::size_t next = 0;
    const stopwatch first;
    co_await connect(client, both[0], wanted, next, single);
    const double one = first.us() / static_cast<double>(single);
    const stopwatch rest;
    co_await connect_at_once(client, both[0], wanted, next, count);
    const double many = rest.us() / static_cast<double>(count - single);
    const double memory = resident() - before;
    const stopwatch end_of_all;
    co_await client.disconnect();
    const double disconnected = end_of_all.us() / static_cast<double>(count);
    print("three datagrams", messages, "us");
    print("changes of two queue pairs, and back to RESET", changes, "us");
    print("co_await connect, one after another", one, "us");
    print("... / three datagrams", one / messages, "");
    print("... / three datagrams and the changes", one / (messages + changes), "");
    print("co_await connect, 16 at once", many, "us");
    print("connections", 1e6 / many, "a second");
    print("connections that exist", static_cast<double>(client.links.size()), "");
    print("memory of an end", memory / static_cast<double>(2 * count), "bytes");
    print("co_await disconnect, one after another", disconnected, "us");
    co_await client.close();
    co_await server.close();
    co_await listener.async_close();
    for (async_host& each : both)
        co_await each.close();
}

} // namespace

int main(int count, char** words) {
    ::testing::InitGoogleTest(&count, words);
    const std::size_t connections = count > 1 ? std::strtoul(words[1], nullptr, 10) : 100'000;
    if (connections < 10) {
        std::fprintf(stderr, "usage: cm_speed [CONNECTIONS, at least 10]\n");
        return 2;
    }
    dispatch::asio_machine machine({.processors = 1});
    const dispatch::machine::scope inside(machine);
    const attached fabric;
    cm::connect_options wanted;
    ib_lid_t peer = 0;
    {
        const cm_end client(fabric, 0);
        const cm_end server(fabric, 1);
        wanted = cm::connect_options(service, server.gid());
        wanted.path = client.path_to(server);
        peer = server.lid();
    }
    wanted.max_cm_retries = 15;
    wanted.remote_resp_timeout = wanted.local_resp_timeout = 20; // 4 s
    asio::co_spawn(machine.context(), run(fabric, peer, wanted, connections), asio::use_future)
        .get();
    return ::testing::Test::HasFailure() ? 1 : 0;
}
