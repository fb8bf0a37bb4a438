// Handles and event streams under every schedule of a few actors: a reader on the machine's
// context, a driver that reports events, and an actor that closes or cancels.
#include "fake_hca.hpp"

#include <support/coroutines.hpp>
#include <support/explore_gtest.hpp>

#include <ci/async.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <set>

namespace {

namespace asio = boost::asio;
using namespace irpverbs;
using namespace std::chrono_literals;
using dispatch::sim_machine;
using irpverbs::testing::call_result;
using irpverbs::testing::expect_explored;
using irpverbs::testing::fake_hca;

constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);

dispatch::explore_options few_actors() {
    dispatch::explore_options options;
    options.random_runs = 1500;
    options.pct_runs = 1500;
    options.exhaustive_runs = 1000;
    options.preemption_bound = 2;
    return options;
}

/// An HCA that completes its verbs in a work item or inline; the machine chooses.
struct capricious_hca {
    struct command_queue : HCA_COMMAND_QUEUE {
        command_queue() { HcaInitializeCommandQueue(this, HcaServeByWorkItem, nullptr); }
        ~command_queue() { HcaRundownCommandQueue(this); }
    };
    command_queue commands;
    fake_hca hca{true};

    explicit capricious_hca(sim_machine& sim) {
        hca.on_submit = [this, &sim](IRP* irp) {
            return sim.fires("test.pend", 2) ? HcaQueueCommand(&commands, irp) : HcaExecute(irp);
        };
    }
    ~capricious_hca() {
        EXPECT_EQ(hca.queues, 0);
        EXPECT_EQ(hca.closed, hca.opened);
    }

    ci::channel_adapter open() {
        call_result<ci::channel_adapter> opened;
        ci::open_ca(hca.fdo, opened.handler());
        EXPECT_EQ(opened.status(), STATUS_SUCCESS);
        return std::move(opened.result());
    }
    static void close(ci::channel_adapter& ca) {
        call_result<void> closed;
        ca.async_close(closed.handler());
        EXPECT_EQ(closed.status(), STATUS_SUCCESS);
    }
    static ci::completion_queue create(const ci::channel_adapter& ca) {
        call_result<ci::completion_queue> created;
        ci::create_cq(ca, 4, created.handler());
        EXPECT_EQ(created.status(), STATUS_SUCCESS);
        return std::move(created.result());
    }
};

constexpr std::array port_events{IB_AE_PORT_ACTIVE, IB_AE_PORT_ERROR, IB_AE_LID_CHANGE,
                                 IB_AE_PKEY_CHANGE, IB_AE_GID_CHANGE, IB_AE_SM_CHANGE};

// Reads events until an error reports that the adapter is closed.
asio::awaitable<NTSTATUS> read_to_the_end(ci::event_stream<IB_ASYNC_EVENT> events, int& seen) {
    for (;;) {
        const auto [error, event] = co_await events.next(as_tuple);
        if (error) co_return dispatch::status_of(error);
        ++seen;
    }
}

TEST(CiHandleRaces, AdapterDestroyed_EventReaderEnds) {
    expect_explored(few_actors(), [](sim_machine& sim) {
        capricious_hca world(sim);
        ci::channel_adapter ca = world.open();
        int seen = 0;
        NTSTATUS end = STATUS_PENDING;
        asio::co_spawn(sim.context(), read_to_the_end(ca.port_events(1), seen),
                       [&](std::exception_ptr, NTSTATUS status) { end = status; });
        sim.spawn("events", [&] {
            for (const IB_ASYNC_EVENT each : port_events)
                HcaReportPortEvent(world.hca.fdo, 1, each);
        });
        sim.spawn("end", [&] { ca = {}; });
        sim.run();
        EXPECT_TRUE(end == STATUS_CANCELLED || end == STATUS_FILE_CLOSED);
        EXPECT_LE(seen, static_cast<int>(port_events.size()));
    });
}

TEST(CiHandleRaces, AdapterClosedExplicitly_EventReaderEnds) {
    expect_explored(few_actors(), [](sim_machine& sim) {
        capricious_hca world(sim);
        ci::channel_adapter ca = world.open();
        int seen = 0;
        NTSTATUS end = STATUS_PENDING;
        call_result<void> closed;
        asio::co_spawn(sim.context(), read_to_the_end(ca.port_events(1), seen),
                       [&](std::exception_ptr, NTSTATUS status) { end = status; });
        sim.spawn("events", [&] { HcaReportPortEvent(world.hca.fdo, 1, IB_AE_SM_CHANGE); });
        sim.spawn("close", [&] { ca.async_close(closed.handler()); });
        sim.run();
        EXPECT_TRUE(end == STATUS_CANCELLED || end == STATUS_FILE_CLOSED);
        EXPECT_EQ(closed.status(), STATUS_SUCCESS);
    });
}

// Reads with a deadline, and again after each time-out, until all events were seen.
asio::awaitable<void> read_impatiently(ci::event_stream<IB_ASYNC_EVENT> events,
                                       std::set<IB_ASYNC_EVENT>& seen) {
    while (seen.size() < port_events.size()) {
        const auto [error, event] = co_await events.next(irp::within(1ms, as_tuple));
        EXPECT_TRUE(error || seen.insert(event).second);
    }
}

void sleep_a_millisecond() {
    LARGE_INTEGER millisecond;
    millisecond.QuadPart = -10'000;
    KeDelayExecutionThread(KernelMode, FALSE, &millisecond);
}

