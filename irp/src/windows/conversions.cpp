#include "standard.hpp"

#include "irql_rules.hpp"

#include <windows/wdk/executive.h>
#include <windows/wdk/status_codes.h>
#include <windows/wdk/strings.h>

namespace {

constexpr ULONG string_tag = 0x53747452; // "RttS"
constexpr char32_t replacement = 0xfffd;

bool high_surrogate(WCHAR c) { return c >= 0xd800 && c < 0xdc00; }
bool low_surrogate(WCHAR c) { return c >= 0xdc00 && c < 0xe000; }

void add_utf8(std::string& to, char32_t c) {
    if (c < 0x80) {
        to += static_cast<char>(c);
        return;
    }
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static constexpr unsigned lead[] = {0, 0xc0, 0xe0, 0xf0};
    to += static_cast<char>(lead[more] | (c >> (6 * more)));
    for (int shift = 6 * (more - 1); shift >= 0; shift -= 6)
        to += static_cast<char>(0x80 | ((c >> shift) & 0x3f));
}

std::string to_utf8(const WCHAR* text, SIZE_T count) {
    std::string result;
    for (SIZE_T i = 0; i < count; ++i) {
        char32_t c = static_cast<char32_t>(text[i]);
        if (high_surrogate(text[i]) && i + 1 < count && low_surrogate(text[i + 1]))
            c = 0x10000 + ((c - 0xd800) << 10) + (static_cast<char32_t>(text[++i]) - 0xdc00);
        else if (c >= 0xd800 && c < 0xe000)
            c = replacement;
        add_utf8(result, c);
    }
    return result;
}

/* The next character of UTF-8; what is no UTF-8 becomes the replacement character, byte by byte. */
char32_t take_utf8(const char*& at, const char* end) {
    const auto first = static_cast<UCHAR>(*at++);
    if (first < 0x80) return first;
    const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc2 ? 1 : 0;
    if (more == 0 || first > 0xf4 || end - at < more) return replacement;
    char32_t c = first & (0x3fu >> more);
    for (int i = 0; i < more; ++i) {
        if ((static_cast<UCHAR>(at[i]) & 0xc0) != 0x80) return replacement;
        c = (c << 6) | (static_cast<UCHAR>(at[i]) & 0x3f);
    }
    static constexpr char32_t least[] = {0, 0x80, 0x800, 0x10000};
    if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return replacement;
    at += more;
    return c;
}

std::u16string to_utf16(const char* text, SIZE_T size) {
    std::u16string result;
    for (const char* end = text + size; text != end;) {
        const char32_t c = take_utf8(text, end);
        if (c < 0x10000) {
            result += static_cast<char16_t>(c);
            continue;
        }
        result += static_cast<char16_t>(0xd800 + ((c - 0x10000) >> 10));
        result += static_cast<char16_t>(0xdc00 + ((c - 0x10000) & 0x3ff));
    }
    return result;
}

/* Puts text into a counted string, whose length and terminator are in units of Unit. */
template <typename String, typename Text>
NTSTATUS put(String& to, const Text& text, bool allocate, bool terminated = true) {
    constexpr SIZE_T unit = sizeof(text[0]);
    const SIZE_T length = text.size() * unit;
    const SIZE_T size = length + (terminated ? unit : 0);
    if (size > UNICODE_STRING_MAX_BYTES) return STATUS_INVALID_PARAMETER_2;
    if (allocate) {
        to.Buffer = static_cast<decltype(to.Buffer)>(
            ExAllocatePoolWithTag(PagedPool, std::max<SIZE_T>(size, 1), string_tag));
        if (to.Buffer == nullptr) return STATUS_NO_MEMORY;
        to.MaximumLength = static_cast<USHORT>(size);
    }
    if (size > to.MaximumLength) return STATUS_BUFFER_OVERFLOW;
    memcpy(to.Buffer, text.data(), length);
    if (terminated) to.Buffer[text.size()] = 0;
    to.Length = static_cast<USHORT>(length);
    return STATUS_SUCCESS;
}

template <typename Text>
NTSTATUS put_part(void* to, ULONG maximum, PULONG written, const Text& text) {
    constexpr SIZE_T unit = sizeof(text[0]);
    const SIZE_T bytes = std::min<SIZE_T>(text.size() * unit, maximum / unit * unit);
    memcpy(to, text.data(), bytes);
    if (written != nullptr) *written = static_cast<ULONG>(bytes);
    return bytes == text.size() * unit ? STATUS_SUCCESS : STATUS_BUFFER_OVERFLOW;
}

std::string upper_utf8(const WCHAR* text, SIZE_T count) {
    std::basic_string<WCHAR> result(text, count);
    for (WCHAR& c : result)
        c = RtlUpcaseUnicodeChar(c);
    return to_utf8(result.data(), count);
}

std::string bytes_of(PCUNICODE_STRING string) {
    return to_utf8(string->Buffer, string->Length / sizeof(WCHAR));
}

} // namespace

