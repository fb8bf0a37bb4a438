// Two programs in one: a server listens at one host of the built-in software fabric, a client
// connects from another one, sends messages, and gets them back.
#include "echo_client.hpp"
#include "echo_server.hpp"
#include "local_subnet_manager.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include <cstdio>

namespace {

using namespace samples;
using namespace asio::experimental::awaitable_operators;

constexpr ib_svc_id_t service = 0x1000000000000E0C;

asio::awaitable<ib_gid_t> gid_of(ib_guid_t hca) {
    const ci::channel_adapter ca = co_await ci::open_ca(HcaFromGuid(hca));
    const ci::port_attributes port = co_await ci::query_port(ca, 1);
    co_return ci::gids(*port).front();
}

asio::awaitable<int> run(ib_guid_t first, ib_guid_t second) {
    const ib_gid_t server = co_await gid_of(second);
    echo_server echo;
    co_await echo.listen(second, service);
    const std::vector<std::string> sent{"hello", "world"};
    const auto [served, received] = co_await (echo.serve() && ask(first, server, service, sent));
    for (const std::string& each : received)
        std::printf("%s\n", each.c_str());
    co_return served == 2 && received == sent ? 0 : 1;
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
