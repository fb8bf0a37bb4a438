// Verbs in C++: opens an HCA of the built-in fabric, shows a port, polls a completion queue, and
// watches the port while its cable is pulled. Each co_await is an IRP.
#include <ci/async.hpp>
#include <dispatch/machine.hpp>
#include <dispatch/support/safe_text.hpp>
#include <hca/hca.hpp>
#include <hca/software.h>

#include <boost/asio.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <string>

namespace {

namespace asio = boost::asio;
namespace ci = irpverbs::ci;
namespace hca = irpverbs::hca;
namespace irp = irpverbs::irp;
using namespace std::chrono_literals;

asio::awaitable<void> show(const ci::channel_adapter& ca) {
    const ci::ca_attributes all = co_await ci::query_ca(ca);
    const std::string name = irpverbs::dispatch::printable(ci::node_description(*all));
    for (const IB_PORT_ATTR& port : ci::ports(*all)) {
        std::printf("%s port %u: LID %u, P_Key 0x%04x", name.c_str(), port.PortNumber, port.Lid,
                    ci::pkeys(port)[0]);
        for (const ib_gid_t& gid : ci::gids(port))
            std::printf(", GID %016llx:%016llx", static_cast<unsigned long long>(gid.gid_prefix),
                        static_cast<unsigned long long>(gid.gid_guid));
        std::printf("\n");
    }
}

/// Prints events until the adapter is closed; returns their number.
asio::awaitable<int> watch(ci::event_stream<IB_ASYNC_EVENT> events) {
    for (int count = 0;; ++count) {
        const auto [error, event] = co_await events.next(asio::as_tuple(asio::use_awaitable));
        if (error) {
            std::printf("no more events: %s\n", error.message().c_str());
            co_return count;
        }
        std::printf("port 1: %s\n", event == IB_AE_PORT_ERROR    ? "the link is down"
                                    : event == IB_AE_PORT_ACTIVE ? "the link is up"
                                                                 : "something else");
    }
}

/// Polls a completion that the software fabric inserts, as a queue pair would.
asio::awaitable<std::size_t> use_queue(const ci::channel_adapter& ca) {
    const ci::completion_queue cq = co_await ci::create_cq(ca, 64);
    co_await ci::arm_cq(cq, IB_CQ_ARM_NEXT);
    IB_WC made{};
    made.WrId = 2005;
    HcaSoftwareInsertCompletion(cq, &made);
    co_await cq.comp_events().next(irp::within(1s));
    std::array<IB_WC, 8> found{};
    const std::size_t count = co_await ci::poll_cq(cq, found);
    std::printf("%zu completion, of work request %llu\n", count,
                static_cast<unsigned long long>(found[0].WrId));
    co_return count; // the destructor destroys the queue after the return
}

/// Opens the HCA, uses it, and closes it while a coroutine still waits for its events.
asio::awaitable<bool> run(ib_guid_t guid, std::future<int>& events) {
    ci::channel_adapter ca = co_await ci::open_ca(HcaFromGuid(guid));
    co_await show(ca);
    const bool completed = co_await use_queue(ca) == 1;

    HcaSoftwareFlapLink(guid, 1); // no wait is pending yet: the events are latched
    events = asio::co_spawn(co_await asio::this_coro::executor, watch(ca.port_events(1)),
                            asio::use_future);
    const auto [late, none] =
        co_await ca.port_events(2).next(irp::within(20ms, asio::as_tuple(asio::use_awaitable)));
    std::printf("port 2: %s\n", late.message().c_str());
    co_await ca.async_close();
    co_return completed;
}

} // namespace

int main() {
    irpverbs::dispatch::asio_machine machine;
    const irpverbs::dispatch::machine::scope inside(machine);
    const hca::attachment fabric("software:");
    std::future<int> events;
    const bool good =
        asio::co_spawn(machine.context(), run(hca::guids()[0], events), asio::use_future).get();
    return good && events.get() == 2 ? 0 : 1;
}
