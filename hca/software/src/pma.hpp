// The performance management agent of every node.
#pragma once

#include "node.hpp"

namespace irpverbs::hca_software {

/// Answers a Get or Set of class 0x04 that has arrived at the node. `request` holds the response on
/// return.
void respond_to_performance(packet& request);

/// The bytes of an attribute of this class that are in use.
using counter_data = std::span<UCHAR, 72>;
inline counter_data data_of(packet& request) { return std::span(request.mad).subspan<64, 72>(); }

/// Returns a port of the node of `in`, or null if there is none of that number.
const port* named_port(port& in, UCHAR number);

// Handlers of attributes; they return a mad_status.
USHORT port_samples_control(packet& request, bool set);
USHORT port_samples_result(packet& request);

} // namespace irpverbs::hca_software
