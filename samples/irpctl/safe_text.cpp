#include "safe_text.hpp"

#include <boost/locale/utf.hpp>
#include <fmt/format.h>

namespace irpctl {

namespace {

namespace utf = boost::locale::utf;

// Of C0, DEL, or of C1, whose U+009B is as good as ESC [.
bool is_control(utf::code_point point) { return point < 0x20 || (point >= 0x7F && point < 0xA0); }

// A byte that begins no character is passed to `instead_of`, and so are those of each character
// that is not to keep.
template <class Keep, class Instead>
std::string rewritten(std::string_view text, const Keep& keep, const Instead& instead_of) {
    std::string made;
    for (auto at = text.begin(); at != text.end();) {
        auto end = at;
        const utf::code_point point = utf::utf_traits<char>::decode(end, text.end());
        const bool valid = utf::is_valid_codepoint(point);
        if (!valid) end = at + 1;
        if (valid && keep(point))
            made.append(at, end);
        else
            for (; at != end; ++at)
                made += instead_of(static_cast<unsigned char>(*at));
        at = end;
    }
    return made;
}

} // namespace

std::string valid_utf8(std::string_view text) {
    return rewritten(
        text, [](utf::code_point) { return true; }, [](unsigned) { return "\xEF\xBF\xBD"; });
}

std::string printable(std::string_view text) {
    return rewritten(
        text, [](utf::code_point point) { return !is_control(point); },
        [](unsigned each) { return fmt::format("\\x{:02x}", each); });
}

} // namespace irpctl
