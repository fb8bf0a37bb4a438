// GUIDs as text.
#pragma once

#include <ci/ib_types.h>

#include <charconv>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>

namespace irpctl {

inline std::string guid_text(ib_guid_t guid) { return fmt::format("0x{:016x}", guid); }

/// Parses up to 16 hexadecimal digits, with or without "0x".
inline std::optional<ib_guid_t> guid_from(std::string_view text) {
    if (text.starts_with("0x")) text.remove_prefix(2);
    ib_guid_t guid = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), guid, 16);
    if (wrong != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return guid;
}

} // namespace irpctl
