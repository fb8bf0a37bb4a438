// The cost of one schedule of a small race in the simulator, with construction and destruction.
#include "measurements.hpp"

#include <support/reference_drivers.hpp>

#include <dispatch/testing/explore.hpp>

#include <optional>
#include <string>

namespace irpverbs::bench {
namespace {

// Three threads pend, cancel and complete one request in a cancel-safe queue.
std::optional<std::string> cancel_race(dispatch::sim_machine& sim) {
    testing::queue_driver driver;
    testing::counted_request only(driver.device());
    sim.spawn("pend", [&] { only.send(); });
    sim.spawn("cancel", [&] { only.cancel(); });
    sim.spawn("serve", [&] { driver.serve(); });
    sim.run();
    driver.serve();
    if (only.completions != 1) return "not completed once";
    return std::nullopt;
}

void random_schedules(run& sample) {
    dispatch::explore_options how;
    how.random_runs = sample.operations();
    how.pct_runs = 0;
    sample.start();
    const dispatch::explore_summary summary = dispatch::explore(how, cancel_race);
    sample.stop();
    expect(summary.passed() && summary.random.runs != 0, "a simulated cancel race");
    sample.did(summary.random.runs);
}

} // namespace

void add_ours_simulator(catalog& all) {
    all.add("sim/cancel_race", "a random schedule of three actors: pend, cancel, serve",
            random_schedules);
}

} // namespace irpverbs::bench
