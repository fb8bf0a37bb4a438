#include "standard.hpp"

#include "format.hpp"

#include <windows/wdk/wide_text.h>

using irpverbs::irp::windows::formatted;
using irpverbs::irp::windows::wide_formatted;

namespace {

/* What C's bounded print functions of Windows do: no terminator when the text fills the buffer. */
template <typename Character, typename Text>
int put_unsafely(Character* to, size_t count, const Text& text) {
    std::copy_n(text.begin(), std::min(count, text.size()), to);
    if (text.size() < count) to[text.size()] = 0;
    return text.size() <= count ? static_cast<int>(text.size()) : -1;
}

} // namespace

extern "C" {

int IrpverbsPrintList(char* To, size_t Count, const char* Format, va_list Arguments) {
    return put_unsafely(To, Count, formatted(Format, false, Arguments));
}
int IrpverbsPrint(char* To, size_t Count, const char* Format, ...) {
    va_list arguments;
    va_start(arguments, Format);
    const int result = IrpverbsPrintList(To, Count, Format, arguments);
    va_end(arguments);
    return result;
}
int IrpverbsWidePrintList(PWSTR To, size_t Count, PCWSTR Format, va_list Arguments) {
    return put_unsafely(To, Count, wide_formatted(Format, Arguments));
}
int IrpverbsWidePrint(PWSTR To, size_t Count, PCWSTR Format, ...) {
    va_list arguments;
    va_start(arguments, Format);
    const int result = IrpverbsWidePrintList(To, Count, Format, arguments);
    va_end(arguments);
    return result;
}

} // extern "C"
