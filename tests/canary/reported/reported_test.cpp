// Each reported defect is found within the default budget, by a report with a line that repeats it;
// those that are known to be missed are named as that.
#include "reported.hpp"

#include <dispatch/support/sanitizers.hpp>
#include <irp/testing/explore.hpp>
#include <support/explore_gtest.hpp>

#include <gtest/gtest.h>

namespace reported {
namespace {

std::vector<defect> all_defects() {
    std::vector<defect> all = freed_memory_defects();
    all.insert(all.end(), race_defects().begin(), race_defects().end());
    return all;
}

class ReportedDefect : public testing::TestWithParam<defect> {};

TEST_P(ReportedDefect, DefaultBudget_FindsIt) {
    const defect& planted = GetParam();
    const irpverbs::irp::campaign_verifier verified(planted.faults ? "default,low_resources"
                                                                   : "default");
    irpverbs::dispatch::explore_options options;
    options.own_process = true;
    const auto summary = irpverbs::testing::run_exploration(options, planted.run);
    ASSERT_EQ(summary.failure.has_value(), planted.found) << summary.text();
    if (!planted.found) return;
    EXPECT_NE(summary.failure->replay, "");
#if !IRPVERBS_ADDRESS_SANITIZER // which reports some of them first
    EXPECT_NE(summary.failure->what.find(planted.shows), std::string::npos) << summary.text();
#endif
}

INSTANTIATE_TEST_SUITE_P(Of, ReportedDefect, testing::ValuesIn(all_defects()),
                         [](const auto& each) { return std::string(each.param.name); });

} // namespace
} // namespace reported
