/* Text functions that know the size of their destination and always end it with a zero. A for
   characters, W for wide ones; Cch counts them, Cb bytes, the zero included. Source: WDK
   ntstrsafe.h reference.

   Copy, Cat and Printf store text or append it; CopyN and CatN take at most Maximum of Source,
   which then needs no zero. The forms with Ex also store where the zero stands (*End) and what is
   left from there (*Remaining); either may be NULL. Flags: STRSAFE_FILL_BEHIND_NULL fills what is
   behind the zero with the lowest byte of Flags; STRSAFE_IGNORE_NULLS takes NULL for an empty
   text; and after a failure STRSAFE_FILL_ON_FAILURE fills the destination,
   STRSAFE_NULL_ON_FAILURE makes it empty, STRSAFE_NO_TRUNCATION keeps the text that was appended
   to, or makes it empty. IRQL: PASSIVE_LEVEL; any for those without a format when the text is not
   paged. STATUS_SUCCESS; STATUS_BUFFER_OVERFLOW: the text was cut; STATUS_INVALID_PARAMETER: the
   size is 0 or above NTSTRSAFE_MAX_CCH, a text is NULL, a flag is unknown, or the text to append to
   has no end. *End and *Remaining are stored unless the status is the last. */
#ifndef IRPVERBS_WINDOWS_SAFE_TEXT_H
#define IRPVERBS_WINDOWS_SAFE_TEXT_H

#include <windows/wdk/status_codes.h>
#include <windows/wdk/strings.h>
#include <windows/wdk/wide_text.h>

#define NTSTRSAFE_MAX_CCH 2147483647
#define NTSTRSAFE_MAX_LENGTH (NTSTRSAFE_MAX_CCH - 1)
#define NTSTRSAFE_UNICODE_STRING_MAX_CCH 32767
#define STRSAFE_MAX_CCH NTSTRSAFE_MAX_CCH
#define STRSAFE_IGNORE_NULLS 0x00000100
#define STRSAFE_FILL_BEHIND_NULL 0x00000200
#define STRSAFE_FILL_ON_FAILURE 0x00000400
#define STRSAFE_NULL_ON_FAILURE 0x00000800
#define STRSAFE_NO_TRUNCATION 0x00001000
#define STRSAFE_ZERO_LENGTH_ON_FAILURE STRSAFE_NULL_ON_FAILURE
#define STRSAFE_FILL_BYTE(x) ((ULONG)(((x)&0xff) | STRSAFE_FILL_BEHIND_NULL))
#define STRSAFE_FAILURE_BYTE(x) ((ULONG)(((x)&0xff) | STRSAFE_FILL_ON_FAILURE))
typedef char *NTSTRSAFE_PSTR, *STRSAFE_LPSTR;
typedef const char *NTSTRSAFE_PCSTR, *STRSAFE_LPCSTR;
typedef WCHAR *NTSTRSAFE_PWSTR, *STRSAFE_LPWSTR;
typedef const WCHAR *NTSTRSAFE_PCWSTR, *STRSAFE_LPCWSTR;

NT_EXTERN_C_BEGIN
NT_API NTSTATUS RtlStringCchCopyA(NTSTRSAFE_PSTR Destination, size_t Size,
                                  NTSTRSAFE_PCSTR Source) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCchCopyNA(NTSTRSAFE_PSTR Destination, size_t Size, NTSTRSAFE_PCSTR Source,
                                   size_t Maximum) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCchCopyExA(NTSTRSAFE_PSTR Destination, size_t Size, NTSTRSAFE_PCSTR Source,
                                    NTSTRSAFE_PSTR* End, size_t* Remaining,
                                    ULONG Flags) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCchCopyNExA(NTSTRSAFE_PSTR Destination, size_t Size,
                                     NTSTRSAFE_PCSTR Source, size_t Maximum, NTSTRSAFE_PSTR* End,
                                     size_t* Remaining, ULONG Flags) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCchCatA(NTSTRSAFE_PSTR Destination, size_t Size,
                                 NTSTRSAFE_PCSTR Source) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCchCatNA(NTSTRSAFE_PSTR Destination, size_t Size, NTSTRSAFE_PCSTR Source,
                                  size_t Maximum) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCchCatExA(NTSTRSAFE_PSTR Destination, size_t Size, NTSTRSAFE_PCSTR Source,
                                   NTSTRSAFE_PSTR* End, size_t* Remaining, ULONG Flags) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCchCatNExA(NTSTRSAFE_PSTR Destination, size_t Size, NTSTRSAFE_PCSTR Source,
                                    size_t Maximum, NTSTRSAFE_PSTR* End, size_t* Remaining,
                                    ULONG Flags) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCchPrintfA(NTSTRSAFE_PSTR Destination, size_t Size, NTSTRSAFE_PCSTR Format,
                                    ...);
