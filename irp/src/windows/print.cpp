#include "standard.hpp"

#include "format.hpp"
#include "irql_rules.hpp"

#include <windows/wdk/safe_strings.h>
#include <windows/wdk/wide_text.h>

using irpverbs::irp::windows::formatted;
using irpverbs::irp::windows::utf8;

namespace {

std::vector<WCHAR> wide(const std::string& text) {
    ULONG bytes = 0;
    RtlMultiByteToUnicodeSize(&bytes, text.data(), static_cast<ULONG>(text.size()));
    std::vector<WCHAR> result(bytes / sizeof(WCHAR));
    RtlMultiByteToUnicodeN(result.data(), bytes, nullptr, text.data(),
                           static_cast<ULONG>(text.size()));
    return result;
}

std::vector<WCHAR> wide_formatted(PCWSTR format, va_list arguments) {
    return wide(formatted(utf8(format, IrpverbsWideLength(format)), true, arguments));
}

/* What C's bounded print functions of Windows do: no terminator when the text fills the buffer. */
template <typename Character, typename Text>
int put_unsafely(Character* to, size_t count, const Text& text) {
    std::copy_n(text.begin(), std::min(count, text.size()), to);
    if (text.size() < count) to[text.size()] = 0;
    return text.size() <= count ? static_cast<int>(text.size()) : -1;
}

/* Copies at most size - 1 characters, ends them, and returns whether all fitted. */
template <typename Character>
NTSTATUS put_safely(Character* to, SIZE_T size, const Character* from, SIZE_T count,
                    Character** end, SIZE_T* left) {
    if (size == 0 || size > NTSTRSAFE_MAX_CCH) return STATUS_INVALID_PARAMETER;
    const SIZE_T copied = std::min(count, size - 1);
    std::copy_n(from, copied, to);
    to[copied] = 0;
    if (end != nullptr) *end = to + copied;
    if (left != nullptr) *left = size - copied;
    return copied == count ? STATUS_SUCCESS : STATUS_BUFFER_OVERFLOW;
}

SIZE_T length_within(const WCHAR* text, SIZE_T maximum) {
    return text == nullptr ? 0 : IrpverbsWideLengthWithin(text, maximum);
}
SIZE_T length_within(const char* text, SIZE_T maximum) {
    return text == nullptr ? 0 : strnlen(text, maximum);
}

template <typename Character>
NTSTATUS append_safely(Character* to, SIZE_T size, const Character* from, SIZE_T maximum,
                       Character** end, SIZE_T* left) {
    if (size == 0 || size > NTSTRSAFE_MAX_CCH) return STATUS_INVALID_PARAMETER;
    const SIZE_T used = length_within(static_cast<const Character*>(to), size);
    if (used == size) return STATUS_INVALID_PARAMETER;
    return put_safely(to + used, size - used, from, length_within(from, maximum), end, left);
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

NTSTATUS IrpverbsSafeCopyW(PWSTR To, SIZE_T Size, PCWSTR From, SIZE_T Maximum, PWSTR* End,
                           SIZE_T* Remaining) noexcept {
    return put_safely<WCHAR>(To, Size, From, length_within(From, Maximum), End, Remaining);
}
NTSTATUS IrpverbsSafeCopyA(PSTR To, SIZE_T Size, PCSTR From, SIZE_T Maximum, PSTR* End,
                           SIZE_T* Remaining) noexcept {
    return put_safely<char>(To, Size, From, length_within(From, Maximum), End, Remaining);
}
NTSTATUS IrpverbsSafeAppendW(PWSTR To, SIZE_T Size, PCWSTR From, SIZE_T Maximum, PWSTR* End,
                             SIZE_T* Remaining) noexcept {
    return append_safely<WCHAR>(To, Size, From, Maximum, End, Remaining);
}
NTSTATUS IrpverbsSafeAppendA(PSTR To, SIZE_T Size, PCSTR From, SIZE_T Maximum, PSTR* End,
                             SIZE_T* Remaining) noexcept {
    return append_safely<char>(To, Size, From, Maximum, End, Remaining);
}

NTSTATUS IrpverbsSafePrintListW(PWSTR To, SIZE_T Size, PWSTR* End, SIZE_T* Remaining, PCWSTR Format,
                                va_list Arguments) {
    VERIFY_IRQL(RtlStringCbPrintfW);
    const std::vector<WCHAR> text = wide_formatted(Format, Arguments);
    return put_safely<WCHAR>(To, Size, text.data(), text.size(), End, Remaining);
}
NTSTATUS IrpverbsSafePrintListA(PSTR To, SIZE_T Size, PSTR* End, SIZE_T* Remaining, PCSTR Format,
                                va_list Arguments) {
    const std::string text = formatted(Format, false, Arguments);
    return put_safely<char>(To, Size, text.data(), text.size(), End, Remaining);
}
NTSTATUS IrpverbsSafePrintW(PWSTR To, SIZE_T Size, PWSTR* End, SIZE_T* Remaining, PCWSTR Format,
                            ...) {
    va_list arguments;
    va_start(arguments, Format);
    const NTSTATUS status = IrpverbsSafePrintListW(To, Size, End, Remaining, Format, arguments);
    va_end(arguments);
    return status;
}
NTSTATUS IrpverbsSafePrintA(PSTR To, SIZE_T Size, PSTR* End, SIZE_T* Remaining, PCSTR Format, ...) {
    va_list arguments;
    va_start(arguments, Format);
    const NTSTATUS status = IrpverbsSafePrintListA(To, Size, End, Remaining, Format, arguments);
    va_end(arguments);
    return status;
}

NTSTATUS IrpverbsSafeLengthW(PCWSTR Text, SIZE_T Maximum, SIZE_T Unit, SIZE_T* Length) noexcept {
    const SIZE_T length = length_within(Text, Maximum);
    const bool ended = Text != nullptr && Maximum <= NTSTRSAFE_MAX_CCH && length < Maximum;
    if (Length != nullptr) *Length = ended ? length * Unit : 0;
    return ended ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}
NTSTATUS IrpverbsSafeLengthA(PCSTR Text, SIZE_T Maximum, SIZE_T* Length) noexcept {
    const SIZE_T length = length_within(Text, Maximum);
    const bool ended = Text != nullptr && Maximum <= NTSTRSAFE_MAX_CCH && length < Maximum;
    if (Length != nullptr) *Length = ended ? length : 0;
    return ended ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

} // extern "C"
