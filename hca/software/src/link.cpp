#include "link.hpp"

#include <array>
#include <bit>

namespace irpverbs::hca_software {

namespace {

constexpr unsigned all_speeds = IB_LINK_SPEED_SDR | IB_LINK_SPEED_DDR | IB_LINK_SPEED_QDR |
                                IB_LINK_SPEED_FDR10 | IB_LINK_SPEED_FDR | IB_LINK_SPEED_EDR |
                                IB_LINK_SPEED_HDR | IB_LINK_SPEED_NDR;

// The order of the bits is not the order of the widths: 2X has the highest bit.
constexpr std::array<USHORT, 5> widths_from_the_widest{
    IB_LINK_WIDTH_12X, IB_LINK_WIDTH_8X, IB_LINK_WIDTH_4X, IB_LINK_WIDTH_2X, IB_LINK_WIDTH_1X};

USHORT widths_up_to(USHORT width) {
    unsigned mask = 0;
    for (std::size_t i = widths_from_the_widest.size(); i-- != 0;) {
        mask |= widths_from_the_widest[i];
        if (widths_from_the_widest[i] == width) break;
    }
    return static_cast<USHORT>(mask);
}

} // namespace

USHORT supported_widths(const port& of) {
    return static_cast<USHORT>(IB_LINK_WIDTH_1X | IB_LINK_WIDTH_4X | of.width);
}

USHORT supported_speeds(const port& of) {
    return static_cast<USHORT>(all_speeds & (2u * of.speed - 1));
}

USHORT common_width(const port& of) {
    if (of.peer == nullptr) return IB_LINK_WIDTH_1X;
    const port& peer = *of.peer;
    const int common =
        of.enabled_widths & peer.enabled_widths & widths_up_to(of.width) & widths_up_to(peer.width);
    for (const USHORT width : widths_from_the_widest)
        if ((common & width) != 0) return width;
    return IB_LINK_WIDTH_1X;
}

USHORT common_speed(const port& of) {
    if (of.peer == nullptr) return IB_LINK_SPEED_SDR;
    const auto common = static_cast<USHORT>(of.enabled_speeds & of.peer->enabled_speeds);
    return common != 0 ? std::bit_floor(common) : USHORT{IB_LINK_SPEED_SDR};
}

} // namespace irpverbs::hca_software