NT_API NTSTATUS RtlStringCchPrintfExA(NTSTRSAFE_PSTR Destination, size_t Size, NTSTRSAFE_PSTR* End,
                                      size_t* Remaining, ULONG Flags, NTSTRSAFE_PCSTR Format, ...);
NT_API NTSTATUS RtlStringCchVPrintfA(NTSTRSAFE_PSTR Destination, size_t Size,
                                     NTSTRSAFE_PCSTR Format, va_list Arguments);
NT_API NTSTATUS RtlStringCchVPrintfExA(NTSTRSAFE_PSTR Destination, size_t Size, NTSTRSAFE_PSTR* End,
                                       size_t* Remaining, ULONG Flags, NTSTRSAFE_PCSTR Format,
                                       va_list Arguments);
NT_API NTSTATUS RtlStringCchCopyW(NTSTRSAFE_PWSTR Destination, size_t Size,
                                  NTSTRSAFE_PCWSTR Source) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCchCopyNW(NTSTRSAFE_PWSTR Destination, size_t Size,
                                   NTSTRSAFE_PCWSTR Source, size_t Maximum) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCchCopyExW(NTSTRSAFE_PWSTR Destination, size_t Size,
                                    NTSTRSAFE_PCWSTR Source, NTSTRSAFE_PWSTR* End,
                                    size_t* Remaining, ULONG Flags) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCchCopyNExW(NTSTRSAFE_PWSTR Destination, size_t Size,
                                     NTSTRSAFE_PCWSTR Source, size_t Maximum, NTSTRSAFE_PWSTR* End,
                                     size_t* Remaining, ULONG Flags) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCchCatW(NTSTRSAFE_PWSTR Destination, size_t Size,
                                 NTSTRSAFE_PCWSTR Source) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCchCatNW(NTSTRSAFE_PWSTR Destination, size_t Size, NTSTRSAFE_PCWSTR Source,
                                  size_t Maximum) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCchCatExW(NTSTRSAFE_PWSTR Destination, size_t Size,
                                   NTSTRSAFE_PCWSTR Source, NTSTRSAFE_PWSTR* End, size_t* Remaining,
                                   ULONG Flags) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCchCatNExW(NTSTRSAFE_PWSTR Destination, size_t Size,
                                    NTSTRSAFE_PCWSTR Source, size_t Maximum, NTSTRSAFE_PWSTR* End,
                                    size_t* Remaining, ULONG Flags) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCchPrintfW(NTSTRSAFE_PWSTR Destination, size_t Size,
                                    NTSTRSAFE_PCWSTR Format, ...);
NT_API NTSTATUS RtlStringCchPrintfExW(NTSTRSAFE_PWSTR Destination, size_t Size,
                                      NTSTRSAFE_PWSTR* End, size_t* Remaining, ULONG Flags,
                                      NTSTRSAFE_PCWSTR Format, ...);
NT_API NTSTATUS RtlStringCchVPrintfW(NTSTRSAFE_PWSTR Destination, size_t Size,
                                     NTSTRSAFE_PCWSTR Format, va_list Arguments);
NT_API NTSTATUS RtlStringCchVPrintfExW(NTSTRSAFE_PWSTR Destination, size_t Size,
                                       NTSTRSAFE_PWSTR* End, size_t* Remaining, ULONG Flags,
                                       NTSTRSAFE_PCWSTR Format, va_list Arguments);
NT_API NTSTATUS RtlStringCchCopyUnicodeString(NTSTRSAFE_PWSTR Destination, size_t Size,
                                              PCUNICODE_STRING Source) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCchCopyUnicodeStringEx(NTSTRSAFE_PWSTR Destination, size_t Size,
                                                PCUNICODE_STRING Source, NTSTRSAFE_PWSTR* End,
                                                size_t* Remaining, ULONG Flags) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCbCopyA(NTSTRSAFE_PSTR Destination, size_t Size,
                                 NTSTRSAFE_PCSTR Source) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCbCopyNA(NTSTRSAFE_PSTR Destination, size_t Size, NTSTRSAFE_PCSTR Source,
                                  size_t Maximum) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCbCopyExA(NTSTRSAFE_PSTR Destination, size_t Size, NTSTRSAFE_PCSTR Source,
                                   NTSTRSAFE_PSTR* End, size_t* Remaining, ULONG Flags) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCbCopyNExA(NTSTRSAFE_PSTR Destination, size_t Size, NTSTRSAFE_PCSTR Source,
                                    size_t Maximum, NTSTRSAFE_PSTR* End, size_t* Remaining,
                                    ULONG Flags) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCbCatA(NTSTRSAFE_PSTR Destination, size_t Size,
                                NTSTRSAFE_PCSTR Source) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCbCatNA(NTSTRSAFE_PSTR Destination, size_t Size, NTSTRSAFE_PCSTR Source,
                                 size_t Maximum) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCbCatExA(NTSTRSAFE_PSTR Destination, size_t Size, NTSTRSAFE_PCSTR Source,
                                  NTSTRSAFE_PSTR* End, size_t* Remaining, ULONG Flags) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCbCatNExA(NTSTRSAFE_PSTR Destination, size_t Size, NTSTRSAFE_PCSTR Source,
                                   size_t Maximum, NTSTRSAFE_PSTR* End, size_t* Remaining,
                                   ULONG Flags) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCbPrintfA(NTSTRSAFE_PSTR Destination, size_t Size, NTSTRSAFE_PCSTR Format,
                                   ...);
