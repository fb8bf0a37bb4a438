// Widths and speeds of links in topology files.
#pragma once

#include "line_reader.hpp"

namespace irpverbs::hca_software {

/// Reads a mask of IBA's widths, 1 to 31; the widest is used. 4 alone means 4X, as in ibsim's
/// examples.
USHORT expect_width(line_reader& in);

/// Reads a mask of SDR, DDR and QDR; the fastest is used. `default_speed`: the meaning of 0, if 0
/// is allowed.
USHORT expect_speed(line_reader& in, USHORT default_speed = 0);

/// Reads a mask of FDR, EDR, HDR and NDR; the fastest is used. 0: none of them.
USHORT expect_extended_speed(line_reader& in);

struct link_width_speed {
    USHORT width;
    USHORT speed;
};

/// Reads "4xEDR"; nothing if ibnetdiscover did not know it.
std::optional<link_width_speed> link_name(line_reader& in);

} // namespace irpverbs::hca_software
