// ntstrsafe.h's functions for texts that end with a zero.
#include "standard.hpp"

#include "format.hpp"
#include "irql_rules.hpp"

#include <windows/wdk/safe_strings.h>
#include <windows/wdk/wide_text.h>

#include <cstring>

using irpverbs::irp::windows::formatted;
using irpverbs::irp::windows::wide_formatted;

namespace {

constexpr ULONG known_flags = STRSAFE_IGNORE_NULLS | STRSAFE_FILL_BEHIND_NULL |
                              STRSAFE_FILL_ON_FAILURE | STRSAFE_NULL_ON_FAILURE |
                              STRSAFE_NO_TRUNCATION | 0xff;
constexpr SIZE_T all = NTSTRSAFE_MAX_CCH;

SIZE_T length_within(const WCHAR* text, SIZE_T maximum) {
    return IrpverbsWideLengthWithin(text, maximum);
}
SIZE_T length_within(const char* text, SIZE_T maximum) { return strnlen(text, maximum); }

/// Text of `count` characters; from == NULL: the caller gave none.
template <typename Character>
struct source {
    const Character* from;
    SIZE_T count;

    static source of(const Character* text, SIZE_T maximum) {
        return {text, text == nullptr ? 0 : length_within(text, maximum)};
    }
};

/// The destination of one call.
template <typename Character>
struct destination {
    Character* to;
    SIZE_T size; // characters
    SIZE_T unit; // what sizes of the call count: bytes each
    SIZE_T bytes;
    ULONG flags = 0;
    SIZE_T used = 0; // characters in front of the zero

    destination(Character* text, SIZE_T length, SIZE_T each, ULONG wanted = 0)
        : to(text), size(length / (sizeof(Character) / each)), unit(each), bytes(length * each),
          flags(wanted) {}

    bool ignores_nulls() const { return (flags & STRSAFE_IGNORE_NULLS) != 0; }
    bool is_valid() const {
        if (ignores_nulls() && size == 0) return true;
        return to != nullptr && size != 0 && size <= NTSTRSAFE_MAX_CCH;
    }
    void end_at(SIZE_T length) {
        used = length;
        if (size != 0) to[length] = 0;
    }
    void fill(SIZE_T from) {
        memset(to + from, static_cast<UCHAR>(flags), bytes - from * sizeof(Character));
    }

    NTSTATUS store(SIZE_T kept, const source<Character>& text) {
        if (size == 0 && text.count != 0)
            return to != nullptr ? STATUS_BUFFER_OVERFLOW : STATUS_INVALID_PARAMETER;
        if (size == 0) return STATUS_SUCCESS;
        const SIZE_T copied = std::min(text.count, size - kept - 1);
        if (copied != 0) std::copy_n(text.from, copied, to + kept);
        end_at(kept + copied);
        return copied == text.count ? STATUS_SUCCESS : STATUS_BUFFER_OVERFLOW;
    }

    /// The flags decide about a destination whose call failed.
    void after_failure(SIZE_T kept) {
        if ((flags & STRSAFE_FILL_ON_FAILURE) != 0) {
            fill(0);
            end_at((flags & 0xff) == 0 ? 0 : size - 1);
        }
        if ((flags & STRSAFE_NO_TRUNCATION) != 0) end_at(kept);
        if ((flags & STRSAFE_NULL_ON_FAILURE) != 0) end_at(0);
    }

