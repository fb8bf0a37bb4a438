/* Counted strings: UNICODE_STRING (UTF-16) and STRING (bytes; converted as UTF-8, where Windows
   takes the code page of the system). Upper case is simple case mapping of single characters.
   Source: WDK wdm.h and ntifs.h reference, "Run-time library". */
#ifndef IRPVERBS_WINDOWS_STRINGS_H
#define IRPVERBS_WINDOWS_STRINGS_H

#include <windows/wdk/memory.h>

#define RTL_CONSTANT_STRING(text)                                                                  \
    { sizeof(text) - sizeof((text)[0]), sizeof(text), IRPVERBS_TEXT_POINTER(text) }
#ifdef __cplusplus
#define IRPVERBS_TEXT_POINTER(text)                                                                \
    const_cast<std::remove_const_t<std::remove_reference_t<decltype((text)[0])>>*>(text)
extern "C++" { /* a source may include the headers inside extern "C" */
#include <type_traits>
}
#else
#define IRPVERBS_TEXT_POINTER(text) (text)
#endif
#define DECLARE_CONST_UNICODE_STRING(variable, text)                                               \
    const WCHAR variable##_buffer[] = text;                                                        \
    const UNICODE_STRING variable = {sizeof(text) - sizeof(WCHAR), sizeof(text),                   \
                                     (PWCH)variable##_buffer}
#define DECLARE_GLOBAL_CONST_UNICODE_STRING(variable, text)                                        \
    static const WCHAR variable##_buffer[] = text;                                                 \
    static const UNICODE_STRING variable = {sizeof(text) - sizeof(WCHAR), sizeof(text),            \
                                            (PWCH)variable##_buffer}
#define DECLARE_UNICODE_STRING_SIZE(variable, characters)                                          \
    WCHAR variable##_buffer[characters];                                                           \
    UNICODE_STRING variable = {0, (characters) * sizeof(WCHAR), variable##_buffer}
#define DECLARE_STRING_SIZE(variable, characters)                                                  \
    CHAR variable##_buffer[characters];                                                            \
    STRING variable = {0, (characters), variable##_buffer}
#define RtlInitEmptyUnicodeString(string, buffer, size)                                            \
    ((string)->Buffer = (buffer), (string)->MaximumLength = (USHORT)(size), (string)->Length = 0)
#define RtlInitEmptyAnsiString RtlInitEmptyUnicodeString
#define RTL_DECLARE_FULL_PATH 1
#define HASH_STRING_ALGORITHM_DEFAULT 0
#define HASH_STRING_ALGORITHM_X65599 1
#define HASH_STRING_ALGORITHM_INVALID 0xffffffff
#define __TEXT(text) L##text
#define TEXT(text) __TEXT(text)
#define _T(text) __TEXT(text)

NT_EXTERN_C_BEGIN

/* Let a counted string describe a text that ends with a zero; the text is not copied. A text that
   is too long for the length is cut (Init) or refused with STATUS_NAME_TOO_LONG (InitEx). IRQL: any
   for non-paged text. Source: WDK RtlInitUnicodeString(Ex), RtlInitAnsiString. */
NT_API void RtlInitUnicodeString(PUNICODE_STRING Destination, PCWSTR Source) NT_NOEXCEPT;
NT_API NTSTATUS RtlInitUnicodeStringEx(PUNICODE_STRING Destination, PCWSTR Source) NT_NOEXCEPT;
NT_API void RtlInitAnsiString(PANSI_STRING Destination, PCSZ Source) NT_NOEXCEPT;
NT_API NTSTATUS RtlInitAnsiStringEx(PANSI_STRING Destination, PCSZ Source) NT_NOEXCEPT;
NT_API void RtlInitString(PSTRING Destination, PCSZ Source) NT_NOEXCEPT;
NT_API NTSTATUS RtlInitStringEx(PSTRING Destination, PCSZ Source) NT_NOEXCEPT;
NT_API void RtlInitUTF8String(PUTF8_STRING Destination, PCSZ Source) NT_NOEXCEPT;

/* Copy as much as fits; a zero follows where there is room. Source NULL: the destination becomes
   empty. IRQL: any for non-paged text. Source: WDK RtlCopyUnicodeString, RtlCopyString. */
NT_API void RtlCopyUnicodeString(PUNICODE_STRING Destination, PCUNICODE_STRING Source) NT_NOEXCEPT;
NT_API void RtlCopyString(PSTRING Destination, const STRING* Source) NT_NOEXCEPT;

/* Append; STATUS_SUCCESS, or STATUS_BUFFER_TOO_SMALL, and the destination is unchanged. IRQL: any
   for non-paged text. Source: WDK RtlAppendUnicodeStringToString, RtlAppendUnicodeToString. */
NT_API NTSTATUS RtlAppendUnicodeStringToString(PUNICODE_STRING Destination,
                                               PCUNICODE_STRING Source) NT_NOEXCEPT;
NT_API NTSTATUS RtlAppendUnicodeToString(PUNICODE_STRING Destination, PCWSTR Source) NT_NOEXCEPT;
NT_API NTSTATUS RtlAppendStringToString(PSTRING Destination, const STRING* Source) NT_NOEXCEPT;
NT_API NTSTATUS RtlAppendAsciizToString(PSTRING Destination, PCSZ Source) NT_NOEXCEPT;

/* Compare: less, equal or greater than 0; equality; whether String1 begins String2. IRQL:
   PASSIVE_LEVEL. Source: WDK RtlCompareUnicodeString, RtlEqualUnicodeString,
   RtlPrefixUnicodeString. */
NT_API LONG RtlCompareUnicodeString(PCUNICODE_STRING String1, PCUNICODE_STRING String2,
                                    BOOLEAN CaseInSensitive) NT_NOEXCEPT;
NT_API LONG RtlCompareUnicodeStrings(PCWCH String1, SIZE_T String1Length, PCWCH String2,
                                     SIZE_T String2Length, BOOLEAN CaseInSensitive) NT_NOEXCEPT;
NT_API BOOLEAN RtlEqualUnicodeString(PCUNICODE_STRING String1, PCUNICODE_STRING String2,
                                     BOOLEAN CaseInSensitive) NT_NOEXCEPT;
NT_API BOOLEAN RtlPrefixUnicodeString(PCUNICODE_STRING String1, PCUNICODE_STRING String2,
                                      BOOLEAN CaseInSensitive) NT_NOEXCEPT;
NT_API BOOLEAN RtlSuffixUnicodeString(PCUNICODE_STRING String1, PCUNICODE_STRING String2,
                                      BOOLEAN CaseInSensitive) NT_NOEXCEPT;
NT_API LONG RtlCompareString(const STRING* String1, const STRING* String2,
                             BOOLEAN CaseInSensitive) NT_NOEXCEPT;
NT_API BOOLEAN RtlEqualString(const STRING* String1, const STRING* String2,
                              BOOLEAN CaseInSensitive) NT_NOEXCEPT;
NT_API BOOLEAN RtlPrefixString(const STRING* String1, const STRING* String2,
                               BOOLEAN CaseInSensitive) NT_NOEXCEPT;
NT_API NTSTATUS RtlHashUnicodeString(PCUNICODE_STRING String, BOOLEAN CaseInSensitive,
                                     ULONG HashAlgorithm, PULONG HashValue) NT_NOEXCEPT;

/* Change the case. IRQL: PASSIVE_LEVEL. Source: WDK RtlUpcaseUnicodeChar, RtlUpperString. */
NT_API WCHAR RtlUpcaseUnicodeChar(WCHAR SourceCharacter) NT_NOEXCEPT;
NT_API WCHAR RtlDowncaseUnicodeChar(WCHAR SourceCharacter) NT_NOEXCEPT;
NT_API CHAR RtlUpperChar(CHAR Character) NT_NOEXCEPT;
NT_API void RtlUpperString(PSTRING Destination, const STRING* Source) NT_NOEXCEPT;

/* Convert between the two kinds of strings, or to upper case. AllocateDestinationString: the
   destination's buffer is allocated with a terminator, and RtlFreeUnicodeString or
   RtlFreeAnsiString frees it. STATUS_SUCCESS; STATUS_BUFFER_OVERFLOW when the destination is too
   small; STATUS_NO_MEMORY. IRQL: PASSIVE_LEVEL. Source: WDK RtlAnsiStringToUnicodeString and so on.
 */
NT_API NTSTATUS RtlAnsiStringToUnicodeString(PUNICODE_STRING Destination, PCANSI_STRING Source,
                                             BOOLEAN AllocateDestinationString);
NT_API NTSTATUS RtlUnicodeStringToAnsiString(PANSI_STRING Destination, PCUNICODE_STRING Source,
                                             BOOLEAN AllocateDestinationString);
NT_API NTSTATUS RtlUpcaseUnicodeString(PUNICODE_STRING Destination, PCUNICODE_STRING Source,
                                       BOOLEAN AllocateDestinationString);
NT_API NTSTATUS RtlDowncaseUnicodeString(PUNICODE_STRING Destination, PCUNICODE_STRING Source,
                                         BOOLEAN AllocateDestinationString);
NT_API NTSTATUS RtlUpcaseUnicodeStringToOemString(POEM_STRING Destination, PCUNICODE_STRING Source,
                                                  BOOLEAN AllocateDestinationString);
NT_API NTSTATUS RtlUpcaseUnicodeStringToCountedOemString(POEM_STRING Destination,
                                                         PCUNICODE_STRING Source,
                                                         BOOLEAN AllocateDestinationString);
NT_API NTSTATUS RtlUnicodeStringToCountedOemString(POEM_STRING Destination, PCUNICODE_STRING Source,
                                                   BOOLEAN AllocateDestinationString);
NT_API NTSTATUS RtlUnicodeStringToUTF8String(PUTF8_STRING Destination, PCUNICODE_STRING Source,
                                             BOOLEAN AllocateDestinationString);
NT_API NTSTATUS RtlUTF8StringToUnicodeString(PUNICODE_STRING Destination, PUTF8_STRING Source,
                                             BOOLEAN AllocateDestinationString);
#define RtlOemStringToUnicodeString RtlAnsiStringToUnicodeString
#define RtlOemStringToCountedUnicodeString RtlAnsiStringToUnicodeString
#define RtlUnicodeStringToOemString RtlUnicodeStringToAnsiString
NT_API NTSTATUS RtlMultiByteToUnicodeN(PWCH Destination, ULONG MaximumBytes, PULONG ResultBytes,
                                       const CHAR* Source, ULONG SourceBytes);
NT_API NTSTATUS RtlUnicodeToMultiByteN(PCHAR Destination, ULONG MaximumBytes, PULONG ResultBytes,
                                       PCWCH Source, ULONG SourceBytes);
NT_API NTSTATUS RtlUpcaseUnicodeToOemN(PCHAR Destination, ULONG MaximumBytes, PULONG ResultBytes,
                                       PCWCH Source, ULONG SourceBytes);
NT_API NTSTATUS RtlMultiByteToUnicodeSize(PULONG Bytes, const CHAR* Source, ULONG SourceBytes);
NT_API NTSTATUS RtlUnicodeToMultiByteSize(PULONG Bytes, PCWCH Source, ULONG SourceBytes);
NT_API NTSTATUS RtlUnicodeToUTF8N(PCHAR Destination, ULONG MaximumBytes, PULONG ResultBytes,
                                  PCWCH Source, ULONG SourceBytes);
NT_API NTSTATUS RtlUTF8ToUnicodeN(PWSTR Destination, ULONG MaximumBytes, PULONG ResultBytes,
                                  PCCH Source, ULONG SourceBytes);
#define RtlOemToUnicodeN RtlMultiByteToUnicodeN
#define RtlUnicodeToOemN RtlUnicodeToMultiByteN
NT_API ULONG RtlAnsiStringToUnicodeSize(PCANSI_STRING String);
NT_API ULONG RtlxAnsiStringToUnicodeSize(PCANSI_STRING String);
NT_API ULONG RtlxUnicodeStringToAnsiSize(PCUNICODE_STRING String);
#define RtlUnicodeStringToAnsiSize RtlxUnicodeStringToAnsiSize
#define RtlUnicodeStringToOemSize RtlxUnicodeStringToAnsiSize
#define RtlUnicodeStringToCountedOemSize(string) (RtlxUnicodeStringToAnsiSize(string) - 1)
#define RtlxUnicodeStringToOemSize RtlxUnicodeStringToAnsiSize
#define RtlOemStringToUnicodeSize RtlxAnsiStringToUnicodeSize
#define RtlxOemStringToUnicodeSize RtlxAnsiStringToUnicodeSize
#define RtlOemStringToCountedUnicodeSize(string)                                                   \
    ((ULONG)(RtlxAnsiStringToUnicodeSize(string) - sizeof(WCHAR)))

NT_API void RtlFreeUnicodeString(PUNICODE_STRING UnicodeString);
NT_API void RtlFreeAnsiString(PANSI_STRING AnsiString);
NT_API void RtlFreeUTF8String(PUTF8_STRING Utf8String);
#define RtlFreeOemString RtlFreeAnsiString

/* Duplicates a string. Flags: RTL_DUPLICATE_UNICODE_STRING_NULL_TERMINATE and
   ..._ALLOCATE_NULL_STRING. STATUS_SUCCESS; STATUS_NO_MEMORY; STATUS_INVALID_PARAMETER. IRQL:
   PASSIVE_LEVEL. */
#define RTL_DUPLICATE_UNICODE_STRING_NULL_TERMINATE 0x00000001
#define RTL_DUPLICATE_UNICODE_STRING_ALLOCATE_NULL_STRING 0x00000002
NT_API NTSTATUS RtlDuplicateUnicodeString(ULONG Flags, PCUNICODE_STRING String,
                                          PUNICODE_STRING Duplicate);
NT_API NTSTATUS RtlValidateUnicodeString(ULONG Flags, PCUNICODE_STRING String) NT_NOEXCEPT;

/* Numbers. Base 0: from the text's prefix 0x, 0o, 0b, else 10. STATUS_SUCCESS;
   STATUS_INVALID_PARAMETER; STATUS_BUFFER_OVERFLOW when the text does not fit. IRQL: PASSIVE_LEVEL.
   Source: WDK RtlUnicodeStringToInteger, RtlIntegerToUnicodeString, RtlCharToInteger. */
NT_API NTSTATUS RtlUnicodeStringToInteger(PCUNICODE_STRING String, ULONG Base,
                                          PULONG Value) NT_NOEXCEPT;
NT_API NTSTATUS RtlIntegerToUnicodeString(ULONG Value, ULONG Base,
                                          PUNICODE_STRING String) NT_NOEXCEPT;
NT_API NTSTATUS RtlInt64ToUnicodeString(ULONGLONG Value, ULONG Base,
                                        PUNICODE_STRING String) NT_NOEXCEPT;
#define RtlIntPtrToUnicodeString(value, base, string) RtlInt64ToUnicodeString(value, base, string)
NT_API NTSTATUS RtlCharToInteger(PCSZ String, ULONG Base, PULONG Value) NT_NOEXCEPT;
NT_API NTSTATUS RtlUnicodeStringToInt64(PCUNICODE_STRING String, ULONG Base, PLONG64 Number,
                                        PWSTR* EndPointer) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringFromGUID(const GUID* Guid, PUNICODE_STRING GuidString);
NT_API NTSTATUS RtlGUIDFromString(PCUNICODE_STRING GuidString, GUID* Guid) NT_NOEXCEPT;

/* TRUE when the name is a valid 8.3 name. IRQL: PASSIVE_LEVEL. Source: WDK RtlIsNameLegalDOS8Dot3.
 */
NT_API BOOLEAN RtlIsNameLegalDOS8Dot3(PUNICODE_STRING Name, POEM_STRING OemName,
                                      PBOOLEAN NameContainsSpaces);
typedef struct _GENERATE_NAME_CONTEXT {
    USHORT Checksum;
    BOOLEAN ChecksumInserted;
    UCHAR NameLength;
    WCHAR NameBuffer[8];
    ULONG ExtensionLength;
    WCHAR ExtensionBuffer[4];
    ULONG LastIndexValue;
} GENERATE_NAME_CONTEXT, *PGENERATE_NAME_CONTEXT;
NT_API NTSTATUS RtlGenerate8dot3Name(PCUNICODE_STRING Name, BOOLEAN AllowExtendedCharacters,
                                     PGENERATE_NAME_CONTEXT Context, PUNICODE_STRING Name8dot3);
NT_API BOOLEAN RtlIsValidOemCharacter(PWCHAR Char);
NT_API BOOLEAN RtlDoesNameContainWildCards(PUNICODE_STRING Expression);

NT_EXTERN_C_END

#endif
