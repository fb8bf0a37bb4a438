#include "standard.hpp"

#include "irql_rules.hpp"

#include <windows/wdk/executive.h>
#include <windows/wdk/status_codes.h>
#include <windows/wdk/strings.h>
#include <windows/wdk/wide_text.h>

namespace {

constexpr ULONG string_tag = 0x53747452; // "RttS"
constexpr SIZE_T longest = UNICODE_STRING_MAX_BYTES;

SIZE_T characters(const UNICODE_STRING& string) { return string.Length / sizeof(WCHAR); }

LONG compare_characters(WCHAR first, WCHAR second, bool fold) {
    if (fold) {
        first = RtlUpcaseUnicodeChar(first);
        second = RtlUpcaseUnicodeChar(second);
    }
    return static_cast<LONG>(first) - static_cast<LONG>(second);
}

void terminate(UNICODE_STRING& string) {
    if (string.Length + sizeof(WCHAR) <= string.MaximumLength)
        string.Buffer[characters(string)] = 0;
}

NTSTATUS append(UNICODE_STRING& to, const WCHAR* from, SIZE_T bytes) {
    if (to.Length + bytes > to.MaximumLength) return STATUS_BUFFER_TOO_SMALL;
    memmove(to.Buffer + characters(to), from, bytes);
    to.Length = static_cast<USHORT>(to.Length + bytes);
    terminate(to);
    return STATUS_SUCCESS;
}

template <typename Convert>
NTSTATUS change_case(UNICODE_STRING& to, const UNICODE_STRING& from, bool allocate,
                     Convert convert) {
    if (allocate) {
        to.Buffer = static_cast<PWSTR>(
            ExAllocatePoolWithTag(PagedPool, std::max<SIZE_T>(from.Length, 1), string_tag));
        if (to.Buffer == nullptr) return STATUS_NO_MEMORY;
        to.MaximumLength = from.Length;
    }
    if (from.Length > to.MaximumLength) return STATUS_BUFFER_OVERFLOW;
    std::transform(from.Buffer, from.Buffer + characters(from), to.Buffer, convert);
    to.Length = from.Length;
    return STATUS_SUCCESS;
}

} // namespace

