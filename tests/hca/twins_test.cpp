// The C++ twins on the software HCA, on both machines.
#include <support/both_machines.hpp>
#include <support/verbs.hpp>

#include <ci/async.hpp>
#include <hca/software.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace {

namespace asio = boost::asio;
using namespace irpverbs;
using namespace std::chrono_literals;
using irpverbs::testing::attached;

class Twins : public irpverbs::testing::BothMachines {
protected:
    // Until the coroutine ends.
    template <class Coroutine>
    void run(Coroutine body) {
        KEVENT done;
        KeInitializeEvent(&done, NotificationEvent, FALSE);
        asio::co_spawn(machine().context(), std::move(body), [&](std::exception_ptr error) {
            EXPECT_FALSE(error);
            KeSetEvent(&done, IO_NO_INCREMENT, FALSE);
        });
        KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, nullptr);
    }

    attached hcas;
};

asio::awaitable<void> queries(DEVICE_OBJECT* fdo) {
    ci::channel_adapter ca = co_await ci::open_ca(fdo);
    const ci::ca_attributes all = co_await ci::query_ca(ca);
    EXPECT_EQ(ci::ports(*all).size(), 2u);
    EXPECT_EQ(ci::node_description(*all).substr(0, 5), "host1");
    const ci::port_attributes port = co_await ci::query_port(ca, 1);
    EXPECT_EQ(port->State, IB_PORT_ACTIVE);
    EXPECT_EQ(ci::gids(*port)[0].gid_guid, ci::gids(ci::ports(*all)[0])[0].gid_guid);
    EXPECT_EQ(ci::pkeys(*port)[0], IB_PKEY_DEFAULT_FULL);
    ci::completion_queue cq = co_await ci::create_cq(ca, 8);
    const auto [busy] = co_await ca.async_close(asio::as_tuple(asio::use_awaitable));
    EXPECT_EQ(busy, dispatch::make_error_code(STATUS_DEVICE_BUSY));
    EXPECT_EQ((co_await ci::query_cq(cq))->NumCqes, 8u);
    co_await ci::destroy_cq(cq);
    co_await ci::close_ca(ca);
    const auto [none] = co_await ca.async_close(asio::as_tuple(asio::use_awaitable));
    EXPECT_EQ(none, dispatch::make_error_code(STATUS_INVALID_PARAMETER));
}

TEST_P(Twins, AnswerQueries) {
    run([this] { return queries(hcas.fdo()); });
}

IRPVERBS_ON_BOTH_MACHINES(Twins);

} // namespace