TEST(CiHandleRaces, EventAtDeadlineOfWait_NoEventLost) {
    expect_explored(few_actors(), [](sim_machine& sim) {
        capricious_hca world(sim);
        ci::channel_adapter ca = world.open();
        std::set<IB_ASYNC_EVENT> seen;
        bool ended = false;
        asio::co_spawn(sim.context(), read_impatiently(ca.port_events(1), seen),
                       [&](std::exception_ptr error) { ended = !error; });
        sim.spawn("events", [&] {
            for (const IB_ASYNC_EVENT each : port_events) {
                sleep_a_millisecond(); // at the exact time of a deadline
                HcaReportPortEvent(world.hca.fdo, 1, each);
            }
        });
        sim.run();
        EXPECT_TRUE(ended);
        world.close(ca);
    });
}

TEST(CiHandleRaces, EventDuringCancel_NoEventLost) {
    expect_explored(few_actors(), [](sim_machine& sim) {
        capricious_hca world(sim);
        ci::channel_adapter ca = world.open();
        asio::cancellation_signal cancel;
        call_result<IB_ASYNC_EVENT> first;
        call_result<IB_ASYNC_EVENT> second;
        sim.spawn("wait", [&] {
            asio::post(sim.context(), [&] {
                ca.port_events(1).next(
                    asio::bind_cancellation_slot(cancel.slot(), first.handler()));
            });
        });
        sim.spawn("cancel", [&] {
            asio::post(sim.context(), [&] { cancel.emit(asio::cancellation_type::terminal); });
        });
        sim.spawn("event", [&] { HcaReportPortEvent(world.hca.fdo, 1, IB_AE_SM_CHANGE); });
        sim.run();
        if (first.status() == STATUS_CANCELLED) {
            ca.port_events(1).next(second.handler());
            EXPECT_EQ(second.result(), IB_AE_SM_CHANGE);
        } else {
            EXPECT_EQ(first.result(), IB_AE_SM_CHANGE);
        }
        world.close(ca);
    });
}

// An adapter, its queue and a queue in creation end at the same time: the last of them closes the
// CA.
TEST(CiHandleRaces, AdapterAndQueuesReleasedTogether_LastOneClosesCa) {
    expect_explored(few_actors(), [](sim_machine& sim) {
        capricious_hca world(sim);
        ci::channel_adapter ca = world.open();
        ci::completion_queue cq = world.create(ca);
        call_result<void> waiting;
        cq.comp_events().next(waiting.handler());
        NTSTATUS created = STATUS_PENDING;
        sim.spawn("create", [&] {
            auto later = ci::create_cq(ca, 4);
            sim.spawn("end of adapter", [&] { ca = {}; });
            std::move(later)([&](boost::system::error_code error, const ci::completion_queue&) {
                created = dispatch::status_of(error);
            });
        });
        sim.spawn("end of queue", [&] { cq = {}; });
        sim.run();
        EXPECT_EQ(waiting.status(), STATUS_CANCELLED);
        EXPECT_EQ(created, STATUS_SUCCESS);
    });
}

TEST(CiHandleRaces, HandlesDropped_DetachWaitsForTheirEnds) {
    expect_explored(few_actors(), [](sim_machine& sim) {
        capricious_hca world(sim);
        {
            const ci::channel_adapter ca = world.open();
            const ci::completion_queue cq = world.create(ca);
        }
        EXPECT_EQ(HcaRefuseOpen(world.hca.fdo), STATUS_SUCCESS);
        EXPECT_EQ(world.hca.closed, 1);
        HcaAllowOpen(world.hca.fdo);
    });
}

TEST(CiHandleRaces, AdapterReleasedDuringQueueDestroy_ClosesAfterQueue) {
    expect_explored(few_actors(), [](sim_machine& sim) {
        capricious_hca world(sim);
        ci::channel_adapter ca = world.open();
        ci::completion_queue cq = world.create(ca);
        call_result<void> destroyed;
        sim.spawn("destroy", [&] { ci::destroy_cq(cq, destroyed.handler()); });
        sim.spawn("end of adapter", [&] { ca = {}; });
        sim.run();
        EXPECT_EQ(destroyed.status(), STATUS_SUCCESS);
    });
}

// A cancellation meets a query between its two verbs, or after the end.
TEST(CiHandleRaces, CancelDuringRepeatedQuery_CompletesCancelledOrWhole) {
    std::set<NTSTATUS> ends;
    expect_explored(few_actors(), [&](sim_machine& sim) {
        capricious_hca world(sim);
        ci::channel_adapter ca = world.open();
        world.hca.on_query = [](IRP* irp) {
            const auto& asked = IoGetCurrentIrpStackLocation(irp)->Parameters.Others;
            static const std::array<ib_gid_t, 100> gids{};
            IB_PORT_ATTR fixed{};
            fixed.GidCount = static_cast<USHORT>(gids.size());
            const HCA_PORT_TABLES tables{gids.data(), nullptr};
            return HcaCopyPortAttributes(&fixed, &tables,
                                         static_cast<IB_PORT_ATTR*>(asked.Argument2),
                                         reinterpret_cast<SIZE_T>(asked.Argument3), irp);
        };
        asio::cancellation_signal cancel;
        call_result<ci::port_attributes> queried;
        sim.spawn("query", [&] {
            asio::post(sim.context(), [&] {
                ci::query_port(ca, 1,
                               asio::bind_cancellation_slot(cancel.slot(), queried.handler()));
            });
        });
        sim.spawn("cancel", [&] {
            asio::post(sim.context(), [&] { cancel.emit(asio::cancellation_type::terminal); });
        });
        sim.run();
        EXPECT_EQ(queried.result().empty(), queried.status() != STATUS_SUCCESS);
        ends.insert(queried.status());
        world.close(ca);
    });
    EXPECT_EQ(ends, (std::set<NTSTATUS>{STATUS_SUCCESS, STATUS_CANCELLED}));
}

} // namespace
