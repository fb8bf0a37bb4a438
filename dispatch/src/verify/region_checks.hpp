// Critical and guarded regions: what is entered is left, by the same routine and thread.
#pragma once

#include "processor_checks.hpp"

namespace irpverbs::dispatch::detail {

enum class region : std::uint8_t { critical, guarded };

void region_entered(processor& self, region which);
/// `entered`: the thread is inside one.
void region_left(processor& self, region which, bool entered);

/// Reports and forgets those entered after the first `critical` and `guarded` ones.
void regions_left_open(processor& self, std::size_t critical, std::size_t guarded,
                       const char* what);

} // namespace irpverbs::dispatch::detail
