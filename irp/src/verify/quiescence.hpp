// The check for leftovers at the end.
#pragma once

#include "irp_tracker.hpp"

namespace irpverbs::irp::verify {

/// Emits a finding for each leftover; returns their number.
std::uint32_t check_quiescence(irp_tracker& tracker);

} // namespace irpverbs::irp::verify
