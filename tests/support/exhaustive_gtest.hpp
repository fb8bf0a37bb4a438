// Explorations that must run every schedule, not only a sample.
#pragma once

#include <support/explore_gtest.hpp>

#include <cstdio>
#include <string>

namespace irpverbs::testing {

/// The program must pass under every schedule within `options.preemption_bound`, and all of them
/// must be run. Prints their number.
template <class Body>
dispatch::explore_summary expect_exhausted(const dispatch::explore_options& options,
                                           const Body& body) {
    dispatch::explore_summary summary = expect_explored(options, body);
    EXPECT_TRUE(summary.exhausted) << "cut short: " << summary.text();
    if (!summary.exhausted) return summary;
    const std::string schedules = std::to_string(summary.exhaustive.runs);
    ::testing::Test::RecordProperty("schedules", schedules);
    const std::string bound =
        options.preemption_bound
            ? "at most " + std::to_string(*options.preemption_bound) + " preemptions"
            : "any number of preemptions";
    std::printf("%s: all %s schedules with %s\n", this_test().c_str(), schedules.c_str(),
                bound.c_str());
    return summary;
}

} // namespace irpverbs::testing