NT_API NTSTATUS RtlStringCbPrintfExA(NTSTRSAFE_PSTR Destination, size_t Size, NTSTRSAFE_PSTR* End,
                                     size_t* Remaining, ULONG Flags, NTSTRSAFE_PCSTR Format, ...);
NT_API NTSTATUS RtlStringCbVPrintfA(NTSTRSAFE_PSTR Destination, size_t Size, NTSTRSAFE_PCSTR Format,
                                    va_list Arguments);
NT_API NTSTATUS RtlStringCbVPrintfExA(NTSTRSAFE_PSTR Destination, size_t Size, NTSTRSAFE_PSTR* End,
                                      size_t* Remaining, ULONG Flags, NTSTRSAFE_PCSTR Format,
                                      va_list Arguments);
NT_API NTSTATUS RtlStringCbCopyW(NTSTRSAFE_PWSTR Destination, size_t Size,
                                 NTSTRSAFE_PCWSTR Source) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCbCopyNW(NTSTRSAFE_PWSTR Destination, size_t Size, NTSTRSAFE_PCWSTR Source,
                                  size_t Maximum) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCbCopyExW(NTSTRSAFE_PWSTR Destination, size_t Size,
                                   NTSTRSAFE_PCWSTR Source, NTSTRSAFE_PWSTR* End, size_t* Remaining,
                                   ULONG Flags) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCbCopyNExW(NTSTRSAFE_PWSTR Destination, size_t Size,
                                    NTSTRSAFE_PCWSTR Source, size_t Maximum, NTSTRSAFE_PWSTR* End,
                                    size_t* Remaining, ULONG Flags) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCbCatW(NTSTRSAFE_PWSTR Destination, size_t Size,
                                NTSTRSAFE_PCWSTR Source) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCbCatNW(NTSTRSAFE_PWSTR Destination, size_t Size, NTSTRSAFE_PCWSTR Source,
                                 size_t Maximum) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCbCatExW(NTSTRSAFE_PWSTR Destination, size_t Size, NTSTRSAFE_PCWSTR Source,
                                  NTSTRSAFE_PWSTR* End, size_t* Remaining, ULONG Flags) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCbCatNExW(NTSTRSAFE_PWSTR Destination, size_t Size,
                                   NTSTRSAFE_PCWSTR Source, size_t Maximum, NTSTRSAFE_PWSTR* End,
                                   size_t* Remaining, ULONG Flags) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCbPrintfW(NTSTRSAFE_PWSTR Destination, size_t Size,
                                   NTSTRSAFE_PCWSTR Format, ...);
NT_API NTSTATUS RtlStringCbPrintfExW(NTSTRSAFE_PWSTR Destination, size_t Size, NTSTRSAFE_PWSTR* End,
                                     size_t* Remaining, ULONG Flags, NTSTRSAFE_PCWSTR Format, ...);
NT_API NTSTATUS RtlStringCbVPrintfW(NTSTRSAFE_PWSTR Destination, size_t Size,
                                    NTSTRSAFE_PCWSTR Format, va_list Arguments);
NT_API NTSTATUS RtlStringCbVPrintfExW(NTSTRSAFE_PWSTR Destination, size_t Size,
                                      NTSTRSAFE_PWSTR* End, size_t* Remaining, ULONG Flags,
                                      NTSTRSAFE_PCWSTR Format, va_list Arguments);
NT_API NTSTATUS RtlStringCbCopyUnicodeString(NTSTRSAFE_PWSTR Destination, size_t Size,
                                             PCUNICODE_STRING Source) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCbCopyUnicodeStringEx(NTSTRSAFE_PWSTR Destination, size_t Size,
                                               PCUNICODE_STRING Source, NTSTRSAFE_PWSTR* End,
                                               size_t* Remaining, ULONG Flags) NT_NOEXCEPT;

