// Shrinking ends at the fewest preemptions: a search of all schedules with fewer finds no failure.
#include "canary.hpp"

#include <irp/verifier.hpp>
#include <support/explore_gtest.hpp>
#include <support/findings.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace {

using canary::defect;
using irpverbs::dispatch::explore_failure;
using irpverbs::dispatch::explore_options;
using irpverbs::dispatch::explore_summary;

std::vector<defect> all_defects() {
    std::vector<defect> all;
    for (const auto* part : {&canary::single_slot_defects(), &canary::queue_defects(),
                             &canary::completion_defects(), &canary::primitive_defects()})
        for (const defect& each : *part)
            if (each.evidence == canary::found_by::outcome) all.push_back(each);
    return all;
}

std::string kind_of(const explore_failure& failure) {
    const std::string rule = irpverbs::testing::rule_in(failure.what);
    return rule.empty() ? failure.what.substr(0, failure.what.find('\n')) : rule;
}

enum class comparison { inconclusive, fewest, not_fewest };

// By an own search, with the larger budget.
comparison compare_with_search(const defect& each, const explore_failure& shrunk) {
    if (shrunk.preemptions == 0) return comparison::inconclusive;
    explore_options fewer;
    fewer.random_runs = fewer.pct_runs = 0;
    fewer.exhaustive_runs = 20'000;
    fewer.preemption_bound = shrunk.preemptions - 1;
    fewer.shrink_budget = 0;
    const explore_summary searched = irpverbs::testing::run_exploration(fewer, each.run);
    if (!searched.failure)
        return searched.exhausted ? comparison::fewest : comparison::inconclusive;
    return kind_of(*searched.failure) == kind_of(shrunk) ? comparison::not_fewest
                                                         : comparison::inconclusive;
}

// Half with the verifier, half without; only runs that chance finds, as a search begins with few
// preemptions.
TEST(Shrinking, FailuresOfRandomAndPctRuns_EndAtTheFewestPreemptions) {
    int confirmed = 0;
    std::array<int, 4> by_preemptions{};
    for (const bool verified : {false, true})
        for (const defect& each : all_defects()) {
            const irpverbs::irp::verifier_scope watched(verified ? "default" : "");
            explore_options options;
            (verified ? options.random_runs : options.pct_runs) = 0;
            const auto found = irpverbs::testing::run_exploration(options, each.run);
            if (!found.failure) continue;
            const comparison end = compare_with_search(each, *found.failure);
            EXPECT_NE(end, comparison::not_fewest) << each << found.failure->report;
            if (end == comparison::fewest) ++confirmed;
            ++by_preemptions[std::min<std::size_t>(found.failure->preemptions, 3)];
        }
    RecordProperty("confirmed", confirmed);
    EXPECT_GE(confirmed, 20) << by_preemptions[0] << ' ' << by_preemptions[1] << ' '
                             << by_preemptions[2] << ' ' << by_preemptions[3];
}

} // namespace
