/* Text functions that know the size of their destination and always end it with a zero:
   STATUS_SUCCESS; STATUS_BUFFER_OVERFLOW when the text was cut; STATUS_INVALID_PARAMETER for a size
   of 0 or above NTSTRSAFE_MAX_CCH. Cch counts characters, Cb bytes. IRQL: PASSIVE_LEVEL; any for
   the functions without a format when the text is not paged. Source: WDK ntstrsafe.h reference. */
#ifndef IRPVERBS_WINDOWS_SAFE_STRINGS_H
#define IRPVERBS_WINDOWS_SAFE_STRINGS_H

#include <windows/wdk/status_codes.h>
#include <windows/wdk/strings.h>
#include <windows/wdk/wide_text.h>

#define NTSTRSAFE_MAX_CCH 2147483647
#define NTSTRSAFE_MAX_LENGTH (NTSTRSAFE_MAX_CCH - 1)
#define NTSTRSAFE_UNICODE_STRING_MAX_CCH 32767
#define STRSAFE_MAX_CCH NTSTRSAFE_MAX_CCH
#define STRSAFE_FILL_BEHIND_NULL 0x00000200
#define STRSAFE_IGNORE_NULLS 0x00000100
#define STRSAFE_FILL_ON_FAILURE 0x00000400
#define STRSAFE_NULL_ON_FAILURE 0x00000800
#define STRSAFE_NO_TRUNCATION 0x00001000
#define STRSAFE_ZERO_LENGTH_ON_FAILURE STRSAFE_NULL_ON_FAILURE
typedef char *NTSTRSAFE_PSTR, *STRSAFE_LPSTR;
typedef const char *NTSTRSAFE_PCSTR, *STRSAFE_LPCSTR;
typedef WCHAR *NTSTRSAFE_PWSTR, *STRSAFE_LPWSTR;
typedef const WCHAR *NTSTRSAFE_PCWSTR, *STRSAFE_LPCWSTR;

NT_EXTERN_C_BEGIN
/* The functions behind all below, by destination (W, A), with sizes in characters; Maximum limits
   what is taken of Source; *End and *Remaining may be NULL. */
NT_API NTSTATUS IrpverbsSafeCopyW(PWSTR To, SIZE_T Size, PCWSTR From, SIZE_T Maximum, PWSTR* End,
                                  SIZE_T* Remaining) NT_NOEXCEPT;
NT_API NTSTATUS IrpverbsSafeCopyA(PSTR To, SIZE_T Size, PCSTR From, SIZE_T Maximum, PSTR* End,
                                  SIZE_T* Remaining) NT_NOEXCEPT;
NT_API NTSTATUS IrpverbsSafeAppendW(PWSTR To, SIZE_T Size, PCWSTR From, SIZE_T Maximum, PWSTR* End,
                                    SIZE_T* Remaining) NT_NOEXCEPT;
NT_API NTSTATUS IrpverbsSafeAppendA(PSTR To, SIZE_T Size, PCSTR From, SIZE_T Maximum, PSTR* End,
                                    SIZE_T* Remaining) NT_NOEXCEPT;
NT_API NTSTATUS IrpverbsSafePrintW(PWSTR To, SIZE_T Size, PWSTR* End, SIZE_T* Remaining,
                                   PCWSTR Format, ...);
NT_API NTSTATUS IrpverbsSafePrintA(PSTR To, SIZE_T Size, PSTR* End, SIZE_T* Remaining, PCSTR Format,
                                   ...);
NT_API NTSTATUS IrpverbsSafePrintListW(PWSTR To, SIZE_T Size, PWSTR* End, SIZE_T* Remaining,
                                       PCWSTR Format, va_list Arguments);
NT_API NTSTATUS IrpverbsSafePrintListA(PSTR To, SIZE_T Size, PSTR* End, SIZE_T* Remaining,
                                       PCSTR Format, va_list Arguments);
NT_API NTSTATUS IrpverbsSafeLengthW(PCWSTR Text, SIZE_T Maximum, SIZE_T Unit,
                                    SIZE_T* Length) NT_NOEXCEPT;
NT_API NTSTATUS IrpverbsSafeLengthA(PCSTR Text, SIZE_T Maximum, SIZE_T* Length) NT_NOEXCEPT;

