/// Numbers in text.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace irpverbs::dispatch {

/// Parses a whole text as an unsigned number: hexadecimal after "0x" or "0X", else decimal. Empty
/// for other text and for a number above `most`. IRQL: any.
inline std::optional<std::uint64_t>
number_in(std::string_view text,
          std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) noexcept {
    const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    if (hexadecimal) text.remove_prefix(2);
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value, hexadecimal ? 16 : 10);
    if (error != std::errc{} || stop != end || value > most) return std::nullopt;
    return value;
}

} // namespace irpverbs::dispatch
