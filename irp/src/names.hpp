// Names of the machine's trees, which are compared without regard to the case of ASCII letters.
#pragma once

#include <dispatch/ntdef.h>

#include <string>
#include <string_view>

namespace irpverbs::irp {

inline char16_t upper(char16_t letter) {
    return letter >= u'a' && letter <= u'z' ? static_cast<char16_t>(letter - u'a' + u'A') : letter;
}

inline std::u16string upper(std::u16string_view text) {
    std::u16string result(text);
    for (char16_t& each : result)
        each = upper(each);
    return result;
}

inline std::u16string_view view_of(const UNICODE_STRING& text) {
    return {reinterpret_cast<const char16_t*>(text.Buffer), text.Length / sizeof(WCHAR)};
}

/// A string for the calls of the C interface, which do not change it.
inline UNICODE_STRING string_of(std::u16string_view text) {
    const auto length = static_cast<USHORT>(text.size() * sizeof(WCHAR));
    return {length, length, reinterpret_cast<PWSTR>(const_cast<char16_t*>(text.data()))};
}

} // namespace irpverbs::irp
