/* The C library's functions for wide text and Windows' own additions to it. Linux' functions for
   wchar_t expect four bytes a character, so -fshort-wchar needs these in their place. */
#ifndef IRPVERBS_WINDOWS_WIDE_TEXT_H
#define IRPVERBS_WINDOWS_WIDE_TEXT_H

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>
#include <wctype.h>
#include <windows/wdk/types.h>

typedef int errno_t;
typedef size_t rsize_t;

NT_EXTERN_C_BEGIN
/* As C's functions without the prefix, for 16-bit characters. IRQL: any for non-paged text. */
NT_API size_t IrpverbsWideLength(PCWSTR Text) NT_NOEXCEPT;
NT_API size_t IrpverbsWideLengthWithin(PCWSTR Text, size_t Maximum) NT_NOEXCEPT;
NT_API PWSTR IrpverbsWideCopy(PWSTR To, PCWSTR From) NT_NOEXCEPT;
NT_API PWSTR IrpverbsWideCopyWithin(PWSTR To, PCWSTR From, size_t Maximum) NT_NOEXCEPT;
NT_API PWSTR IrpverbsWideAppend(PWSTR To, PCWSTR From) NT_NOEXCEPT;
NT_API PWSTR IrpverbsWideAppendWithin(PWSTR To, PCWSTR From, size_t Maximum) NT_NOEXCEPT;
NT_API int IrpverbsWideCompare(PCWSTR First, PCWSTR Second) NT_NOEXCEPT;
NT_API int IrpverbsWideCompareWithin(PCWSTR First, PCWSTR Second, size_t Maximum) NT_NOEXCEPT;
NT_API int IrpverbsWideCompareNoCase(PCWSTR First, PCWSTR Second) NT_NOEXCEPT;
NT_API int IrpverbsWideCompareNoCaseWithin(PCWSTR First, PCWSTR Second, size_t Maximum) NT_NOEXCEPT;
NT_API PWSTR IrpverbsWideFind(PCWSTR Text, WCHAR Character) NT_NOEXCEPT;
NT_API PWSTR IrpverbsWideFindLast(PCWSTR Text, WCHAR Character) NT_NOEXCEPT;
NT_API PWSTR IrpverbsWideFindText(PCWSTR Text, PCWSTR Part) NT_NOEXCEPT;
NT_API size_t IrpverbsWideSpan(PCWSTR Text, PCWSTR Of) NT_NOEXCEPT;
NT_API size_t IrpverbsWideSpanWithout(PCWSTR Text, PCWSTR Of) NT_NOEXCEPT;
NT_API unsigned long IrpverbsWideToNumber(PCWSTR Text, PWSTR* End, int Base) NT_NOEXCEPT;
NT_API PWSTR IrpverbsWideUpper(PWSTR Text) NT_NOEXCEPT;
NT_API PWSTR IrpverbsWideLower(PWSTR Text) NT_NOEXCEPT;

/* Write text by Windows' format (see DbgPrint), at most Count characters, and return how many were
   written, or -1 when the text is longer; then no zero ends it. IRQL: PASSIVE_LEVEL. */
NT_API int IrpverbsWidePrint(PWSTR To, size_t Count, PCWSTR Format, ...);
NT_API int IrpverbsWidePrintList(PWSTR To, size_t Count, PCWSTR Format, va_list Arguments);
NT_API int IrpverbsPrint(char* To, size_t Count, const char* Format, ...);
NT_API int IrpverbsPrintList(char* To, size_t Count, const char* Format, va_list Arguments);
NT_EXTERN_C_END

#ifndef __cplusplus
#define wcslen IrpverbsWideLength
#define wcsnlen IrpverbsWideLengthWithin
#define wcscpy IrpverbsWideCopy
#define wcsncpy IrpverbsWideCopyWithin
#define wcscat IrpverbsWideAppend
#define wcsncat IrpverbsWideAppendWithin
#define wcscmp IrpverbsWideCompare
#define wcsncmp IrpverbsWideCompareWithin
#define wcschr IrpverbsWideFind
#define wcsrchr IrpverbsWideFindLast
#define wcsstr IrpverbsWideFindText
#define wcsspn IrpverbsWideSpan
#define wcscspn IrpverbsWideSpanWithout
#define wcstoul IrpverbsWideToNumber
#define wcstol(text, end, base) ((long)IrpverbsWideToNumber(text, end, base))
#define towupper(character) RtlUpcaseUnicodeChar(character)
#define towlower(character) RtlDowncaseUnicodeChar(character)
#define swprintf(to, ...) IrpverbsWidePrint((to), (size_t)-1 >> 2, __VA_ARGS__)
#define sprintf(to, ...) IrpverbsPrint((to), (size_t)-1 >> 2, __VA_ARGS__)
#define vsprintf(to, format, arguments) IrpverbsPrintList((to), (size_t)-1 >> 2, format, arguments)
#endif
#define _wcsicmp IrpverbsWideCompareNoCase
#define wcsicmp IrpverbsWideCompareNoCase
#define _wcsnicmp IrpverbsWideCompareNoCaseWithin
#define _wcsupr IrpverbsWideUpper
#define _wcslwr IrpverbsWideLower
#define _wtoi(text) ((int)IrpverbsWideToNumber((text), NULL, 10))
#define _wtol(text) ((LONG)IrpverbsWideToNumber((text), NULL, 10))
#define _stricmp strcasecmp
#define stricmp strcasecmp
#define _strcmpi strcasecmp
#define _strnicmp strncasecmp
#define strnicmp strncasecmp
#define _snprintf IrpverbsPrint
#define _vsnprintf IrpverbsPrintList
#define _snwprintf IrpverbsWidePrint
#define _vsnwprintf IrpverbsWidePrintList
#define _swprintf(to, ...) IrpverbsWidePrint((to), (size_t)-1 >> 2, __VA_ARGS__)
#define _strdup strdup
#define _rotl(value, bits) ((ULONG)(((ULONG)(value) << (bits)) | ((ULONG)(value) >> (32 - (bits)))))
#define _rotr(value, bits) ((ULONG)(((ULONG)(value) >> (bits)) | ((ULONG)(value) << (32 - (bits)))))
#define _rotl64(value, bits)                                                                       \
    ((ULONGLONG)(((ULONGLONG)(value) << (bits)) | ((ULONGLONG)(value) >> (64 - (bits)))))
#define _abs64(value) llabs(value)

#endif
