// The width and speed of the link between two ports.
#pragma once

#include "node.hpp"

namespace irpverbs::hca_software {

/// Bits of IB_LINK_WIDTH and IB_LINK_SPEED.
USHORT supported_widths(const port& of);
USHORT supported_speeds(const port& of);

/// The best value that both ends of the cable enable. A port without a cable has the lowest value.
USHORT common_width(const port& of);
USHORT common_speed(const port& of);

} // namespace irpverbs::hca_software
