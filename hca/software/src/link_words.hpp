// Widths and speeds of links as topology files write them.
#pragma once

#include "line_reader.hpp"

namespace irpverbs::hca_software {

/// A mask of IBA's widths, 1 to 31; the widest counts. 4 alone is 4X, as ibsim's examples say.
USHORT expect_width(line_reader& in);

/// A mask of SDR, DDR and QDR; the fastest counts. `of_none`: what 0 stands for, if it may be
/// there.
USHORT expect_speed(line_reader& in, USHORT of_none = 0);

/// A mask of FDR, EDR, HDR and NDR; the fastest counts. 0: none of them.
USHORT expect_extended_speed(line_reader& in);

struct link_words {
    USHORT width;
    USHORT speed;
};

/// "4xEDR"; none: ibnetdiscover did not know.
std::optional<link_words> link_name(line_reader& in);

} // namespace irpverbs::hca_software