extern "C" {

WCHAR RtlUpcaseUnicodeChar(WCHAR SourceCharacter) noexcept {
    const unsigned c = static_cast<unsigned>(SourceCharacter);
    if (c < 'a') return SourceCharacter;
    if (c <= 'z') return static_cast<WCHAR>(c - 'a' + 'A');
    if (c < 0xe0 || c == 0xf7) return SourceCharacter;
    if (c < 0xff) return static_cast<WCHAR>(c - 0x20);
    if (c == 0xff) return static_cast<WCHAR>(0x178);
    if (c >= 0x3b1 && c <= 0x3c9 && c != 0x3c2) return static_cast<WCHAR>(c - 0x20);
    if (c >= 0x430 && c <= 0x44f) return static_cast<WCHAR>(c - 0x20);
    if (c >= 0x450 && c <= 0x45f) return static_cast<WCHAR>(c - 0x50);
    const bool odd_is_lower = (c >= 0x100 && c < 0x130) || (c >= 0x132 && c < 0x138) ||
                              (c >= 0x14a && c < 0x178) || (c >= 0x460 && c < 0x482) ||
                              (c >= 0x1e00 && c < 0x1e96);
    if (odd_is_lower && c % 2 == 1) return static_cast<WCHAR>(c - 1);
    const bool even_is_lower = (c >= 0x139 && c < 0x149) || (c >= 0x179 && c < 0x17f);
    if (even_is_lower && c % 2 == 0) return static_cast<WCHAR>(c - 1);
    return SourceCharacter;
}

WCHAR RtlDowncaseUnicodeChar(WCHAR SourceCharacter) noexcept {
    const unsigned c = static_cast<unsigned>(SourceCharacter);
    for (const unsigned lower : {c + 0x20, c + 1, c + 0x50})
        if (lower < 0x10000 && RtlUpcaseUnicodeChar(static_cast<WCHAR>(lower)) == SourceCharacter &&
            lower != c)
            return static_cast<WCHAR>(lower);
    return c == 0x178 ? static_cast<WCHAR>(0xff) : SourceCharacter;
}

NTSTATUS RtlAnsiStringToUnicodeString(PUNICODE_STRING Destination, PCANSI_STRING Source,
                                      BOOLEAN AllocateDestinationString) {
    VERIFY_IRQL(RtlAnsiStringToUnicodeString);
    return put(*Destination, to_utf16(Source->Buffer, Source->Length), AllocateDestinationString);
}
NTSTATUS RtlUTF8StringToUnicodeString(PUNICODE_STRING Destination, PUTF8_STRING Source,
                                      BOOLEAN AllocateDestinationString) {
    return RtlAnsiStringToUnicodeString(Destination, Source, AllocateDestinationString);
}
NTSTATUS RtlUnicodeStringToAnsiString(PANSI_STRING Destination, PCUNICODE_STRING Source,
                                      BOOLEAN AllocateDestinationString) {
    VERIFY_IRQL(RtlUnicodeStringToAnsiString);
    return put(*Destination, bytes_of(Source), AllocateDestinationString);
}
NTSTATUS RtlUnicodeStringToUTF8String(PUTF8_STRING Destination, PCUNICODE_STRING Source,
                                      BOOLEAN AllocateDestinationString) {
    return RtlUnicodeStringToAnsiString(Destination, Source, AllocateDestinationString);
}
NTSTATUS RtlUnicodeStringToCountedOemString(POEM_STRING Destination, PCUNICODE_STRING Source,
                                            BOOLEAN AllocateDestinationString) {
    return put(*Destination, bytes_of(Source), AllocateDestinationString, false);
}
NTSTATUS RtlUpcaseUnicodeStringToOemString(POEM_STRING Destination, PCUNICODE_STRING Source,
                                           BOOLEAN AllocateDestinationString) {
    return put(*Destination, upper_utf8(Source->Buffer, Source->Length / sizeof(WCHAR)),
               AllocateDestinationString);
}
NTSTATUS RtlUpcaseUnicodeStringToCountedOemString(POEM_STRING Destination, PCUNICODE_STRING Source,
                                                  BOOLEAN AllocateDestinationString) {
    return put(*Destination, upper_utf8(Source->Buffer, Source->Length / sizeof(WCHAR)),
               AllocateDestinationString, false);
}

NTSTATUS RtlMultiByteToUnicodeN(PWCH Destination, ULONG MaximumBytes, PULONG ResultBytes,
                                const CHAR* Source, ULONG SourceBytes) {
    put_part(Destination, MaximumBytes, ResultBytes, to_utf16(Source, SourceBytes));
    return STATUS_SUCCESS;
}
NTSTATUS RtlUnicodeToMultiByteN(PCHAR Destination, ULONG MaximumBytes, PULONG ResultBytes,
                                PCWCH Source, ULONG SourceBytes) {
    put_part(Destination, MaximumBytes, ResultBytes, to_utf8(Source, SourceBytes / sizeof(WCHAR)));
    return STATUS_SUCCESS;
}
NTSTATUS RtlUpcaseUnicodeToOemN(PCHAR Destination, ULONG MaximumBytes, PULONG ResultBytes,
                                PCWCH Source, ULONG SourceBytes) {
    return put_part(Destination, MaximumBytes, ResultBytes,
                    upper_utf8(Source, SourceBytes / sizeof(WCHAR)));
}
NTSTATUS RtlUnicodeToUTF8N(PCHAR Destination, ULONG MaximumBytes, PULONG ResultBytes, PCWCH Source,
                           ULONG SourceBytes) {
    VERIFY_IRQL(RtlUnicodeToUTF8N);
    return put_part(Destination, MaximumBytes, ResultBytes,
                    to_utf8(Source, SourceBytes / sizeof(WCHAR)));
}
NTSTATUS RtlUTF8ToUnicodeN(PWSTR Destination, ULONG MaximumBytes, PULONG ResultBytes, PCCH Source,
                           ULONG SourceBytes) {
    VERIFY_IRQL(RtlUTF8ToUnicodeN);
    return put_part(Destination, MaximumBytes, ResultBytes, to_utf16(Source, SourceBytes));
}
NTSTATUS RtlMultiByteToUnicodeSize(PULONG Bytes, const CHAR* Source, ULONG SourceBytes) {
    *Bytes = static_cast<ULONG>(to_utf16(Source, SourceBytes).size() * sizeof(WCHAR));
    return STATUS_SUCCESS;
}
NTSTATUS RtlUnicodeToMultiByteSize(PULONG Bytes, PCWCH Source, ULONG SourceBytes) {
    *Bytes = static_cast<ULONG>(to_utf8(Source, SourceBytes / sizeof(WCHAR)).size());
    return STATUS_SUCCESS;
}
ULONG RtlxAnsiStringToUnicodeSize(PCANSI_STRING String) {
    return static_cast<ULONG>((to_utf16(String->Buffer, String->Length).size() + 1) *
                              sizeof(WCHAR));
}
ULONG RtlAnsiStringToUnicodeSize(PCANSI_STRING String) {
    return RtlxAnsiStringToUnicodeSize(String);
}
ULONG RtlxUnicodeStringToAnsiSize(PCUNICODE_STRING String) {
    return static_cast<ULONG>(bytes_of(String).size() + 1);
}

} // extern "C"
