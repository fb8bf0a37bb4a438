// Correct drivers under a million schedules (an optimised build; fewer otherwise): every request
// comes back once, and nothing is reported.
#include <support/explore_gtest.hpp>
#include <support/reference_drivers.hpp>

#include <gtest/gtest.h>

namespace {

using irpverbs::dispatch::explore_options;
using irpverbs::dispatch::sim_machine;
using irpverbs::testing::counted_request;
using irpverbs::testing::filter_driver;
using irpverbs::testing::queue_driver;

#ifdef NDEBUG
constexpr std::uint64_t schedules = 1'000'000;
#else
constexpr std::uint64_t schedules = 20'000;
#endif

explore_options half_random_half_pct() {
    explore_options options;
    options.random_runs = schedules / 2;
    options.pct_runs = schedules / 2;
    return options;
}

TEST(ReferenceDrivers, CancelSafeQueueCompletesEachRequestOnce) {
    irpverbs::testing::expect_explored(half_random_half_pct(), [](sim_machine& sim) {
        queue_driver driver;
        counted_request first(driver.device());
        counted_request second(driver.device());
        sim.spawn("park", [&] {
            first.send();
            second.send();
        });
        sim.spawn("cancel", [&] { first.cancel(); });
        sim.spawn("serve", [&] { driver.serve(); });
        sim.run();
        driver.serve();
        EXPECT_EQ(first.completions, 1);
        EXPECT_EQ(second.completions, 1);
        EXPECT_EQ(second.status, STATUS_SUCCESS);
    });
}

TEST(ReferenceDrivers, ThreeDeepFilterStackCompletesEachRequestOnce) {
    irpverbs::testing::expect_explored(half_random_half_pct(), [](sim_machine& sim) {
        queue_driver bottom;
        filter_driver lower(bottom.device());
        filter_driver middle(lower.device());
        filter_driver upper(middle.device());
        counted_request request(upper.device());
        sim.spawn("send", [&] { request.send(); });
        sim.spawn("cancel", [&] { request.cancel(); });
        sim.spawn("serve", [&] { bottom.serve(); });
        sim.run();
        bottom.serve();
        EXPECT_EQ(request.completions, 1);
        for (filter_driver* each : {&upper, &middle, &lower})
            each->remove();
    });
}

} // namespace
