/* ntstrsafe.h: functions that never write beyond the end of a string. Source: WDK ntstrsafe.h
   reference. */
#ifndef IRPVERBS_WINDOWS_SAFE_STRINGS_H
#define IRPVERBS_WINDOWS_SAFE_STRINGS_H

#include <windows/wdk/safe_text.h>

NT_EXTERN_C_BEGIN
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

#endif
