// The check for leftovers at the end.
#pragma once

#include "ledger.hpp"

namespace irpverbs::irp::verify {

/// Emits a finding for each leftover; returns their number.
std::uint32_t check_quiescence(ledger& book);

} // namespace irpverbs::irp::verify
