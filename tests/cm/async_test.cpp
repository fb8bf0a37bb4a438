// The C++ wrappers: handles, and a connection in coroutines.
#include "async_host.hpp"

#include <support/both_machines.hpp>
#include <support/coroutines.hpp>

#include <cm/async.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;
using namespace std::chrono_literals;
using namespace boost::asio::experimental::awaitable_operators;
namespace asio = boost::asio;

struct async_end : async_host {
    ci::queue_pair qp;

    asio::awaitable<void> open(ib_guid_t guid) {
        co_await async_host::open(guid);
        qp = co_await make_qp();
    }
};

class CmAsync : public BothMachines {
protected:
    /// Runs `body(client, server, options of the client)`.
    void run(asio::awaitable<void> (*body)(async_end&, async_end&, cm::connect_options)) {
        cm::connect_options wanted(service, two_.gid());
        wanted.path = one_.path_to(two_);
        wanted.max_cm_retries = 3;
        wanted.remote_resp_timeout = wanted.local_resp_timeout = 14;
        run_to_end(machine(), [&]() -> asio::awaitable<void> {
            async_end client;
            async_end server;
            co_await client.open(hcas_.guid(0));
            co_await server.open(hcas_.guid(1));
            co_await body(client, server, wanted);
        });
    }

private:
    attached hcas_;
    cm_end one_{hcas_, 0};
    cm_end two_{hcas_, 1};
};

asio::awaitable<cm::connection> serve(async_end& server, cm::listener& listener) {
    cm::incoming request = co_await listener.next();
    EXPECT_EQ(text_in(request.request.pdata), "ping");
    co_await cm::accept(request.link, server.qp, cm::private_data("pong"));
    co_return std::move(request.link);
}

TEST_P(CmAsync, OneAwaitConnects_HandlesCloseThemselves) {
    run([](async_end& client, async_end& server,
           cm::connect_options wanted) -> asio::awaitable<void> {
        wanted.data = "ping";
        cm::listener listener = co_await cm::listen(server.cm, service);
        auto [passive, active] =
            co_await (serve(server, listener) &&
                      cm::connect(client.cm, client.qp, wanted, asio::use_awaitable));
        EXPECT_EQ(text_in(active.reply.pdata), "pong");
        EXPECT_EQ(cm_end::state(client.qp), ib_qp_state_t{IB_QPS_RTS});
        EXPECT_EQ(cm_end::state(server.qp), ib_qp_state_t{IB_QPS_RTS});
        EXPECT_TRUE(co_await cm::disconnect(active.link, "bye"));
        const ib_cm_event_t event = co_await passive.next_event();
        EXPECT_EQ(text_in(event.pdata), "bye");
    });
}

TEST_P(CmAsync, TwoStepsOfTheClient_CompleteTheConnection) {
    run([](async_end& client, async_end& server,
           cm::connect_options wanted) -> asio::awaitable<void> {
        wanted.flags = 0;
        wanted.data = "ping";
        cm::listener listener = co_await cm::listen(server.cm, service);
        const auto connect = [&]() -> asio::awaitable<cm::connection> {
            cm::connected made = co_await cm::connect(client.cm, client.qp, wanted);
            EXPECT_EQ(cm_end::state(client.qp), ib_qp_state_t{IB_QPS_RTR});
            co_await cm::complete_connect(made.link);
            co_return std::move(made.link);
        };
        const auto both = co_await (serve(server, listener) && connect());
        static_cast<void>(both);
        EXPECT_EQ(cm_end::state(server.qp), ib_qp_state_t{IB_QPS_RTS});
    });
}

TEST_P(CmAsync, LoadPath_ReturnsThePeersResponse) {
    run([](async_end& client, async_end& server,
           cm::connect_options wanted) -> asio::awaitable<void> {
        wanted.data = "ping";
        cm::listener listener = co_await cm::listen(server.cm, service);
        auto [passive, active] =
            co_await (serve(server, listener) &&
                      cm::connect(client.cm, client.qp, wanted, asio::use_awaitable));
        const auto respond = [&, &link = passive](UCHAR status) -> asio::awaitable<void> {
            const ib_cm_event_t event = co_await link.next_event();
            EXPECT_EQ(event.type, ULONG{IB_CM_EVENT_PATH_REQUESTED});
            ib_cm_path_response_t response{};
            response.status = status;
            co_await cm::respond_path(link, response);
        };
        const auto load = [&, &link = active.link](
                              const char* data) -> asio::awaitable<std::pair<NTSTATUS, UCHAR>> {
            const auto [error, response] = co_await cm::load_path(
                link, *wanted.path, data, asio::as_tuple(asio::use_awaitable));
            co_return std::pair(error ? dispatch::status_of(error) : STATUS_SUCCESS,
                                response.status);
        };
        EXPECT_EQ(co_await (load("a") && respond(IB_CM_AP_REJECTED)),
                  std::pair(STATUS_REQUEST_NOT_ACCEPTED, UCHAR{IB_CM_AP_REJECTED}));
        EXPECT_EQ(co_await (load("b") && respond(IB_CM_AP_LOADED)),
                  std::pair(STATUS_SUCCESS, UCHAR{IB_CM_AP_LOADED}));
        EXPECT_EQ(cm_end::attributes(client.qp).apm_state, IB_APM_REARM);
    });
}

