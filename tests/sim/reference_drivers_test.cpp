// Correct drivers run under a million schedules (fewer in a debug build) with the verifier on: each
// request completes once, and the verifier reports nothing.
#include <support/explore_gtest.hpp>
#include <support/reference_drivers.hpp>

#include <irp/verifier.hpp>

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

template <class Body>
void expect_nothing_reported(const Body& body) {
    const irpverbs::irp::verifier_scope verified("default");
    explore_options half_random_half_pct;
    half_random_half_pct.random_runs = schedules / 2;
    half_random_half_pct.pct_runs = schedules / 2;
    half_random_half_pct.required_probes = {"cancel.found_no_routine", "csq.cancelled_before_pend",
                                            "csq.cancelled_during_pend"};
#ifdef NDEBUG // too rare for fewer schedules with the more steps of checked inlines
    half_random_half_pct.required_probes.push_back("csq.remove_next_skipped_cancelled");
#endif
    irpverbs::testing::expect_explored(half_random_half_pct, body);
}

TEST(ReferenceDrivers, CancelSafeQueueDriver_CompletesEachIrpOnce) {
    expect_nothing_reported([](sim_machine& sim) {
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

TEST(ReferenceDrivers, ThreeFiltersAboveQueue_CompleteIrpOnce) {
    expect_nothing_reported([](sim_machine& sim) {
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
