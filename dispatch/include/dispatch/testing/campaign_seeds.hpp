/// The seeds of a campaign without a machine.
#ifndef IRPVERBS_DISPATCH_TESTING_CAMPAIGN_SEEDS_HPP
#define IRPVERBS_DISPATCH_TESTING_CAMPAIGN_SEEDS_HPP

#include <cstdint>

namespace irpverbs::dispatch {

struct campaign_seeds {
    std::uint64_t first;
    std::uint64_t runs;
};

/// The seeds from 1 on, of which a campaign has that many, as the environment changes them:
/// IRPVERBS_SEEDS is a factor of the runs, IRPVERBS_FIRST_SEED the first seed. Throws
/// std::invalid_argument for a value that is none.
campaign_seeds seeds_of_campaign(std::uint64_t runs);

} // namespace irpverbs::dispatch

#endif