    NTSTATUS put(bool append, const source<Character>& text, Character** where, SIZE_T* left) {
        if ((flags & ~known_flags) != 0 || !is_valid()) return STATUS_INVALID_PARAMETER;
        const SIZE_T kept = append && size != 0 ? length_within(to, size) : 0;
        if (size != 0 && kept == size) return STATUS_INVALID_PARAMETER;
        NTSTATUS status = STATUS_INVALID_PARAMETER;
        if (text.from != nullptr || ignores_nulls())
            status = store(kept, text);
        else
            end_at(kept);
        if (size != 0 && status != STATUS_SUCCESS) after_failure(kept);
        if (size != 0 && status == STATUS_SUCCESS && (flags & STRSAFE_FILL_BEHIND_NULL) != 0)
            fill(used + 1);
        if (status == STATUS_INVALID_PARAMETER) return status;
        if (where != nullptr) *where = to + used;
        if (left != nullptr) *left = (bytes - used * sizeof(Character)) / unit;
        return status;
    }
};

template <typename Character>
NTSTATUS put(bool append, destination<Character> into, const Character* from, SIZE_T maximum,
             Character** end = nullptr, SIZE_T* left = nullptr) {
    if (maximum > all) return STATUS_INVALID_PARAMETER;
    return into.put(append, source<Character>::of(from, maximum), end, left);
}

NTSTATUS put_formatted(destination<char> into, const char* format, va_list arguments,
                       char** end = nullptr, SIZE_T* left = nullptr) {
    const std::string text =
        format == nullptr ? std::string() : formatted(format, false, arguments);
    return into.put(false, {format == nullptr ? nullptr : text.data(), text.size()}, end, left);
}
NTSTATUS put_formatted(destination<WCHAR> into, const WCHAR* format, va_list arguments,
                       WCHAR** end = nullptr, SIZE_T* left = nullptr) {
    VERIFY_IRQL(RtlStringCbPrintfW);
    std::vector<WCHAR> text{0};
    if (format != nullptr) text = wide_formatted(format, arguments);
    return into.put(
        false, {format == nullptr ? nullptr : text.data(), format == nullptr ? 0 : text.size()},
        end, left);
}

template <typename Character>
NTSTATUS length_of(const Character* text, SIZE_T maximum, SIZE_T unit, SIZE_T* length) {
    const SIZE_T characters = maximum / (sizeof(Character) / unit);
    const SIZE_T found =
        text == nullptr || characters > all ? characters : length_within(text, characters);
    const bool ended = found < characters;
    if (length != nullptr) *length = ended ? found * (sizeof(Character) / unit) : 0;
    return ended ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

NTSTATUS put_counted(destination<WCHAR> into, PCUNICODE_STRING from, WCHAR** end = nullptr,
                     SIZE_T* left = nullptr) {
    if (from != nullptr && !NT_SUCCESS(RtlUnicodeStringValidate(from)))
        return STATUS_INVALID_PARAMETER;
    source<WCHAR> text{nullptr, 0};
    if (from != nullptr)
        text = {from->Buffer != nullptr ? from->Buffer : L"", from->Length / sizeof(WCHAR)};
    return into.put(false, text, end, left);
}

} // namespace

// Unit: bytes that a size of the function counts, Character's or one.
#define IRPVERBS_SAFE_TEXT(Cch, W, Character, Unit)                                                \
    NTSTATUS RtlString##Cch##Copy##W(Character* To, size_t Size,                                   \
                                     const Character* Source) noexcept {                           \
        return put<Character>(false, {To, Size, Unit}, Source, all);                               \
    }                                                                                              \
    NTSTATUS RtlString##Cch##CopyN##W(Character* To, size_t Size, const Character* Source,         \
                                      size_t Maximum) noexcept {                                   \
        return put<Character>(false, {To, Size, Unit}, Source,                                     \
                              Maximum / (sizeof(Character) / (Unit)));                             \
    }                                                                                              \
    NTSTATUS RtlString##Cch##CopyEx##W(Character* To, size_t Size, const Character* Source,        \
                                       Character** End, size_t* Left, ULONG Flags) noexcept {      \
        return put<Character>(false, {To, Size, Unit, Flags}, Source, all, End, Left);             \
    }                                                                                              \
    NTSTATUS RtlString##Cch##CopyNEx##W(Character* To, size_t Size, const Character* Source,       \
                                        size_t Maximum, Character** End, size_t* Left,             \
                                        ULONG Flags) noexcept {                                    \
        return put<Character>(false, {To, Size, Unit, Flags}, Source,                              \
                              Maximum / (sizeof(Character) / (Unit)), End, Left);                  \
    }                                                                                              \
    NTSTATUS RtlString##Cch##Cat##W(Character* To, size_t Size,                                    \
                                    const Character* Source) noexcept {                            \
        return put<Character>(true, {To, Size, Unit}, Source, all);                                \
    }                                                                                              \
    NTSTATUS RtlString##Cch##CatN##W(Character* To, size_t Size, const Character* Source,          \
                                     size_t Maximum) noexcept {                                    \
        return put<Character>(true, {To, Size, Unit}, Source,                                      \
                              Maximum / (sizeof(Character) / (Unit)));                             \
    }                                                                                              \
    NTSTATUS RtlString##Cch##CatEx##W(Character* To, size_t Size, const Character* Source,         \
                                      Character** End, size_t* Left, ULONG Flags) noexcept {       \
        return put<Character>(true, {To, Size, Unit, Flags}, Source, all, End, Left);              \
    }                                                                                              \
    NTSTATUS RtlString##Cch##CatNEx##W(Character* To, size_t Size, const Character* Source,        \
                                       size_t Maximum, Character** End, size_t* Left,              \
                                       ULONG Flags) noexcept {                                     \
        return put<Character>(true, {To, Size, Unit, Flags}, Source,                               \
                              Maximum / (sizeof(Character) / (Unit)), End, Left);                  \
    }                                                                                              \
    NTSTATUS RtlString##Cch##VPrintf##W(Character* To, size_t Size, const Character* Format,       \
                                        va_list Arguments) {                                       \
        return put_formatted({To, Size, Unit}, Format, Arguments);                                 \
    }                                                                                              \
    NTSTATUS RtlString##Cch##VPrintfEx##W(Character* To, size_t Size, Character** End,             \
                                          size_t* Left, ULONG Flags, const Character* Format,      \
                                          va_list Arguments) {                                     \
        return put_formatted({To, Size, Unit, Flags}, Format, Arguments, End, Left);               \
    }                                                                                              \
    NTSTATUS RtlString##Cch##Printf##W(Character* To, size_t Size, const Character* Format, ...) { \
        va_list arguments;                                                                         \
        va_start(arguments, Format);                                                               \
        const NTSTATUS status = put_formatted({To, Size, Unit}, Format, arguments);                \
        va_end(arguments);                                                                         \
        return status;                                                                             \
    }                                                                                              \
    NTSTATUS RtlString##Cch##PrintfEx##W(Character* To, size_t Size, Character** End,              \
                                         size_t* Left, ULONG Flags, const Character* Format,       \
                                         ...) {                                                    \
        va_list arguments;                                                                         \
        va_start(arguments, Format);                                                               \
        const NTSTATUS status =                                                                    \
            put_formatted({To, Size, Unit, Flags}, Format, arguments, End, Left);                  \
        va_end(arguments);                                                                         \
        return status;                                                                             \
    }                                                                                              \
    NTSTATUS RtlString##Cch##Length##W(const Character* Text, size_t Maximum,                      \
                                       size_t* Length) noexcept {                                  \
        return length_of(Text, Maximum, Unit, Length);                                             \
    }

