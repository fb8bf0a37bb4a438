#include "link_width_speed.hpp"

#include <ci/names.hpp>

#include <algorithm>
#include <array>
#include <bit>

namespace irpverbs::hca_software {

namespace {

struct width_name {
    std::string_view lanes;
    USHORT width;
};
// The widest first.
constexpr std::array named_widths{
    width_name{"12", IB_LINK_WIDTH_12X}, width_name{"8", IB_LINK_WIDTH_8X},
    width_name{"4", IB_LINK_WIDTH_4X},   width_name{"2", IB_LINK_WIDTH_2X},
    width_name{"1", IB_LINK_WIDTH_1X},
};

constexpr std::uint64_t all_widths = 31;
constexpr unsigned extended_shift = 8; // the bits of LinkSpeedExt, above those of LinkSpeed

std::optional<USHORT> speed_named(std::string_view name) {
    for (unsigned bit = IB_LINK_SPEED_SDR; bit <= IB_LINK_SPEED_NDR; bit <<= 1)
        if (ci::name_of(static_cast<IB_LINK_SPEED>(bit)) == name) return static_cast<USHORT>(bit);
    return std::nullopt;
}

} // namespace

USHORT expect_width(line_reader& in) {
    const std::uint64_t mask = in.expect_number("a mask of widths", all_widths);
    if (mask == 0) in.fail("expected a mask of widths, from 1 to 31");
    if (mask == 4) return IB_LINK_WIDTH_4X;
    return std::ranges::find_if(named_widths,
                                [&](const width_name& each) { return (mask & each.width) != 0; })
        ->width;
}

USHORT expect_speed(line_reader& in, USHORT default_speed) {
    const std::uint64_t mask = in.expect_number("a mask of speeds", 7);
    if (mask == 0 && default_speed == 0) in.fail("expected a mask of speeds, from 1 to 7");
    if (mask == 0) return default_speed;
    return static_cast<USHORT>(std::bit_floor(mask));
}

USHORT expect_extended_speed(line_reader& in) {
    const std::uint64_t mask = in.expect_number("a mask of extended speeds", 15);
    return static_cast<USHORT>(std::bit_floor(mask) << extended_shift);
}

std::optional<link_width_speed> link_name(line_reader& in) {
    const std::string_view name = in.word();
    if (name.empty() || name.find('?') != std::string_view::npos) return std::nullopt;
    const std::string_view lanes = name.substr(0, name.find('x'));
    const std::string_view rest = name.substr(lanes.size());
    const auto width = std::ranges::find(named_widths, lanes, &width_name::lanes);
    const auto speed = rest.starts_with('x') ? speed_named(rest.substr(1)) : std::nullopt;
    if (width == named_widths.end() || !speed)
        in.fail("expected a link's width and speed, like 4xEDR");
    return link_width_speed{width->width, *speed};
}

} // namespace irpverbs::hca_software
