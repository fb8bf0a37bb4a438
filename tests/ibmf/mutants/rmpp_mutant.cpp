// Linked with an engine with a planted bug, which the campaign named by IRPVERBS_CAMPAIGN must
// find.
#include "../rmpp_campaigns.hpp"

#include <support/explore_gtest.hpp>

#include <gmock/gmock.h>

namespace {

TEST(PlantedBug, RmppCampaign_FindsMutant) {
    irpverbs::dispatch::explore_options options;
    options.random_runs = 2000;
    options.pct_runs = 0;
    const auto summary =
        irpverbs::testing::expect_found(options, irpverbs::ibmf::rmpp::testing::IRPVERBS_CAMPAIGN);
    ASSERT_TRUE(summary.failure);
    EXPECT_THAT(summary.failure->what, testing::HasSubstr(IRPVERBS_SYMPTOM));
}

} // namespace