extern "C" {

void RtlInitUnicodeString(PUNICODE_STRING Destination, PCWSTR Source) noexcept {
    const SIZE_T bytes =
        Source == nullptr ? 0 : std::min(IrpverbsWideLength(Source) * sizeof(WCHAR), longest - 2);
    Destination->Length = static_cast<USHORT>(bytes);
    Destination->MaximumLength =
        Source == nullptr ? USHORT{0} : static_cast<USHORT>(bytes + sizeof(WCHAR));
    Destination->Buffer = const_cast<PWSTR>(Source);
}

NTSTATUS RtlInitUnicodeStringEx(PUNICODE_STRING Destination, PCWSTR Source) noexcept {
    if (Source != nullptr && IrpverbsWideLength(Source) * sizeof(WCHAR) > longest - 2)
        return STATUS_NAME_TOO_LONG;
    RtlInitUnicodeString(Destination, Source);
    return STATUS_SUCCESS;
}

void RtlCopyUnicodeString(PUNICODE_STRING Destination, PCUNICODE_STRING Source) noexcept {
    Destination->Length = 0;
    if (Source == nullptr) return;
    const USHORT bytes = std::min(Source->Length, Destination->MaximumLength);
    if (bytes != 0) memmove(Destination->Buffer, Source->Buffer, bytes);
    Destination->Length = bytes;
    terminate(*Destination);
}

NTSTATUS RtlAppendUnicodeStringToString(PUNICODE_STRING Destination,
                                        PCUNICODE_STRING Source) noexcept {
    return append(*Destination, Source->Buffer, Source->Length);
}

NTSTATUS RtlAppendUnicodeToString(PUNICODE_STRING Destination, PCWSTR Source) noexcept {
    if (Source == nullptr) return STATUS_SUCCESS;
    return append(*Destination, Source, IrpverbsWideLength(Source) * sizeof(WCHAR));
}

LONG RtlCompareUnicodeStrings(PCWCH String1, SIZE_T String1Length, PCWCH String2,
                              SIZE_T String2Length, BOOLEAN CaseInSensitive) noexcept {
    const SIZE_T common = std::min(String1Length, String2Length);
    for (SIZE_T i = 0; i < common; ++i)
        if (const LONG order = compare_characters(String1[i], String2[i], CaseInSensitive))
            return order;
    return String1Length < String2Length ? -1 : String1Length > String2Length;
}

LONG RtlCompareUnicodeString(PCUNICODE_STRING String1, PCUNICODE_STRING String2,
                             BOOLEAN CaseInSensitive) noexcept {
    VERIFY_IRQL(RtlCompareUnicodeString);
    return RtlCompareUnicodeStrings(String1->Buffer, characters(*String1), String2->Buffer,
                                    characters(*String2), CaseInSensitive);
}

BOOLEAN RtlEqualUnicodeString(PCUNICODE_STRING String1, PCUNICODE_STRING String2,
                              BOOLEAN CaseInSensitive) noexcept {
    VERIFY_IRQL(RtlEqualUnicodeString);
    return String1->Length == String2->Length &&
           RtlCompareUnicodeString(String1, String2, CaseInSensitive) == 0;
}

BOOLEAN RtlPrefixUnicodeString(PCUNICODE_STRING String1, PCUNICODE_STRING String2,
                               BOOLEAN CaseInSensitive) noexcept {
    VERIFY_IRQL(RtlPrefixUnicodeString);
    if (String1->Length > String2->Length) return FALSE;
    return RtlCompareUnicodeStrings(String1->Buffer, characters(*String1), String2->Buffer,
                                    characters(*String1), CaseInSensitive) == 0;
}

BOOLEAN RtlSuffixUnicodeString(PCUNICODE_STRING String1, PCUNICODE_STRING String2,
                               BOOLEAN CaseInSensitive) noexcept {
    if (String1->Length > String2->Length) return FALSE;
    const WCHAR* tail = String2->Buffer + (characters(*String2) - characters(*String1));
    return RtlCompareUnicodeStrings(String1->Buffer, characters(*String1), tail,
                                    characters(*String1), CaseInSensitive) == 0;
}

NTSTATUS RtlHashUnicodeString(PCUNICODE_STRING String, BOOLEAN CaseInSensitive, ULONG HashAlgorithm,
                              PULONG HashValue) noexcept {
    VERIFY_IRQL(RtlHashUnicodeString);
    if (String == nullptr || HashValue == nullptr || HashAlgorithm > HASH_STRING_ALGORITHM_X65599)
        return STATUS_INVALID_PARAMETER;
    ULONG hash = 0;
    for (SIZE_T i = 0; i < characters(*String); ++i) {
        const WCHAR character = String->Buffer[i];
        hash = hash * 65599 + (CaseInSensitive ? RtlUpcaseUnicodeChar(character) : character);
    }
    *HashValue = hash;
    return STATUS_SUCCESS;
}

NTSTATUS RtlUpcaseUnicodeString(PUNICODE_STRING Destination, PCUNICODE_STRING Source,
                                BOOLEAN AllocateDestinationString) {
    VERIFY_IRQL(RtlUpcaseUnicodeString);
    return change_case(*Destination, *Source, AllocateDestinationString, RtlUpcaseUnicodeChar);
}

NTSTATUS RtlDowncaseUnicodeString(PUNICODE_STRING Destination, PCUNICODE_STRING Source,
                                  BOOLEAN AllocateDestinationString) {
    VERIFY_IRQL(RtlDowncaseUnicodeString);
    return change_case(*Destination, *Source, AllocateDestinationString, RtlDowncaseUnicodeChar);
}

NTSTATUS RtlValidateUnicodeString(ULONG Flags, PCUNICODE_STRING String) noexcept {
    if (Flags != 0) return STATUS_INVALID_PARAMETER;
    if (String == nullptr) return STATUS_SUCCESS;
    const bool valid = String->Length % sizeof(WCHAR) == 0 &&
                       String->MaximumLength % sizeof(WCHAR) == 0 &&
                       String->Length <= String->MaximumLength &&
                       (String->Buffer != nullptr || String->MaximumLength == 0);
    return valid ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

NTSTATUS RtlDuplicateUnicodeString(ULONG Flags, PCUNICODE_STRING String,
                                   PUNICODE_STRING Duplicate) {
    const bool terminated = (Flags & RTL_DUPLICATE_UNICODE_STRING_NULL_TERMINATE) != 0;
    const bool also_empty = (Flags & RTL_DUPLICATE_UNICODE_STRING_ALLOCATE_NULL_STRING) != 0;
    if (Duplicate == nullptr || Flags > 3 || (also_empty && !terminated) ||
        !NT_SUCCESS(RtlValidateUnicodeString(0, String)))
        return STATUS_INVALID_PARAMETER;
    *Duplicate = {};
    const SIZE_T length = String == nullptr ? 0 : String->Length;
    if (length == 0 && !also_empty) return STATUS_SUCCESS;
    const SIZE_T size = length + (terminated ? sizeof(WCHAR) : 0);
    if (size > longest) return STATUS_NAME_TOO_LONG;
    Duplicate->Buffer = static_cast<PWSTR>(ExAllocatePoolWithTag(PagedPool, size, string_tag));
    if (Duplicate->Buffer == nullptr) return STATUS_NO_MEMORY;
    Duplicate->MaximumLength = static_cast<USHORT>(size);
    RtlCopyUnicodeString(Duplicate, String);
    terminate(*Duplicate);
    return STATUS_SUCCESS;
}

void RtlFreeUnicodeString(PUNICODE_STRING UnicodeString) {
    VERIFY_IRQL(RtlFreeUnicodeString);
    if (UnicodeString->Buffer != nullptr) ExFreePool(UnicodeString->Buffer);
    *UnicodeString = {};
}

} // extern "C"
