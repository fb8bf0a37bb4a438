// The C++ wrappers over a faulty cable: a client connects by one co_await with a deadline, a server
// accepts, rejects or drops what listener.next() returns. Each operation ends, the handles close
// what they hold, and both managers forget all connections.
#include "async_host.hpp"
#include "campaign_world.hpp"

#include <support/coroutines.hpp>
#include <support/explore_gtest.hpp>

#include <cm/async.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;
using namespace std::chrono_literals;
using namespace boost::asio::experimental::awaitable_operators;
using dispatch::sim_machine;
namespace asio = boost::asio;

const auto as_result = asio::as_tuple(asio::use_awaitable);

struct coroutine_world : campaign_world {
    using campaign_world::campaign_world;

    asio::awaitable<void> connect(const async_host& client) {
        cm::connect_options wanted(service, ends.two.gid());
        wanted.path = ends.one.path_to(ends.two);
        wanted.max_cm_retries = 3;
        wanted.remote_resp_timeout = wanted.local_resp_timeout = 14;
        const ci::queue_pair qp = co_await client.make_qp();
        const std::chrono::milliseconds patience(drawn(3) == 0 ? drawn(200) : 500'000);
        auto [error, made] =
            co_await cm::connect(client.cm, qp, wanted, irp::within(patience, as_result));
        if (error) co_return;
        ++succeeded;
        if (drawn(2) == 0) co_await cm::disconnect(made.link, "bye", as_result);
    }

    asio::awaitable<void> serve(const async_host& server, cm::listener& listener) {
        for (;;) {
            cm::incoming request = co_await listener.next();
            if (drawn(6) == 0) continue; // dropped, which rejects it
            if (drawn(6) == 0) {
                co_await cm::reject(request.link, IB_CM_REJ_NO_RESOURCES, "no", {}, as_result);
                continue;
            }
            const ci::queue_pair qp = co_await server.make_qp();
            const auto [error] = co_await cm::accept(request.link, qp, {}, as_result);
            if (!error && drawn(2) == 0) co_await request.link.next_event(as_result);
        }
    }

    asio::awaitable<void> play() {
        async_host client;
        async_host server;
        co_await client.open(hcas.guid(0));
        co_await server.open(hcas.guid(1));
        cm::listener listener = co_await cm::listen(server.cm, service);
        make_faulty();
        const auto connect_often = [&]() -> asio::awaitable<void> {
            for (int i = 0; i < 3; ++i)
                co_await connect(client);
        };
        co_await (connect_often() || serve(server, listener)); // the server ends by cancellation
    }
};

TEST(CmAsyncCampaign, LossAndDeadlines_EveryOperationEndsAndNothingRemains) {
    dispatch::explore_options options;
    options.random_runs = 400;
    options.pct_runs = 100;
    options.machine.step_limit = 2'000'000;
    std::uint64_t established = 0;
    const auto seen = expect_explored(options, [&](sim_machine& sim) {
        coroutine_world world(sim);
        sim.spawn("main", [&] { run_to_end(sim, [&] { return world.play(); }); });
        sim.run();
        established += static_cast<std::uint64_t>(world.succeeded.load());
        world.expect_all_forgotten();
    });
    EXPECT_GT(established, seen.runs()) << "runs without connections test nothing";
}

} // namespace
