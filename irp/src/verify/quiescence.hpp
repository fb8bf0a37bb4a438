// What must not be left when all is over.
#pragma once

#include "ledger.hpp"

namespace irpverbs::irp::verify {

/// A finding for each thing that is left; gives back how many.
std::uint32_t check_quiescence(ledger& book);

} // namespace irpverbs::irp::verify