extern "C" {

IRPVERBS_SAFE_TEXT(Cch, A, char, sizeof(char))
IRPVERBS_SAFE_TEXT(Cb, A, char, sizeof(char))
IRPVERBS_SAFE_TEXT(Cch, W, WCHAR, sizeof(WCHAR))
IRPVERBS_SAFE_TEXT(Cb, W, WCHAR, 1)

NTSTATUS RtlStringCchCopyUnicodeString(WCHAR* To, size_t Size, PCUNICODE_STRING Source) noexcept {
    return put_counted({To, Size, sizeof(WCHAR)}, Source);
}
NTSTATUS RtlStringCbCopyUnicodeString(WCHAR* To, size_t Size, PCUNICODE_STRING Source) noexcept {
    return put_counted({To, Size, 1}, Source);
}
NTSTATUS RtlStringCchCopyUnicodeStringEx(WCHAR* To, size_t Size, PCUNICODE_STRING Source,
                                         WCHAR** End, size_t* Left, ULONG Flags) noexcept {
    return put_counted({To, Size, sizeof(WCHAR), Flags}, Source, End, Left);
}
NTSTATUS RtlStringCbCopyUnicodeStringEx(WCHAR* To, size_t Size, PCUNICODE_STRING Source,
                                        WCHAR** End, size_t* Left, ULONG Flags) noexcept {
    return put_counted({To, Size, 1, Flags}, Source, End, Left);
}

} // extern "C"