TEST_P(CmAsync, RejectedConnect_ReportsReasonAndPrivateData) {
    run([](async_end& client, async_end& server,
           cm::connect_options wanted) -> asio::awaitable<void> {
        cm::listener listener = co_await cm::listen(server.cm, service);
        const auto refuse = [&]() -> asio::awaitable<void> {
            const cm::incoming request = co_await listener.next();
            co_await cm::reject(request.link, IB_CM_REJ_NO_RESOURCES, "later");
        };
        const auto connect = [&]() -> asio::awaitable<void> {
            const auto [error, result] = co_await cm::connect(client.cm, client.qp, wanted,
                                                              asio::as_tuple(asio::use_awaitable));
            EXPECT_EQ(dispatch::status_of(error), STATUS_REQUEST_NOT_ACCEPTED);
            EXPECT_EQ(result.reply.rej_reason, IB_CM_REJ_NO_RESOURCES);
            EXPECT_EQ(text_in(result.reply.pdata), "later");
        };
        co_await (refuse() && connect());
    });
}

TEST_P(CmAsync, DeadlineOfConnect_EndsIt) {
    run([](async_end& client, async_end& server,
           cm::connect_options wanted) -> asio::awaitable<void> {
        const cm::listener silent = co_await cm::listen(server.cm, service);
        const auto [error, result] = co_await cm::connect(
            client.cm, client.qp, wanted, irp::within(10ms, asio::as_tuple(asio::use_awaitable)));
        EXPECT_EQ(dispatch::status_of(error), STATUS_IO_TIMEOUT);
        EXPECT_EQ(static_cast<IB_CM_CONNECTION*>(result.link), nullptr);
        EXPECT_EQ(cm_end::state(client.qp), ib_qp_state_t{IB_QPS_RESET});
    });
}

TEST_P(CmAsync, ResolveUd_OneAwaitReturnsTheQueuePair) {
    run([](async_end& client, async_end& server,
           cm::connect_options options) -> asio::awaitable<void> {
        cm::resolve_options wanted(service, options.dest_gid);
        wanted.path = options.path;
        wanted.data = "where";
        cm::listener listener =
            co_await cm::listen(server.cm, {.svc_id = service, .datagrams = true});
        const auto respond = [&]() -> asio::awaitable<void> {
            cm::incoming_resolution next = co_await listener.next_resolution();
            EXPECT_EQ(text_in(next.request.pdata), "where");
            ib_cm_ud_response_t with{};
            with.qpn = server.qp.number();
            with.q_key = 5;
            co_await cm::respond_ud(next.link, with, "here");
            co_await cm::close_ud_request(next.link);
        };
        const auto resolve = [&]() -> asio::awaitable<void> {
            const ib_cm_ud_reply_t reply = co_await cm::resolve_ud(client.cm, wanted);
            EXPECT_EQ(reply.qpn, server.qp.number());
            EXPECT_EQ(reply.q_key, 5u);
            EXPECT_EQ(text_in(reply.pdata), "here");
        };
        co_await (respond() && resolve());
    });
}

TEST_P(CmAsync, DroppedRequest_IsRejected) {
    run([](async_end& client, async_end& server,
           cm::connect_options wanted) -> asio::awaitable<void> {
        cm::listener listener = co_await cm::listen(server.cm, service);
        const auto drop = [&]() -> asio::awaitable<void> { co_await listener.next(); };
        const auto connect = [&]() -> asio::awaitable<void> {
            const auto [error, result] = co_await cm::connect(client.cm, client.qp, wanted,
                                                              asio::as_tuple(asio::use_awaitable));
            EXPECT_EQ(result.reply.rej_reason, IB_CM_REJ_CONSUMER_DEFINED);
        };
        co_await (drop() && connect());
    });
}

IRPVERBS_ON_BOTH_MACHINES(CmAsync);

} // namespace
