// Transfers over a wire that loses, duplicates, delays and reorders datagrams.
#include "rmpp_campaigns.hpp"

#include <support/explore_gtest.hpp>

namespace {

using namespace irpverbs;
using namespace irpverbs::ibmf::rmpp;
using namespace irpverbs::ibmf::rmpp::testing;

// Either the bytes arrive unchanged, or each side ends with a status that names the reason.
TEST(RmppLoss, RandomFaults_CompletesOrBothSidesHaveReason) {
    dispatch::explore_options options;
    options.random_runs = 5000;
    options.pct_runs = 0; // there are no actors
    options.required_probes = {"rmpp.gap_filled"};
    irpverbs::testing::expect_explored(options, lossy_transfer);
}

TEST(RmppLoss, FalsePayloadLength_StaysWithinSegment) {
    dispatch::explore_options options;
    options.random_runs = 5000;
    options.pct_runs = 0;
    irpverbs::testing::expect_explored(options, lying_sender);
}

// Every placement of up to two faults of four kinds, for every window from 1 to 8 and transfers
// that end before, at and after a window's end. Three retries suffice for two faults.
TEST(RmppLoss, TwoFaultsInAnySmallWindow_TransferCompletes) {
    for (std::uint32_t window = 1; window <= 8; ++window)
        for (const std::size_t segments : {1u, 2u, window, window + 1, window + 2}) {
            dispatch::exhaustive_choices source;
            settings chosen;
            chosen.window = window;
            const link_faults planned{.faults = 2};
            do {
                const auto wrong = transfer(source, 200 * segments - 1, chosen, planned);
                ASSERT_FALSE(wrong) << *wrong << "; window " << window << ", " << segments
                                    << " segments, run " << source.runs();
            } while (source.next());
        }
}

} // namespace
