#include "standard.hpp"

#include "irql_rules.hpp"

#include <windows/wdk/executive.h>
#include <windows/wdk/status_codes.h>
#include <windows/wdk/strings.h>

namespace {

LONG compare(const char* first, SIZE_T first_length, const char* second, SIZE_T second_length,
             bool fold) {
    for (SIZE_T i = 0; i < std::min(first_length, second_length); ++i) {
        const auto a = static_cast<UCHAR>(fold ? RtlUpperChar(first[i]) : first[i]);
        const auto b = static_cast<UCHAR>(fold ? RtlUpperChar(second[i]) : second[i]);
        if (a != b) return static_cast<LONG>(a) - static_cast<LONG>(b);
    }
    return static_cast<LONG>(first_length) - static_cast<LONG>(second_length);
}

NTSTATUS append(STRING& to, const char* from, SIZE_T bytes) {
    if (to.Length + bytes > to.MaximumLength) return STATUS_BUFFER_TOO_SMALL;
    memmove(to.Buffer + to.Length, from, bytes);
    to.Length = static_cast<USHORT>(to.Length + bytes);
    return STATUS_SUCCESS;
}

} // namespace

extern "C" {

void RtlInitString(PSTRING Destination, PCSZ Source) noexcept {
    const SIZE_T length =
        Source == nullptr ? 0 : std::min<SIZE_T>(strlen(Source), ANSI_STRING_MAX_BYTES - 1);
    Destination->Length = static_cast<USHORT>(length);
    Destination->MaximumLength = Source == nullptr ? USHORT{0} : static_cast<USHORT>(length + 1);
    Destination->Buffer = const_cast<PCHAR>(Source);
}

NTSTATUS RtlInitStringEx(PSTRING Destination, PCSZ Source) noexcept {
    if (Source != nullptr && strlen(Source) > ANSI_STRING_MAX_BYTES - 1)
        return STATUS_NAME_TOO_LONG;
    RtlInitString(Destination, Source);
    return STATUS_SUCCESS;
}

void RtlInitAnsiString(PANSI_STRING Destination, PCSZ Source) noexcept {
    RtlInitString(Destination, Source);
}
NTSTATUS RtlInitAnsiStringEx(PANSI_STRING Destination, PCSZ Source) noexcept {
    return RtlInitStringEx(Destination, Source);
}
void RtlInitUTF8String(PUTF8_STRING Destination, PCSZ Source) noexcept {
    RtlInitString(Destination, Source);
}

void RtlCopyString(PSTRING Destination, const STRING* Source) noexcept {
    Destination->Length = 0;
    if (Source != nullptr)
        append(*Destination, Source->Buffer, std::min(Source->Length, Destination->MaximumLength));
}

NTSTATUS RtlAppendStringToString(PSTRING Destination, const STRING* Source) noexcept {
    return append(*Destination, Source->Buffer, Source->Length);
}

NTSTATUS RtlAppendAsciizToString(PSTRING Destination, PCSZ Source) noexcept {
    return Source == nullptr ? STATUS_SUCCESS : append(*Destination, Source, strlen(Source));
}

CHAR RtlUpperChar(CHAR Character) noexcept {
    return Character >= 'a' && Character <= 'z' ? static_cast<CHAR>(Character - 'a' + 'A')
                                                : Character;
}

void RtlUpperString(PSTRING Destination, const STRING* Source) noexcept {
    const USHORT length = std::min(Source->Length, Destination->MaximumLength);
    std::transform(Source->Buffer, Source->Buffer + length, Destination->Buffer, RtlUpperChar);
    Destination->Length = length;
}

LONG RtlCompareString(const STRING* String1, const STRING* String2,
                      BOOLEAN CaseInSensitive) noexcept {
    VERIFY_IRQL(RtlCompareString);
    return compare(String1->Buffer, String1->Length, String2->Buffer, String2->Length,
                   CaseInSensitive);
}

BOOLEAN RtlEqualString(const STRING* String1, const STRING* String2,
                       BOOLEAN CaseInSensitive) noexcept {
    VERIFY_IRQL(RtlEqualString);
    return RtlCompareString(String1, String2, CaseInSensitive) == 0;
}

BOOLEAN RtlPrefixString(const STRING* String1, const STRING* String2,
                        BOOLEAN CaseInSensitive) noexcept {
    return String1->Length <= String2->Length &&
           compare(String1->Buffer, String1->Length, String2->Buffer, String1->Length,
                   CaseInSensitive) == 0;
}

void RtlFreeAnsiString(PANSI_STRING AnsiString) {
    VERIFY_IRQL(RtlFreeAnsiString);
    if (AnsiString->Buffer != nullptr) ExFreePool(AnsiString->Buffer);
    *AnsiString = {};
}
void RtlFreeUTF8String(PUTF8_STRING Utf8String) { RtlFreeAnsiString(Utf8String); }

} // extern "C"