/* The functions for counted strings. They fill the whole of the destination's MaximumLength, end no
   text with a zero, and leave Buffer and MaximumLength alone. Maximum: characters;
   RtlUnicodeStringCb... take bytes. RtlUnicodeStringInit refers to Source, which may be NULL. IRQL:
   PASSIVE_LEVEL; any for those without a format when the text is not paged. STATUS_SUCCESS;
   STATUS_BUFFER_OVERFLOW: the text was cut; STATUS_INVALID_PARAMETER: a string is NULL, has an odd
   length, or has a Length above its MaximumLength; the text has more than
   NTSTRSAFE_UNICODE_STRING_MAX_CCH characters (init). */
NT_API NTSTATUS RtlUnicodeStringValidate(PCUNICODE_STRING Source) NT_NOEXCEPT;
NT_API NTSTATUS RtlUnicodeStringInit(PUNICODE_STRING Destination,
                                     NTSTRSAFE_PCWSTR Source) NT_NOEXCEPT;
NT_API NTSTATUS RtlUnicodeStringCopy(PUNICODE_STRING Destination,
                                     PCUNICODE_STRING Source) NT_NOEXCEPT;
NT_API NTSTATUS RtlUnicodeStringCchCopyN(PUNICODE_STRING Destination, PCUNICODE_STRING Source,
                                         SIZE_T Maximum) NT_NOEXCEPT;
NT_API NTSTATUS RtlUnicodeStringCopyString(PUNICODE_STRING Destination,
                                           NTSTRSAFE_PCWSTR Source) NT_NOEXCEPT;
NT_API NTSTATUS RtlUnicodeStringCchCopyStringN(PUNICODE_STRING Destination, NTSTRSAFE_PCWSTR Source,
                                               SIZE_T Maximum) NT_NOEXCEPT;
NT_API NTSTATUS RtlUnicodeStringCat(PUNICODE_STRING Destination,
                                    PCUNICODE_STRING Source) NT_NOEXCEPT;
NT_API NTSTATUS RtlUnicodeStringCchCatN(PUNICODE_STRING Destination, PCUNICODE_STRING Source,
                                        SIZE_T Maximum) NT_NOEXCEPT;
NT_API NTSTATUS RtlUnicodeStringCatString(PUNICODE_STRING Destination,
                                          NTSTRSAFE_PCWSTR Source) NT_NOEXCEPT;
NT_API NTSTATUS RtlUnicodeStringCchCatStringN(PUNICODE_STRING Destination, NTSTRSAFE_PCWSTR Source,
                                              SIZE_T Maximum) NT_NOEXCEPT;
NT_API NTSTATUS RtlUnicodeStringVPrintf(PUNICODE_STRING DestinationString, NTSTRSAFE_PCWSTR Format,
                                        va_list Arguments);
NT_API NTSTATUS RtlUnicodeStringPrintf(PUNICODE_STRING DestinationString, NTSTRSAFE_PCWSTR Format,
                                       ...);
#define RtlUnicodeStringCbCopyN(to, from, bytes) RtlUnicodeStringCchCopyN((to), (from), (bytes) / 2)
#define RtlUnicodeStringCbCopyStringN(to, from, bytes)                                             \
    RtlUnicodeStringCchCopyStringN((to), (from), (bytes) / 2)
#define RtlUnicodeStringCbCatN(to, from, bytes) RtlUnicodeStringCchCatN((to), (from), (bytes) / 2)
#define RtlUnicodeStringCbCatStringN(to, from, bytes)                                              \
    RtlUnicodeStringCchCatStringN((to), (from), (bytes) / 2)
NT_EXTERN_C_END

#define IRPVERBS_ALL ((SIZE_T)-1)
#define RtlStringCchCopyW(to, size, from)                                                          \
    IrpverbsSafeCopyW((to), (size), (from), IRPVERBS_ALL, NULL, NULL)
#define RtlStringCchCopyA(to, size, from)                                                          \
    IrpverbsSafeCopyA((to), (size), (from), IRPVERBS_ALL, NULL, NULL)
#define RtlStringCbCopyW(to, size, from)                                                           \
    IrpverbsSafeCopyW((to), (size) / 2, (from), IRPVERBS_ALL, NULL, NULL)
#define RtlStringCbCopyA RtlStringCchCopyA
#define RtlStringCchCopyNW(to, size, from, count)                                                  \
    IrpverbsSafeCopyW((to), (size), (from), (count), NULL, NULL)
#define RtlStringCchCopyNA(to, size, from, count)                                                  \
    IrpverbsSafeCopyA((to), (size), (from), (count), NULL, NULL)
