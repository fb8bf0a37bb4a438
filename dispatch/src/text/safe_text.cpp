#include <dispatch/support/safe_text.hpp>

#include <boost/locale/utf.hpp>

namespace irpverbs::dispatch {
namespace {

namespace utf = boost::locale::utf;

constexpr std::string_view replacement = "\xEF\xBF\xBD"; // U+FFFD

bool is_control(utf::code_point point) { return point < 0x20 || (point >= 0x7F && point < 0xA0); }

void append_hex_byte(unsigned char byte, std::string& out) {
    constexpr char digits[] = "0123456789abcdef";
    out += digits[byte >> 4];
    out += digits[byte & 15];
}

/// Passes each valid character to `valid(point, bytes)` and each byte that is not UTF-8 to
/// `invalid(byte)`.
template <class Valid, class Invalid>
void for_each_character(std::string_view text, const Valid& valid, const Invalid& invalid) {
    for (auto at = text.begin(); at != text.end();) {
        auto end = at;
        const utf::code_point point = utf::utf_traits<char>::decode(end, text.end());
        if (utf::is_valid_codepoint(point)) {
            valid(point, std::string_view(at, end));
            at = end;
        } else {
            invalid(static_cast<unsigned char>(*at++));
        }
    }
}

/// Appends the inside of a JSON string when `escapes_syntax` is true, else whole JSON.
void append_json(std::string_view text, bool escapes_syntax, std::string& out) {
    for_each_character(
        text,
        [&](utf::code_point point, std::string_view bytes) {
            if (is_control(point)) {
                out += "\\u00"; // each control character is below U+0100
                append_hex_byte(static_cast<unsigned char>(point), out);
                return;
            }
            if (escapes_syntax && (point == '"' || point == '\\')) out += '\\';
            out += bytes;
        },
        [&](unsigned char) { out += replacement; });
}

} // namespace

void append_printable(std::string_view text, std::string& out) {
    const auto append_escaped = [&](unsigned char byte) {
        out += "\\x";
        append_hex_byte(byte, out);
    };
    for_each_character(
        text,
        [&](utf::code_point point, std::string_view bytes) {
            if (!is_control(point))
                out += bytes;
            else
                for (const char each : bytes)
                    append_escaped(static_cast<unsigned char>(each));
        },
        append_escaped);
}

std::string printable(std::string_view text) {
    std::string made;
    append_printable(text, made);
    return made;
}

void append_json_string(std::string_view text, std::string& out) {
    out += '"';
    append_json(text, true, out);
    out += '"';
}

std::string printable_json(std::string_view serialized) {
    std::string made;
    append_json(serialized, false, made);
    return made;
}

} // namespace irpverbs::dispatch
