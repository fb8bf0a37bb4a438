#include "sysfs_text.hpp"

#include <array>
#include <charconv>

namespace irpverbs::hca_rdma {

namespace {

template <class Number>
Number leading(std::string_view text, int base = 10) {
    Number value{};
    std::from_chars(text.data(), text.data() + text.size(), value, base);
    return value;
}

/// Returns the text before the separator and leaves the text behind it in `text`.
std::string_view next_field(std::string_view& text, char separator) {
    const std::size_t end = text.find(separator);
    const std::string_view field = text.substr(0, end);
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
    return field;
}

USHORT width_of(unsigned lanes) {
    switch (lanes) {
    case 1:
        return IB_LINK_WIDTH_1X;
    case 2:
        return IB_LINK_WIDTH_2X;
    case 4:
        return IB_LINK_WIDTH_4X;
    case 8:
        return IB_LINK_WIDTH_8X;
    case 12:
        return IB_LINK_WIDTH_12X;
    default:
        return 0;
    }
}

USHORT speed_of(unsigned tenths_of_gigabits, unsigned lanes) {
    struct named {
        unsigned per_lane; // tenths of Gb/s per lane
        USHORT speed;
    };
    constexpr std::array speeds{named{25, IB_LINK_SPEED_SDR},  named{50, IB_LINK_SPEED_DDR},
                                named{100, IB_LINK_SPEED_QDR}, named{140, IB_LINK_SPEED_FDR},
                                named{250, IB_LINK_SPEED_EDR}, named{500, IB_LINK_SPEED_HDR},
                                named{1000, IB_LINK_SPEED_NDR}};
    for (const named& each : speeds)
        if (each.per_lane * lanes == tenths_of_gigabits) return each.speed;
    return 0;
}

} // namespace

ULONG hexadecimal(std::string_view text) {
    if (text.starts_with("0x")) text.remove_prefix(2);
    return leading<ULONG>(text, 16);
}

ib_gid_t gid(std::string_view text) {
    ib_gid_t made{};
    for (int i = 0; i < 8; ++i) {
        std::uint64_t& half = i < 4 ? made.gid_prefix : made.gid_guid;
        half = half << 16 | leading<std::uint16_t>(next_field(text, ':'), 16);
    }
    return made;
}

ULONGLONG firmware_version(std::string_view text) {
    const auto major = leading<ULONGLONG>(next_field(text, '.'));
    const auto minor = leading<ULONGLONG>(next_field(text, '.'));
    return major << 32 | (minor & 0xFFFF) << 16 | (leading<ULONGLONG>(text) & 0xFFFF);
}

link_rate rate(std::string_view text) {
    const std::string_view gigabits = next_field(text, '(');
    const std::size_t point = gigabits.find('.');
    unsigned tenths = leading<unsigned>(gigabits) * 10;
    if (point != std::string_view::npos) tenths += leading<unsigned>(gigabits.substr(point + 1, 1));
    const auto lanes = leading<unsigned>(text);
    if (lanes == 0) return {};
    // FDR10 has the rate of QDR, with another encoding.
    const bool fdr10 = text.find("FDR10") != std::string_view::npos;
    return {width_of(lanes),
            fdr10 ? static_cast<USHORT>(IB_LINK_SPEED_FDR10) : speed_of(tenths, lanes)};
}

} // namespace irpverbs::hca_rdma
