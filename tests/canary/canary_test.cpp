// The tests are tested: each planted defect must be found within the default budget.
#include "canary.hpp"

#include <support/explore_gtest.hpp>

#include <gtest/gtest.h>

namespace {

using canary::defect;

class Canary : public testing::TestWithParam<defect> {};

TEST_P(Canary, IsFound) { irpverbs::testing::expect_found({}, GetParam().run); }

// Defects that only a rule or a sanitizer shows are looked for where those are on.
std::vector<defect> shown_by_outcome(std::vector<defect> all) {
    std::erase_if(all,
                  [](const defect& each) { return each.evidence != canary::found_by::outcome; });
    return all;
}

std::string name_of(const testing::TestParamInfo<defect>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(SingleSlot, Canary,
                         testing::ValuesIn(shown_by_outcome(canary::single_slot_defects())),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Queue, Canary,
                         testing::ValuesIn(shown_by_outcome(canary::queue_defects())), name_of);
INSTANTIATE_TEST_SUITE_P(Completion, Canary,
                         testing::ValuesIn(shown_by_outcome(canary::completion_defects())),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Primitives, Canary,
                         testing::ValuesIn(shown_by_outcome(canary::primitive_defects())), name_of);

} // namespace
