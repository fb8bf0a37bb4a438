// An ordinary io_context inside a simulated run.
#include "../../dispatch/src/sim/asio_handlers.hpp"

#include <dispatch/machine.hpp>
#include <dispatch/support/processor.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <support/explore_gtest.hpp>

#include <memory>
#include <stdexcept>
#include <string>

namespace irpverbs::dispatch {
namespace {

boost::asio::awaitable<void> three_awaits(sim_machine& machine, std::string& order, char tag) {
    for (int i = 0; i < 3; ++i) {
        order += tag;
        co_await boost::asio::post(machine.context(), boost::asio::use_awaitable);
    }
}

std::string run_coroutines(std::uint64_t seed) {
    random_choices source(seed);
    sim_machine::options options;
    options.log = true;
    sim_machine machine(source, options);
    std::string order;
    for (const char tag : {'a', 'b'})
        boost::asio::co_spawn(machine.context(), three_awaits(machine, order, tag),
                              boost::asio::detached);
    machine.spawn("poster", [&] {
        for (int i = 0; i < 3; ++i)
            detail::sched_point(detail::point::user);
        boost::asio::post(machine.context(), [&] { order += 'p'; });
        for (int i = 0; i < 3; ++i)
            detail::sched_point(detail::point::user);
    });
    EXPECT_TRUE(machine.run()) << machine.last().report;
    EXPECT_EQ(order.size(), 7u);
    return order + '\n' + machine.event_log();
}

// Tests that ordinary coroutines run to completion inside a run, in an order that the seed
// determines.
TEST(SimAsioContext, Coroutines_RunInOrderOfSeed) {
    EXPECT_EQ(run_coroutines(3), run_coroutines(3));
    bool differ = false;
    for (std::uint64_t seed = 4; seed < 20; ++seed)
        differ |= run_coroutines(3) != run_coroutines(seed);
    EXPECT_TRUE(differ);
}

TEST(SimAsioContext, HandlerParks_ContinuesAtDeadline) {
    random_choices source(1);
    sim_machine machine(source);
    bool woken = false;
    boost::asio::post(machine.context(),
                      [&] { woken = !machine.park(detail::this_processor(), 70); });
    EXPECT_TRUE(machine.run());
    EXPECT_TRUE(woken);
    EXPECT_EQ(machine.last().time, 70u);
}

TEST(SimAsioContext, HandlerNeverRun_IsDestroyed) {
    const auto held = std::make_shared<int>(1);
    {
        random_choices source(1);
        sim_machine machine(source);
        boost::asio::post(machine.context(), [held] {});
    }
    EXPECT_EQ(held.use_count(), 1);
}

// The simulator reads and writes a private member of Asio, whose meaning may change with Boost.
TEST(SimAsioContext, RunningHandlers_NestedAndForgotten_AreThoseThatAsioKnows) {
    using sim::innermost_handler;
    using sim::unlink_handlers_in;
    boost::asio::io_context outer, inner;
    const auto outer_runs = [&] { return outer.get_executor().running_in_this_thread(); };
    const auto inner_runs = [&] { return inner.get_executor().running_in_this_thread(); };
    ASSERT_EQ(innermost_handler(), nullptr);
    int checked = 0;
    boost::asio::post(outer, [&] {
        sim::running_handlers::context* const of_outer = innermost_handler();
        EXPECT_NE(of_outer, nullptr);
        boost::asio::post(inner, [&] {
            EXPECT_NE(innermost_handler(), of_outer);
            EXPECT_TRUE(inner_runs() && outer_runs());
            unlink_handlers_in(of_outer);
            EXPECT_TRUE(!inner_runs() && outer_runs());
            ++checked;
        });
        inner.run();
        EXPECT_EQ(innermost_handler(), of_outer);
        ++checked;
    });
    outer.run();
    EXPECT_EQ(innermost_handler(), nullptr);
    EXPECT_EQ(checked, 2);
}

// Asio records per thread which handlers run; the stack of a handler that never ended is reused.
TEST(SimAsioContext, AbandonedHandler_IsRemovedFromAsioCallStack) {
    const auto hang = [](sim_machine& machine) {
        const auto wait = [&] { machine.park(detail::this_processor(), detail::no_deadline); };
        boost::asio::post(machine.context(), wait);
        machine.spawn("lost", wait);
        return machine.run().outcome;
    };
    {
        random_choices source(1);
        sim_machine machine(source);
        EXPECT_EQ(hang(machine), sim_outcome::hung);
    }
    EXPECT_EQ(boost::asio::detail::thread_context::top_of_thread_call_stack(), nullptr);
    explore_options options;
    options.random_runs = 20;
    options.stop_at_failure = false;
    options.pct_runs = 0;
    const explore_summary all =
        irpverbs::testing::run_exploration(options, [&](sim_machine& machine) { hang(machine); });
    EXPECT_EQ(all.random.failures, 20u);
    EXPECT_EQ(boost::asio::detail::thread_context::top_of_thread_call_stack(), nullptr);
}

TEST(SimAsioContext, ExceptionInHandler_FailsRun) {
    random_choices source(1);
    sim_machine machine(source);
    boost::asio::post(machine.context(), [] { throw std::logic_error("handler"); });
    EXPECT_EQ(machine.run().outcome, sim_outcome::failed);
    EXPECT_NE(machine.last().report.find("context ended by an exception: handler"),
              std::string::npos);
}

} // namespace
} // namespace irpverbs::dispatch
