/* Moving, filling and comparing memory. Source: WDK wdm.h reference, "Run-time library". */
#ifndef IRPVERBS_WINDOWS_MEMORY_H
#define IRPVERBS_WINDOWS_MEMORY_H

#include <string.h>
#include <windows/wdk/types.h>

#define RtlCopyMemory(destination, source, length) ((void)memcpy((destination), (source), (length)))
#define RtlCopyBytes RtlCopyMemory
#define RtlMoveMemory(destination, source, length)                                                 \
    ((void)memmove((destination), (source), (length)))
#define RtlFillMemory(destination, length, fill) ((void)memset((destination), (fill), (length)))
#define RtlFillBytes RtlFillMemory
#define RtlZeroMemory(destination, length) ((void)memset((destination), 0, (length)))
#define RtlZeroBytes RtlZeroMemory
#define RtlCopyMemoryNonTemporal RtlCopyMemory
#define RtlCopyDeviceMemory RtlCopyMemory
#define RtlCopyVolatileMemory(destination, source, length)                                         \
    RtlCopyMemory((void*)(destination), (const void*)(source), (length))
#define RtlCopyFromUser RtlCopyMemory
#define RtlCopyToUser RtlCopyMemory
#define RtlEqualMemory(first, second, length) (!memcmp((first), (second), (length)))
#define RtlIsZeroMemory(address, length) IrpverbsIsZeroMemory((address), (length))
#define CopyMemory RtlCopyMemory
#define MoveMemory RtlMoveMemory
#define FillMemory RtlFillMemory
#define ZeroMemory RtlZeroMemory
#define SecureZeroMemory RtlSecureZeroMemory

NT_EXTERN_C_BEGIN

/* Return the length of the equal prefix in bytes, by bytes or by ULONGs. IRQL: any. Source: WDK
   RtlCompareMemory, RtlCompareMemoryUlong. */
NT_API SIZE_T RtlCompareMemory(const VOID* Source1, const VOID* Source2, SIZE_T Length) NT_NOEXCEPT;
NT_API SIZE_T RtlCompareMemoryUlong(PVOID Source, SIZE_T Length, ULONG Pattern) NT_NOEXCEPT;

/* Fills memory with a repeated ULONG; Length is in bytes. IRQL: any. */
NT_API void RtlFillMemoryUlong(PVOID Destination, SIZE_T Length, ULONG Pattern) NT_NOEXCEPT;
NT_API void RtlFillMemoryUlonglong(PVOID Destination, SIZE_T Length, ULONGLONG Pattern) NT_NOEXCEPT;
#define RtlStoreUlong(address, value)                                                              \
    ((void)(*(ULONG __attribute__((aligned(1)))*)(address) = (value)))
#define RtlRetrieveUlong(destination, source)                                                      \
    ((void)(*(PULONG)(destination) = *(ULONG __attribute__((aligned(1)))*)(source)))
#define RtlStoreUshort(address, value) ((void)memcpy((address), &(USHORT){(USHORT)(value)}, 2))
#define RtlRetrieveUshort(destination, source) ((void)memcpy((destination), (source), 2))
#define RtlStoreUlonglong(address, value) ((void)memcpy((address), &(ULONGLONG){(value)}, 8))
#define RtlStoreUlongPtr RtlStoreUlonglong
#define RtlRetrieveUlongPtr(destination, source) ((void)memcpy((destination), (source), 8))

/* Zeroes memory; the compiler never leaves it out. IRQL: any. Source: WDK RtlSecureZeroMemory. */
NT_API PVOID RtlSecureZeroMemory(PVOID Memory, SIZE_T Length) NT_NOEXCEPT;
NT_API BOOLEAN IrpverbsIsZeroMemory(const VOID* Memory, SIZE_T Length) NT_NOEXCEPT;

/* Prefetching changes nothing that a program sees. */
#define RtlPrefetchMemoryNonTemporal(address, length) ((void)(address))
#define PreFetchCacheLine(level, address) ((void)(address))
#define PrefetchForWrite(address) ((void)(address))
#define ReadForWriteAccess(address) (*(address))

NT_API ULONG RtlCrc32(const void* Buffer, SIZE_T Size, ULONG InitialCrc) NT_NOEXCEPT;
NT_API ULONGLONG RtlCrc64(const void* Buffer, SIZE_T Size, ULONGLONG InitialCrc) NT_NOEXCEPT;
#define RtlUshortByteSwap(value) ((USHORT)__builtin_bswap16(value))
#define RtlUlongByteSwap(value) ((ULONG)__builtin_bswap32(value))
#define RtlUlonglongByteSwap(value) ((ULONGLONG)__builtin_bswap64(value))
#define _byteswap_ushort(value) __builtin_bswap16(value)
#define _byteswap_ulong(value) __builtin_bswap32(value)
#define _byteswap_uint64(value) __builtin_bswap64(value)

NT_EXTERN_C_END

#endif
