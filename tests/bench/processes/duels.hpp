// Each file has one group of duels, which both processes make.
#pragma once

#include "partner.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace irpverbs::bench {

struct named_duel {
    std::string name;
    std::string text;
    std::shared_ptr<duel> what;
};
using duels = std::vector<named_duel>;

void add_limits(duels&, const meeting&);
void add_ucx(duels&, const meeting&);
// `hca`: the URI of a daemon's.
void add_ours(duels&, const meeting&, const char* hca);

} // namespace irpverbs::bench
