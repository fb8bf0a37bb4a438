// What a link between two ports can do, and what it does.
#pragma once

#include "node.hpp"

namespace irpverbs::hca_software {

/// Bits of IB_LINK_WIDTH and IB_LINK_SPEED.
USHORT supported_widths(const port& of);
USHORT supported_speeds(const port& of);

/// The best that both ends of its cable enable. Of a port without one: the least there is.
USHORT common_width(const port& of);
USHORT common_speed(const port& of);

} // namespace irpverbs::hca_software
