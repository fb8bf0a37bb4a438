// Campaigns over seeds, without a machine.
#pragma once

#include <support/explore_gtest.hpp>

#include <dispatch/testing/campaign_seeds.hpp>

#include <gtest/gtest.h>

#include <string>

namespace irpverbs::testing {

/// Calls `body(seed)` for the seeds of a campaign of `runs`, up to the first that fails, which is
/// printed with the command line that repeats it. IRPVERBS_SEEDS multiplies the runs.
template <class Body>
void expect_campaign(std::uint64_t runs, const Body& body) {
    const dispatch::campaign_seeds seeds = dispatch::seeds_of_campaign(runs);
    for (std::uint64_t i = 0; i != seeds.runs && !::testing::Test::HasFailure(); ++i) {
        const std::uint64_t seed = seeds.first + i;
        SCOPED_TRACE("repeat it with IRPVERBS_FIRST_SEED=" + std::to_string(seed) + ' ' +
                     this_test());
        body(seed);
    }
}

} // namespace irpverbs::testing
