#include "standard.hpp"

#include "irql_rules.hpp"

#include <windows/wdk/status_codes.h>
#include <windows/wdk/strings.h>
#include <windows/wdk/wide_text.h>

namespace {

int digit(unsigned c) {
    if (c >= '0' && c <= '9') return static_cast<int>(c - '0');
    const unsigned upper = c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c;
    return upper >= 'A' && upper <= 'Z' ? static_cast<int>(upper - 'A' + 10) : 99;
}

bool known_base(ULONG base) { return base == 2 || base == 8 || base == 10 || base == 16; }

/* Reads a number as Windows does: blanks, a sign, the prefix of base 0, digits until the first
   character that is none. */
template <typename Character>
NTSTATUS read(const Character* at, const Character* end, ULONG base, ULONGLONG& value,
              const Character** stopped = nullptr) {
    while (at != end && static_cast<unsigned>(*at) <= ' ' && *at != 0)
        ++at;
    const bool negative = at != end && *at == '-';
    if (at != end && (*at == '-' || *at == '+')) ++at;
    if (base == 0) {
        base = 10;
        if (end - at >= 2 && at[0] == '0') {
            const auto mark = static_cast<unsigned>(at[1]);
            const ULONG named = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
            if (named != 0) {
                base = named;
                at += 2;
            }
        }
    }
    if (!known_base(base)) return STATUS_INVALID_PARAMETER;
    value = 0;
    for (; at != end && digit(static_cast<unsigned>(*at)) < static_cast<int>(base); ++at)
        value = value * base + static_cast<ULONGLONG>(digit(static_cast<unsigned>(*at)));
    if (negative) value = 0 - value;
    if (stopped != nullptr) *stopped = at;
    return STATUS_SUCCESS;
}

NTSTATUS write(ULONGLONG value, ULONG base, UNICODE_STRING& string) {
    if (base == 0) base = 10;
    if (!known_base(base)) return STATUS_INVALID_PARAMETER;
    std::array<WCHAR, 64> text;
    auto* first = text.data() + text.size();
    do {
        *--first = static_cast<WCHAR>("0123456789ABCDEF"[value % base]);
        value /= base;
    } while (value != 0);
    const auto bytes = static_cast<SIZE_T>(text.data() + text.size() - first) * sizeof(WCHAR);
    if (bytes > string.MaximumLength) return STATUS_BUFFER_OVERFLOW;
    memcpy(string.Buffer, first, bytes);
    string.Length = static_cast<USHORT>(bytes);
    if (bytes + sizeof(WCHAR) <= string.MaximumLength) string.Buffer[bytes / sizeof(WCHAR)] = 0;
    return STATUS_SUCCESS;
}

/* Reads `count` hexadecimal digits at *at. */
bool take_hex(const WCHAR*& at, int count, ULONG& value) {
    value = 0;
    for (; count > 0; --count, ++at) {
        const int one = digit(static_cast<unsigned>(*at));
        if (one > 15) return false;
        value = value * 16 + static_cast<ULONG>(one);
    }
    return true;
}

bool take(const WCHAR*& at, WCHAR character) { return *at++ == character; }

bool read_guid(const WCHAR* at, GUID& guid) {
    ULONG part = 0;
    if (!take(at, L'{') || !take_hex(at, 8, guid.Data1) || !take(at, L'-')) return false;
    if (!take_hex(at, 4, part) || !take(at, L'-')) return false;
    guid.Data2 = static_cast<USHORT>(part);
    if (!take_hex(at, 4, part) || !take(at, L'-')) return false;
    guid.Data3 = static_cast<USHORT>(part);
    for (int i = 0; i < 8; ++i) {
        if (i == 2 && !take(at, L'-')) return false;
        if (!take_hex(at, 2, part)) return false;
        guid.Data4[i] = static_cast<UCHAR>(part);
    }
    return take(at, L'}');
}

} // namespace

extern "C" {

NTSTATUS RtlUnicodeStringToInteger(PCUNICODE_STRING String, ULONG Base, PULONG Value) noexcept {
    VERIFY_IRQL(RtlUnicodeStringToInteger);
    ULONGLONG value = 0;
    const NTSTATUS status =
        read<WCHAR>(String->Buffer, String->Buffer + String->Length / sizeof(WCHAR), Base, value);
    if (NT_SUCCESS(status)) *Value = static_cast<ULONG>(value);
    return status;
}

NTSTATUS RtlUnicodeStringToInt64(PCUNICODE_STRING String, ULONG Base, PLONG64 Number,
                                 PWSTR* EndPointer) noexcept {
    ULONGLONG value = 0;
    const WCHAR* stopped = String->Buffer;
    const NTSTATUS status = read<WCHAR>(
        String->Buffer, String->Buffer + String->Length / sizeof(WCHAR), Base, value, &stopped);
    if (NT_SUCCESS(status)) *Number = static_cast<LONG64>(value);
    if (EndPointer != nullptr) *EndPointer = const_cast<PWSTR>(stopped);
    return status;
}

NTSTATUS RtlCharToInteger(PCSZ String, ULONG Base, PULONG Value) noexcept {
    VERIFY_IRQL(RtlCharToInteger);
    ULONGLONG value = 0;
    const NTSTATUS status = read<char>(String, String + strlen(String), Base, value);
    if (NT_SUCCESS(status)) *Value = static_cast<ULONG>(value);
    return status;
}

NTSTATUS RtlIntegerToUnicodeString(ULONG Value, ULONG Base, PUNICODE_STRING String) noexcept {
    VERIFY_IRQL(RtlIntegerToUnicodeString);
    return write(Value, Base, *String);
}

NTSTATUS RtlInt64ToUnicodeString(ULONGLONG Value, ULONG Base, PUNICODE_STRING String) noexcept {
    VERIFY_IRQL(RtlInt64ToUnicodeString);
    return write(Value, Base, *String);
}

unsigned long IrpverbsWideToNumber(PCWSTR Text, PWSTR* End, int Base) noexcept {
    ULONGLONG value = 0;
    const WCHAR* stopped = Text;
    read<WCHAR>(Text, Text + IrpverbsWideLength(Text), static_cast<ULONG>(Base), value, &stopped);
    if (End != nullptr) *End = const_cast<PWSTR>(stopped);
    return value;
}

NTSTATUS RtlStringFromGUID(const GUID* Guid, PUNICODE_STRING GuidString) {
    VERIFY_IRQL(RtlStringFromGUID);
    std::array<char, 40> bytes;
    const int length = snprintf(
        bytes.data(), bytes.size(), "{%08X-%04X-%04X-%02X%02X-%02X%02X%02X%02X%02X%02X}",
        Guid->Data1, Guid->Data2, Guid->Data3, Guid->Data4[0], Guid->Data4[1], Guid->Data4[2],
        Guid->Data4[3], Guid->Data4[4], Guid->Data4[5], Guid->Data4[6], Guid->Data4[7]);
    ANSI_STRING text = {static_cast<USHORT>(length), static_cast<USHORT>(length), bytes.data()};
    return RtlAnsiStringToUnicodeString(GuidString, &text, TRUE);
}

NTSTATUS RtlGUIDFromString(PCUNICODE_STRING GuidString, GUID* Guid) noexcept {
    VERIFY_IRQL(RtlGUIDFromString);
    constexpr USHORT length = 38;
    GUID guid;
    if (GuidString->Length != length * sizeof(WCHAR) || !read_guid(GuidString->Buffer, guid))
        return STATUS_INVALID_PARAMETER;
    *Guid = guid;
    return STATUS_SUCCESS;
}

} // extern "C"
