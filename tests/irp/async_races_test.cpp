// A call with a deadline and a cancellation slot under every schedule: its result, its deadline and
// its canceller race, and exactly one of them decides.
#include "test_driver.hpp"

#include <support/exhaustive_gtest.hpp>

#include <irp/async.hpp>
#include <irp/cancel_safe_queue.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>

#include <gtest/gtest.h>

#include <map>

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace irpverbs;
using namespace std::chrono_literals;
using irp::pending_irp;
using irpverbs::testing::ask;
using irpverbs::testing::test_device;

void sleep_a_millisecond() {
    LARGE_INTEGER millisecond;
    millisecond.QuadPart = -10'000;
    KeDelayExecutionThread(KernelMode, FALSE, &millisecond);
}

using status_counts = std::map<NTSTATUS, int>;

// The events that race with the call; each may be left out.
struct racing_events {
    bool serve;
    bool cancel;
};

// All events fall at the same instant of machine time, so that the schedule decides.
void race(dispatch::sim_machine& sim, racing_events others, status_counts& ends) {
    irp::cancel_safe_queue queue;
    const test_device device([&](pending_irp owed) { return queue.pend(std::move(owed)); });
    asio::cancellation_signal cancel;
    int ended = 0;
    NTSTATUS status = STATUS_PENDING;
    sim.spawn("call", [&] {
        irp::call(device.get(), ask,
                  irp::within(1ms, asio::bind_cancellation_slot(cancel.slot(),
                                                                [&](error_code error, ULONG_PTR) {
                                                                    ++ended;
                                                                    status = error.value();
                                                                })));
    });
    if (others.serve)
        sim.spawn("serve", [&] {
            sleep_a_millisecond();
            if (auto owed = queue.remove_next()) std::move(*owed).complete(STATUS_SUCCESS);
        });
    if (others.cancel)
        sim.spawn("cancel", [&] {
            sleep_a_millisecond();
            asio::post(sim.context(), [&] { cancel.emit(asio::cancellation_type::total); });
        });
    sim.run();
    EXPECT_EQ(ended, 1);
    EXPECT_TRUE(queue.empty());
    EXPECT_TRUE(status == STATUS_SUCCESS || status == STATUS_CANCELLED ||
                status == STATUS_IO_TIMEOUT);
    ++ends[status];
}

TEST(AsyncRaces, DeadlineRacesWithResult_EndsWithOneOfThem) {
    status_counts ends;
    dispatch::explore_options options;
    options.exhaustive_runs = 30'000;
    options.preemption_bound = 1;
    options.required_probes = {"deadline.met_the_result"};
    irpverbs::testing::expect_exhausted(options, [&](dispatch::sim_machine& sim) {
        race(sim, {true, false}, ends);
    });
    EXPECT_GT(ends[STATUS_SUCCESS], 0);
    EXPECT_GT(ends[STATUS_IO_TIMEOUT], 0);
    EXPECT_EQ(ends[STATUS_CANCELLED], 0);
}

TEST(AsyncRaces, DeadlineRacesWithCancel_EndsWithOneOfThem) {
    status_counts ends;
    irpverbs::testing::expect_explored({}, [&](dispatch::sim_machine& sim) {
        race(sim, {false, true}, ends);
    });
    EXPECT_GT(ends[STATUS_CANCELLED], 0);
    EXPECT_GT(ends[STATUS_IO_TIMEOUT], 0);
    EXPECT_EQ(ends[STATUS_SUCCESS], 0);
}

TEST(AsyncRaces, DeadlineResultAndCancelRace_EndsWithOneOfThem) {
    status_counts ends;
    irpverbs::testing::expect_explored({}, [&](dispatch::sim_machine& sim) {
        race(sim, {true, true}, ends);
    });
    EXPECT_GT(ends[STATUS_SUCCESS], 0);
    EXPECT_GT(ends[STATUS_CANCELLED], 0);
    EXPECT_GT(ends[STATUS_IO_TIMEOUT], 0);
}

} // namespace