/* Stores in *Length how long Text is, its zero not included; Length may be NULL. IRQL: any when the
   text is not paged. STATUS_SUCCESS; STATUS_INVALID_PARAMETER: Text is NULL, Maximum is above
   NTSTRSAFE_MAX_CCH, or there is no zero within Maximum. */
NT_API NTSTATUS RtlStringCchLengthA(NTSTRSAFE_PCSTR Text, size_t Maximum,
                                    size_t* Length) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCchLengthW(NTSTRSAFE_PCWSTR Text, size_t Maximum,
                                    size_t* Length) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCbLengthA(NTSTRSAFE_PCSTR Text, size_t Maximum,
                                   size_t* Length) NT_NOEXCEPT;
NT_API NTSTATUS RtlStringCbLengthW(NTSTRSAFE_PCWSTR Text, size_t Maximum,
                                   size_t* Length) NT_NOEXCEPT;
NT_EXTERN_C_END

#ifdef UNICODE
#define RtlStringCchCopy RtlStringCchCopyW
#define RtlStringCchCopyN RtlStringCchCopyNW
#define RtlStringCchCopyEx RtlStringCchCopyExW
#define RtlStringCchCopyNEx RtlStringCchCopyNExW
#define RtlStringCchCat RtlStringCchCatW
#define RtlStringCchCatN RtlStringCchCatNW
#define RtlStringCchCatEx RtlStringCchCatExW
#define RtlStringCchCatNEx RtlStringCchCatNExW
#define RtlStringCchPrintf RtlStringCchPrintfW
#define RtlStringCchPrintfEx RtlStringCchPrintfExW
#define RtlStringCchVPrintf RtlStringCchVPrintfW
#define RtlStringCchVPrintfEx RtlStringCchVPrintfExW
#define RtlStringCchLength RtlStringCchLengthW
#define RtlStringCbCopy RtlStringCbCopyW
#define RtlStringCbCopyN RtlStringCbCopyNW
#define RtlStringCbCopyEx RtlStringCbCopyExW
#define RtlStringCbCopyNEx RtlStringCbCopyNExW
#define RtlStringCbCat RtlStringCbCatW
#define RtlStringCbCatN RtlStringCbCatNW
#define RtlStringCbCatEx RtlStringCbCatExW
#define RtlStringCbCatNEx RtlStringCbCatNExW
#define RtlStringCbPrintf RtlStringCbPrintfW
#define RtlStringCbPrintfEx RtlStringCbPrintfExW
#define RtlStringCbVPrintf RtlStringCbVPrintfW
#define RtlStringCbVPrintfEx RtlStringCbVPrintfExW
#define RtlStringCbLength RtlStringCbLengthW
#else
#define RtlStringCchCopy RtlStringCchCopyA
#define RtlStringCchCopyN RtlStringCchCopyNA
#define RtlStringCchCopyEx RtlStringCchCopyExA
#define RtlStringCchCopyNEx RtlStringCchCopyNExA
#define RtlStringCchCat RtlStringCchCatA
#define RtlStringCchCatN RtlStringCchCatNA
#define RtlStringCchCatEx RtlStringCchCatExA
#define RtlStringCchCatNEx RtlStringCchCatNExA
#define RtlStringCchPrintf RtlStringCchPrintfA
#define RtlStringCchPrintfEx RtlStringCchPrintfExA
#define RtlStringCchVPrintf RtlStringCchVPrintfA
#define RtlStringCchVPrintfEx RtlStringCchVPrintfExA
#define RtlStringCchLength RtlStringCchLengthA
#define RtlStringCbCopy RtlStringCbCopyA
#define RtlStringCbCopyN RtlStringCbCopyNA
#define RtlStringCbCopyEx RtlStringCbCopyExA
#define RtlStringCbCopyNEx RtlStringCbCopyNExA
#define RtlStringCbCat RtlStringCbCatA
#define RtlStringCbCatN RtlStringCbCatNA
#define RtlStringCbCatEx RtlStringCbCatExA
#define RtlStringCbCatNEx RtlStringCbCatNExA
#define RtlStringCbPrintf RtlStringCbPrintfA
#define RtlStringCbPrintfEx RtlStringCbPrintfExA
#define RtlStringCbVPrintf RtlStringCbVPrintfA
#define RtlStringCbVPrintfEx RtlStringCbVPrintfExA
#define RtlStringCbLength RtlStringCbLengthA
#endif

#endif
