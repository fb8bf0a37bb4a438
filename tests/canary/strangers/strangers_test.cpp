// The defects of strangers are found by a default campaign, with a line that repeats them, and
// their corrected variants are not accused; those that are known to be missed are named as that.
#include "strangers.hpp"

#include <dispatch/support/sanitizers.hpp>
#include <irp/testing/explore.hpp>
#include <support/explore_gtest.hpp>

#include <gtest/gtest.h>

#include <cstdlib>

namespace strangers {
namespace {

std::vector<defect> all_defects() {
    std::vector<defect> all;
    for (const auto* some : {&cancel_defects(), &completion_defects(), &timer_defects(),
                             &unload_defects(), &power_pnp_defects(), &lock_defects(),
                             &buffer_defects(), &queue_defects(), &packet_defects()})
        all.insert(all.end(), some->begin(), some->end());
    return all;
}

irpverbs::dispatch::explore_summary campaign(scenario run, std::uint64_t runs) {
    const irpverbs::irp::campaign_verifier verified;
    irpverbs::dispatch::explore_options options;
    options.random_runs = options.pct_runs = runs;
    options.own_process = true;
    // A process under AddressSanitizer begins slowly; what it finds needs a line, but no short one.
    if (IRPVERBS_ADDRESS_SANITIZER) options.shrink_budget = 50;
    return irpverbs::testing::run_exploration(options, run);
}

class StrangersDefect : public testing::TestWithParam<defect> {};

TEST_P(StrangersDefect, Buggy_IsFoundWithAReplayLine) {
    const defect& planted = GetParam();
    const auto summary = campaign(planted.buggy, planted.found ? 1000 : 50);
    // AddressSanitizer sees what the verifier misses, such as a load from freed memory.
    if (!planted.found && IRPVERBS_ADDRESS_SANITIZER) return;
    ASSERT_EQ(summary.failure.has_value(), planted.found) << summary.text();
    if (!planted.found) return;
    EXPECT_NE(summary.failure->replay, "");
#if !IRPVERBS_ADDRESS_SANITIZER // which reports some of them first
    EXPECT_NE(summary.failure->what.find(planted.shows), std::string::npos) << summary.text();
#endif
}

TEST_P(StrangersDefect, Corrected_IsNotAccused) {
    const auto summary = campaign(GetParam().correct, 50);
    EXPECT_TRUE(summary.passed()) << summary.text();
}

INSTANTIATE_TEST_SUITE_P(Of, StrangersDefect, testing::ValuesIn(all_defects()),
                         [](const auto& each) { return std::string(each.param.name); });

} // namespace
} // namespace strangers
