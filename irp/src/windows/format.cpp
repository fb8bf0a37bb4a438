#include "standard.hpp"

#include "format.hpp"

#include <windows/wdk/strings.h>
#include <windows/wdk/wide_text.h>

namespace irpverbs::irp::windows {

namespace {

struct conversion {
    std::string flags; // with width
    int precision = -1;
    std::string size;
    char type = 0;
};

/// The arguments, in a structure so that it can be passed by reference.
struct argument_list {
    va_list list;
};

std::string_view take(std::string_view& from, std::string_view of) {
    const std::size_t length = std::min(from.find_first_not_of(of), from.size());
    const std::string_view taken = from.substr(0, length);
    from.remove_prefix(length);
    return taken;
}

std::string number_or_star(std::string_view& format, argument_list& arguments) {
    if (!format.starts_with('*')) return std::string(take(format, "0123456789"));
    format.remove_prefix(1);
    return std::to_string(va_arg(arguments.list, int));
}

std::string take_size(std::string_view& format) {
    for (const std::string_view size :
         {"I64", "I32", "I", "ll", "l", "hh", "h", "w", "z", "j", "t", "L"})
        if (format.starts_with(size)) {
            format.remove_prefix(size.size());
            return std::string(size);
        }
    return {};
}

/// The conversion after a percent sign.
conversion take_conversion(std::string_view& format, argument_list& arguments) {
    conversion result;
    result.flags = take(format, "-+ #0");
    result.flags += number_or_star(format, arguments);
    if (format.starts_with('.')) {
        format.remove_prefix(1);
        const std::string precision = number_or_star(format, arguments);
        result.precision = precision.empty() ? 0 : std::stoi(precision);
    }
    result.size = take_size(format);
    if (!format.empty()) {
        result.type = format.front();
        format.remove_prefix(1);
    }
    return result;
}

template <typename Value>
std::string print(const conversion& as, const char* size_and_type, Value value) {
    std::string format = "%" + as.flags;
    if (as.precision >= 0) format += "." + std::to_string(as.precision);
    format += size_and_type;
    const int length = std::snprintf(nullptr, 0, format.c_str(), value);
    std::string text(static_cast<std::size_t>(std::max(length, 0)), ' ');
    std::snprintf(text.data(), text.size() + 1, format.c_str(), value);
    return text;
}

std::string integer(const conversion& as, argument_list& arguments) {
    const bool large = as.size == "I64" || as.size == "I" || as.size == "ll" || as.size == "z" ||
                       as.size == "j" || as.size == "t";
    const char type[] = {'l', 'l', as.type, 0};
    if (large) return print(as, type, va_arg(arguments.list, long long));
    const int value = va_arg(arguments.list, int);
    if (as.type == 'd' || as.type == 'i')
        return print(as, type,
                     static_cast<long long>(as.size == "h" ? static_cast<short>(value) : value));
    const auto bits = static_cast<unsigned>(value);
    return print(as, type, static_cast<long long>(as.size == "h" ? bits & 0xffff : bits));
}

std::string padded(const conversion& as, std::string_view text) {
    conversion whole = as;
    whole.precision = -1;
    return print(whole, "s", std::string(text).c_str());
}

std::size_t limit(const conversion& as) {
    return as.precision < 0 ? static_cast<std::size_t>(-1) : static_cast<std::size_t>(as.precision);
}

std::string counted(const conversion& as, argument_list& arguments) {
    const auto* string = va_arg(arguments.list, const UNICODE_STRING*);
    if (string == nullptr || string->Buffer == nullptr) return padded(as, "(null)");
    const bool wide = as.size == "w" || as.size == "l";
    if (wide)
        return padded(as,
                      utf8(string->Buffer, std::min(string->Length / sizeof(WCHAR), limit(as))));
    const auto* bytes = reinterpret_cast<const STRING*>(string);
    return padded(as,
                  std::string_view(bytes->Buffer, std::min<std::size_t>(bytes->Length, limit(as))));
}

bool is_wide(const conversion& as, bool wide_format) {
    if (as.size == "h") return false;
    if (as.size == "l" || as.size == "w" || as.size == "ll") return true;
    return (as.type == 's' || as.type == 'c') == wide_format;
}

std::string text_of(const conversion& as, bool wide_format, argument_list& arguments) {
    const auto* text = va_arg(arguments.list, const void*);
    if (text == nullptr) return padded(as, "(null)");
    if (is_wide(as, wide_format)) {
        const auto* wide = static_cast<const WCHAR*>(text);
        return padded(as, utf8(wide, IrpverbsWideLengthWithin(wide, limit(as))));
    }
    const auto* bytes = static_cast<const char*>(text);
    return padded(as, std::string_view(bytes, strnlen(bytes, limit(as))));
}

std::string character(const conversion& as, bool wide_format, argument_list& arguments) {
    const auto value = static_cast<WCHAR>(va_arg(arguments.list, int));
    if (is_wide(as, wide_format)) return padded(as, utf8(&value, 1));
    return padded(as, std::string(1, static_cast<char>(value)));
}

std::string convert(const conversion& as, bool wide_format, argument_list& arguments) {
    switch (as.type) {
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X':
        return integer(as, arguments);
    case 'p':
        return print({"016", -1, {}, 0}, "llX", va_arg(arguments.list, unsigned long long));
    case 's':
    case 'S':
        return text_of(as, wide_format, arguments);
    case 'c':
    case 'C':
        return character(as, wide_format, arguments);
    case 'Z':
        return counted(as, arguments);
    case 'e':
    case 'f':
    case 'g':
    case 'E':
    case 'G': {
        const char type[] = {as.type, 0};
        return print(as, type, va_arg(arguments.list, double));
    }
    default:
        return std::string(1, as.type);
    }
}

} // namespace

std::string utf8(const wchar_t* text, std::size_t count) {
    ULONG bytes = 0;
    RtlUnicodeToMultiByteSize(&bytes, text, static_cast<ULONG>(count * sizeof(WCHAR)));
    std::string result(bytes, ' ');
    RtlUnicodeToMultiByteN(result.data(), bytes, nullptr, text,
                           static_cast<ULONG>(count * sizeof(WCHAR)));
    return result;
}

std::string formatted(std::string_view format, bool wide, va_list arguments) {
    argument_list own;
    va_copy(own.list, arguments);
    std::string result;
    while (!format.empty()) {
        const std::size_t plain = std::min(format.find('%'), format.size());
        result += format.substr(0, plain);
        format.remove_prefix(plain);
        if (format.empty()) break;
        format.remove_prefix(1);
        result += convert(take_conversion(format, own), wide, own);
    }
    va_end(own.list);
    return result;
}

std::vector<WCHAR> wide_formatted(PCWSTR format, va_list arguments) {
    const std::string text = formatted(utf8(format, IrpverbsWideLength(format)), true, arguments);
    ULONG bytes = 0;
    RtlMultiByteToUnicodeSize(&bytes, text.data(), static_cast<ULONG>(text.size()));
    std::vector<WCHAR> result(bytes / sizeof(WCHAR));
    RtlMultiByteToUnicodeN(result.data(), bytes, nullptr, text.data(),
                           static_cast<ULONG>(text.size()));
    return result;
}

} // namespace irpverbs::irp::windows
