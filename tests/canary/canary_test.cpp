// Tests the explorer: it must find each known defect within the default budget.
#include "canary.hpp"

#include <dispatch/support/sanitizers.hpp>
#include <irp/verifier.hpp>
#include <support/explore_gtest.hpp>
#include <support/findings.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace {

using canary::defect;
using canary::found_by;

std::vector<defect> all_but(std::initializer_list<found_by> left_out) {
    std::vector<defect> chosen;
    for (const std::vector<defect>* part :
         {&canary::single_slot_defects(), &canary::queue_defects(), &canary::completion_defects(),
          &canary::primitive_defects()})
        for (const defect& each : *part)
            if (std::find(left_out.begin(), left_out.end(), each.evidence) == left_out.end())
                chosen.push_back(each);
    return chosen;
}

std::string name_of(const testing::TestParamInfo<defect>& info) { return info.param.name; }

// Runs without the verifier; only the outcome shows the defect.
class ExplorerFindsDefect : public testing::TestWithParam<defect> {};

TEST_P(ExplorerFindsDefect, VerifierOff_DefectIsFound) {
    irpverbs::testing::expect_found({}, GetParam().run);
}

INSTANTIATE_TEST_SUITE_P(ByItsOutcome, ExplorerFindsDefect,
                         testing::ValuesIn(all_but({found_by::verifier, found_by::sanitizer})),
                         name_of);

class VerifierFindsDefect : public testing::TestWithParam<defect> {};

TEST_P(VerifierFindsDefect, VerifierOn_DefectIsReportedUnderItsRule) {
    const defect& planted = GetParam();
    const irpverbs::irp::verifier_scope watched(planted.options);
    const auto summary = irpverbs::testing::expect_found({}, planted.run);
    ASSERT_TRUE(summary.failure);
    const std::string rule = irpverbs::testing::rule_in(summary.failure->what);
    if (planted.rules.empty())
        EXPECT_EQ(rule, "") << summary.failure->report;
    else
        EXPECT_THAT(planted.rules, testing::Contains(rule)) << summary.failure->report;
}

INSTANTIATE_TEST_SUITE_P(ByTheVerifier, VerifierFindsDefect,
                         testing::ValuesIn(all_but({found_by::sanitizer})), name_of);

#if IRPVERBS_ADDRESS_SANITIZER
class SanitizerFindsDefect : public testing::TestWithParam<defect> {};

TEST_P(SanitizerFindsDefect, InvalidAccess_StopsUnderAddressSanitizer) {
    const irpverbs::irp::verifier_scope watched("default");
    EXPECT_DEATH(irpverbs::testing::run_exploration({}, GetParam().run), "AddressSanitizer: ");
}

INSTANTIATE_TEST_SUITE_P(ByTheSanitizer, SanitizerFindsDefect,
                         testing::ValuesIn(all_but({found_by::outcome, found_by::verifier})),
                         name_of);
#endif

} // namespace
