// Rules about critical and guarded regions: the routine and thread that enter a region must leave
// it.
#pragma once

#include "processor_checks.hpp"

namespace irpverbs::dispatch::detail {

enum class region : std::uint8_t { critical, guarded };

void region_entered(processor& self, region which);
/// Checks the leaving of a region. `entered`: the thread is inside one.
void region_left(processor& self, region which, bool entered);

/// Reports and forgets the regions that were entered after the first `critical` and `guarded` ones.
void regions_left_open(processor& self, std::size_t critical, std::size_t guarded,
                       const char* what);

} // namespace irpverbs::dispatch::detail
