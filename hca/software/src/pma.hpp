// The performance management agent of every node.
#pragma once

#include "node.hpp"

namespace irpverbs::hca_software {

/// A Get or Set of class 0x04 has come to the node; afterwards it holds the answer.
void answer_performance(packet& request);

/// An attribute of this class, as far as anything is in it.
using counter_data = std::span<UCHAR, 72>;
inline counter_data data_of(packet& request) { return std::span(request.mad).subspan<64, 72>(); }

/// Of the node that `in` is of; null: it has no such port.
const port* named_port(port& in, UCHAR number);

// Attributes of their own; what they return is a mad_status.
USHORT port_samples_control(packet& request, bool set);
USHORT port_samples_result(packet& request);

} // namespace irpverbs::hca_software
