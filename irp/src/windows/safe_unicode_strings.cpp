// ntstrsafe.h's functions for counted strings. They end no text with a zero, as Windows' do not.
#include "standard.hpp"

#include <windows/wdk/safe_strings.h>

namespace {

constexpr SIZE_T most_characters = NTSTRSAFE_UNICODE_STRING_MAX_CCH;
constexpr SIZE_T all = NTSTRSAFE_MAX_CCH;

bool is_valid(PCUNICODE_STRING string) {
    return string != nullptr && NT_SUCCESS(RtlValidateUnicodeString(0, string));
}

// Stores text behind the first `kept` bytes, and says whether it was cut.
NTSTATUS store(UNICODE_STRING& to, USHORT kept, const WCHAR* from, SIZE_T count) {
    const SIZE_T room = (to.MaximumLength - kept) / sizeof(WCHAR);
    const SIZE_T stored = std::min(count, room);
    if (stored != 0) memmove(to.Buffer + kept / sizeof(WCHAR), from, stored * sizeof(WCHAR));
    to.Length = static_cast<USHORT>(kept + stored * sizeof(WCHAR));
    return stored == count ? STATUS_SUCCESS : STATUS_BUFFER_OVERFLOW;
}

NTSTATUS store_string(PUNICODE_STRING to, bool append, PCUNICODE_STRING from, SIZE_T maximum) {
    if (!is_valid(to) || !is_valid(from)) return STATUS_INVALID_PARAMETER;
    return store(*to, append ? to->Length : USHORT{0}, from->Buffer,
                 std::min(from->Length / sizeof(WCHAR), maximum));
}

NTSTATUS store_text(PUNICODE_STRING to, bool append, PCWSTR from, SIZE_T maximum) {
    if (!is_valid(to) || from == nullptr || maximum > all) return STATUS_INVALID_PARAMETER;
    return store(*to, append ? to->Length : USHORT{0}, from,
                 IrpverbsWideLengthWithin(from, maximum));
}

} // namespace

extern "C" {

NTSTATUS RtlUnicodeStringValidate(PCUNICODE_STRING Source) noexcept {
    return is_valid(Source) ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

NTSTATUS RtlUnicodeStringInit(PUNICODE_STRING Destination, NTSTRSAFE_PCWSTR Source) noexcept {
    if (Destination == nullptr) return STATUS_INVALID_PARAMETER;
    const SIZE_T count =
        Source == nullptr ? 0 : IrpverbsWideLengthWithin(Source, most_characters + 1);
    if (count > most_characters) return STATUS_INVALID_PARAMETER;
    const SIZE_T with_end = Source == nullptr ? 0 : std::min(count + 1, most_characters);
    *Destination = {static_cast<USHORT>(count * sizeof(WCHAR)),
                    static_cast<USHORT>(with_end * sizeof(WCHAR)), const_cast<PWSTR>(Source)};
    return STATUS_SUCCESS;
}

NTSTATUS RtlUnicodeStringCopy(PUNICODE_STRING Destination, PCUNICODE_STRING Source) noexcept {
    return store_string(Destination, false, Source, all);
}
NTSTATUS RtlUnicodeStringCchCopyN(PUNICODE_STRING Destination, PCUNICODE_STRING Source,
                                  SIZE_T Maximum) noexcept {
    return store_string(Destination, false, Source, Maximum);
}
NTSTATUS RtlUnicodeStringCat(PUNICODE_STRING Destination, PCUNICODE_STRING Source) noexcept {
    return store_string(Destination, true, Source, all);
}
NTSTATUS RtlUnicodeStringCchCatN(PUNICODE_STRING Destination, PCUNICODE_STRING Source,
                                 SIZE_T Maximum) noexcept {
    return store_string(Destination, true, Source, Maximum);
}

NTSTATUS RtlUnicodeStringCopyString(PUNICODE_STRING Destination, NTSTRSAFE_PCWSTR Source) noexcept {
    return store_text(Destination, false, Source, all);
}
NTSTATUS RtlUnicodeStringCchCopyStringN(PUNICODE_STRING Destination, NTSTRSAFE_PCWSTR Source,
                                        SIZE_T Maximum) noexcept {
    return store_text(Destination, false, Source, Maximum);
}
NTSTATUS RtlUnicodeStringCatString(PUNICODE_STRING Destination, NTSTRSAFE_PCWSTR Source) noexcept {
    return store_text(Destination, true, Source, all);
}
NTSTATUS RtlUnicodeStringCchCatStringN(PUNICODE_STRING Destination, NTSTRSAFE_PCWSTR Source,
                                       SIZE_T Maximum) noexcept {
    return store_text(Destination, true, Source, Maximum);
}

NTSTATUS RtlUnicodeStringVPrintf(PUNICODE_STRING DestinationString, NTSTRSAFE_PCWSTR Format,
                                 va_list Arguments) {
    if (!is_valid(DestinationString) || Format == nullptr) return STATUS_INVALID_PARAMETER;
    const SIZE_T room = DestinationString->MaximumLength / sizeof(WCHAR);
    const int stored = IrpverbsWidePrintList(DestinationString->Buffer, room, Format, Arguments);
    const SIZE_T count = stored >= 0 ? static_cast<SIZE_T>(stored) : room;
    DestinationString->Length = static_cast<USHORT>(count * sizeof(WCHAR));
    return stored >= 0 ? STATUS_SUCCESS : STATUS_BUFFER_OVERFLOW;
}
NTSTATUS RtlUnicodeStringPrintf(PUNICODE_STRING DestinationString, NTSTRSAFE_PCWSTR Format, ...) {
    va_list arguments;
    va_start(arguments, Format);
    const NTSTATUS status = RtlUnicodeStringVPrintf(DestinationString, Format, arguments);
    va_end(arguments);
    return status;
}

} // extern "C"
