/* Arithmetic that reports what does not fit: STATUS_SUCCESS, or STATUS_INTEGER_OVERFLOW and the
   result is all ones. IRQL: any. Source: WDK ntintsafe.h reference. */
#ifndef IRPVERBS_WINDOWS_SAFE_INTEGERS_H
#define IRPVERBS_WINDOWS_SAFE_INTEGERS_H

#include <windows/wdk/status_codes.h>
#include <windows/wdk/types.h>

#define SHORT_MAX 32767
#define USHORT_MAX 0xffff
#define BYTE_MAX 0xff
#define WORD_MAX USHORT_MAX
#define DWORD_MAX 0xffffffffUL
#define ULONG64_MAX 0xffffffffffffffffULL
#define LONGLONG_MAX 0x7fffffffffffffffLL
#define ULONGLONG_MAX 0xffffffffffffffffULL
#define LONG64_MAX LONGLONG_MAX
#define SIZE_T_MAX SIZE_MAX
#define ULONG_PTR_MAX UINTPTR_MAX
#define LONG_PTR_MAX INTPTR_MAX
#define LONG_PTR_MIN INTPTR_MIN

#define NT_INTSAFE_OVERFLOW STATUS_INTEGER_OVERFLOW
#define INTSAFE_E_ARITHMETIC_OVERFLOW STATUS_INTEGER_OVERFLOW

#define IRPVERBS_SAFE(prefix, type, name, operation)                                               \
    static inline NTSTATUS Rtl##prefix##name(type a, type b, type* result) NT_NOEXCEPT {           \
        type value;                                                                                \
        if (operation(a, b, &value)) {                                                             \
            *result = (type)-1;                                                                    \
            return STATUS_INTEGER_OVERFLOW;                                                        \
        }                                                                                          \
        *result = value;                                                                           \
        return STATUS_SUCCESS;                                                                     \
    }
#define IRPVERBS_SAFE_ALL(prefix, type)                                                            \
    IRPVERBS_SAFE(prefix, type, Add, __builtin_add_overflow)                                       \
    IRPVERBS_SAFE(prefix, type, Sub, __builtin_sub_overflow)                                       \
    IRPVERBS_SAFE(prefix, type, Mult, __builtin_mul_overflow)
IRPVERBS_SAFE_ALL(UInt8, UINT8)
IRPVERBS_SAFE_ALL(UShort, USHORT)
IRPVERBS_SAFE_ALL(UInt, UINT)
IRPVERBS_SAFE_ALL(ULong, ULONG)
IRPVERBS_SAFE_ALL(ULongLong, ULONGLONG)
IRPVERBS_SAFE_ALL(ULongPtr, ULONG_PTR)
IRPVERBS_SAFE_ALL(SizeT, SIZE_T)
IRPVERBS_SAFE_ALL(Int, INT)
IRPVERBS_SAFE_ALL(Long, LONG)
IRPVERBS_SAFE_ALL(LongLong, LONGLONG)
IRPVERBS_SAFE_ALL(LongPtr, LONG_PTR)
#undef IRPVERBS_SAFE_ALL
#undef IRPVERBS_SAFE

#define IRPVERBS_CONVERT(from, from_type, to, to_type)                                             \
    static inline NTSTATUS Rtl##from##To##to(from_type operand, to_type* result) NT_NOEXCEPT {     \
        to_type value;                                                                             \
        if (__builtin_add_overflow(operand, (from_type)0, &value)) {                               \
            *result = (to_type)-1;                                                                 \
            return STATUS_INTEGER_OVERFLOW;                                                        \
        }                                                                                          \
        *result = value;                                                                           \
        return STATUS_SUCCESS;                                                                     \
    }
#define IRPVERBS_CONVERT_ALL(from, type)                                                           \
    IRPVERBS_CONVERT(from, type, Char, CHAR)                                                       \
    IRPVERBS_CONVERT(from, type, UChar, UCHAR)                                                     \
    IRPVERBS_CONVERT(from, type, UInt8, UINT8)                                                     \
    IRPVERBS_CONVERT(from, type, Short, SHORT)                                                     \
    IRPVERBS_CONVERT(from, type, UShort, USHORT)                                                   \
    IRPVERBS_CONVERT(from, type, Word, USHORT)                                                     \
    IRPVERBS_CONVERT(from, type, Int, INT)                                                         \
    IRPVERBS_CONVERT(from, type, UInt, UINT)                                                       \
    IRPVERBS_CONVERT(from, type, Long, LONG)                                                       \
    IRPVERBS_CONVERT(from, type, ULong, ULONG)                                                     \
    IRPVERBS_CONVERT(from, type, DWord, ULONG)                                                     \
    IRPVERBS_CONVERT(from, type, LongLong, LONGLONG)                                               \
    IRPVERBS_CONVERT(from, type, ULongLong, ULONGLONG)                                             \
    IRPVERBS_CONVERT(from, type, LongPtr, LONG_PTR)                                                \
    IRPVERBS_CONVERT(from, type, ULongPtr, ULONG_PTR)                                              \
    IRPVERBS_CONVERT(from, type, SizeT, SIZE_T)
IRPVERBS_CONVERT_ALL(UChar, UCHAR)
IRPVERBS_CONVERT_ALL(Short, SHORT)
IRPVERBS_CONVERT_ALL(UShort, USHORT)
IRPVERBS_CONVERT_ALL(Int, INT)
IRPVERBS_CONVERT_ALL(UInt, UINT)
IRPVERBS_CONVERT_ALL(Long, LONG)
IRPVERBS_CONVERT_ALL(ULong, ULONG)
IRPVERBS_CONVERT_ALL(LongLong, LONGLONG)
IRPVERBS_CONVERT_ALL(ULongLong, ULONGLONG)
IRPVERBS_CONVERT_ALL(LongPtr, LONG_PTR)
IRPVERBS_CONVERT_ALL(ULongPtr, ULONG_PTR)
IRPVERBS_CONVERT_ALL(SizeT, SIZE_T)
#undef IRPVERBS_CONVERT_ALL
#undef IRPVERBS_CONVERT

#endif
