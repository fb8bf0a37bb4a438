#include "safe_text.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace irpctl {

namespace {

unsigned byte(std::string_view text, std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

std::size_t announced_size(unsigned first) {
    if (first < 0x80) return 1;
    if (first >= 0xC2 && first <= 0xDF) return 2;
    if (first >= 0xE0 && first <= 0xEF) return 3;
    if (first >= 0xF0 && first <= 0xF4) return 4;
    return 0;
}

// Bytes of the character that the text begins with; 0: it is none. Source: RFC 3629, section 4.
std::size_t character_size(std::string_view text) {
    const unsigned first = byte(text, 0);
    const unsigned second = byte(text, 1);
    const std::size_t size = announced_size(first);
    for (std::size_t i = 1; i < size; ++i)
        if ((byte(text, i) & 0xC0) != 0x80) return 0;
    const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
    const bool surrogate = first == 0xED && second > 0x9F;
    const bool beyond_unicode = first == 0xF4 && second > 0x8F;
    return overlong || surrogate || beyond_unicode ? 0 : size;
}

// Of C0, DEL, or of C1, whose U+009B is as good as ESC [.
bool is_control(std::string_view character) {
    const unsigned first = byte(character, 0);
    return first < 0x20 || first == 0x7F || (first == 0xC2 && byte(character, 1) < 0xA0);
}

template <class Keep, class Instead>
std::string rewritten(std::string_view text, const Keep& keep, const Instead& instead_of) {
    std::string made;
    while (!text.empty()) {
        const std::size_t size = character_size(text);
        const std::string_view front = text.substr(0, std::max<std::size_t>(size, 1));
        if (size != 0 && keep(front))
            made += front;
        else
            for (std::size_t i = 0; i < front.size(); ++i)
                made += instead_of(byte(front, i));
        text.remove_prefix(front.size());
    }
    return made;
}

} // namespace

std::string valid_utf8(std::string_view text) {
    return rewritten(
        text, [](std::string_view) { return true; }, [](unsigned) { return "\xEF\xBF\xBD"; });
}

std::string printable(std::string_view text) {
    return rewritten(
        text, [](std::string_view character) { return !is_control(character); },
        [](unsigned each) { return fmt::format("\\x{:02x}", each); });
}

} // namespace irpctl