#define RtlStringCbCopyNW(to, size, from, count)                                                   \
    IrpverbsSafeCopyW((to), (size) / 2, (from), (count) / 2, NULL, NULL)
#define RtlStringCbCopyNA RtlStringCchCopyNA
#define RtlStringCchCopyExW(to, size, from, end, left, flags)                                      \
    IrpverbsSafeCopyW((to), (size), (from), IRPVERBS_ALL, (end), (left))
#define RtlStringCchCopyUnicodeString(to, size, from)                                              \
    IrpverbsSafeCopyW((to), (size), (from)->Buffer, (from)->Length / 2, NULL, NULL)
#define RtlStringCbCopyUnicodeString(to, size, from)                                               \
    RtlStringCchCopyUnicodeString((to), (size) / 2, (from))
#define RtlStringCchCatW(to, size, from)                                                           \
    IrpverbsSafeAppendW((to), (size), (from), IRPVERBS_ALL, NULL, NULL)
#define RtlStringCchCatA(to, size, from)                                                           \
    IrpverbsSafeAppendA((to), (size), (from), IRPVERBS_ALL, NULL, NULL)
#define RtlStringCbCatW(to, size, from)                                                            \
    IrpverbsSafeAppendW((to), (size) / 2, (from), IRPVERBS_ALL, NULL, NULL)
#define RtlStringCbCatA RtlStringCchCatA
#define RtlStringCchCatNW(to, size, from, count)                                                   \
    IrpverbsSafeAppendW((to), (size), (from), (count), NULL, NULL)
#define RtlStringCchCatNA(to, size, from, count)                                                   \
    IrpverbsSafeAppendA((to), (size), (from), (count), NULL, NULL)
#define RtlStringCbCatNW(to, size, from, count)                                                    \
    IrpverbsSafeAppendW((to), (size) / 2, (from), (count) / 2, NULL, NULL)
#define RtlStringCbCatNA RtlStringCchCatNA
#define RtlStringCchPrintfW(to, size, ...) IrpverbsSafePrintW((to), (size), NULL, NULL, __VA_ARGS__)
#define RtlStringCchPrintfA(to, size, ...) IrpverbsSafePrintA((to), (size), NULL, NULL, __VA_ARGS__)
#define RtlStringCbPrintfW(to, size, ...)                                                          \
    IrpverbsSafePrintW((to), (size) / 2, NULL, NULL, __VA_ARGS__)
#define RtlStringCbPrintfA RtlStringCchPrintfA
#define RtlStringCchPrintfExA(to, size, end, left, flags, ...)                                     \
    IrpverbsSafePrintA((to), (size), (end), (left), __VA_ARGS__)
#define RtlStringCchPrintfExW(to, size, end, left, flags, ...)                                     \
    IrpverbsSafePrintW((to), (size), (end), (left), __VA_ARGS__)
#define RtlStringCbPrintfExA RtlStringCchPrintfExA
#define RtlStringCbPrintfExW(to, size, end, left, flags, ...)                                      \
    IrpverbsSafePrintW((to), (size) / 2, (end), (left), __VA_ARGS__)
#define RtlStringCchVPrintfW(to, size, format, list)                                               \
    IrpverbsSafePrintListW((to), (size), NULL, NULL, (format), (list))
#define RtlStringCchVPrintfA(to, size, format, list)                                               \
    IrpverbsSafePrintListA((to), (size), NULL, NULL, (format), (list))
#define RtlStringCbVPrintfW(to, size, format, list)                                                \
    IrpverbsSafePrintListW((to), (size) / 2, NULL, NULL, (format), (list))
#define RtlStringCbVPrintfA RtlStringCchVPrintfA
#define RtlStringCchLengthW(text, maximum, length)                                                 \
    IrpverbsSafeLengthW((text), (maximum), 1, (length))
#define RtlStringCbLengthW(text, maximum, length)                                                  \
    IrpverbsSafeLengthW((text), (maximum) / 2, 2, (length))
#define RtlStringCchLengthA(text, maximum, length) IrpverbsSafeLengthA((text), (maximum), (length))
#define RtlStringCbLengthA RtlStringCchLengthA
#ifdef UNICODE
#define RtlStringCchCopy RtlStringCchCopyW
#define RtlStringCchCat RtlStringCchCatW
#define RtlStringCchPrintf RtlStringCchPrintfW
#else
#define RtlStringCchCopy RtlStringCchCopyA
#define RtlStringCchCat RtlStringCchCatA
#define RtlStringCchPrintf RtlStringCchPrintfA
#endif

#endif
