// The performance management agent of every node.
#pragma once

#include "node.hpp"

namespace irpverbs::hca_software {

/// A Get or Set of class 0x04 has come to the node; afterwards it holds the answer.
void answer_performance(packet& request);

} // namespace irpverbs::hca_software
