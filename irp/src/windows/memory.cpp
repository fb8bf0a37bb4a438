#include "standard.hpp"

#include <windows/wdk/memory.h>

extern "C" {

SIZE_T RtlCompareMemory(const VOID* Source1, const VOID* Source2, SIZE_T Length) noexcept {
    const auto* first = static_cast<const UCHAR*>(Source1);
    const auto* second = static_cast<const UCHAR*>(Source2);
    return static_cast<SIZE_T>(std::mismatch(first, first + Length, second).first - first);
}

SIZE_T RtlCompareMemoryUlong(PVOID Source, SIZE_T Length, ULONG Pattern) noexcept {
    const auto* values = static_cast<const ULONG*>(Source);
    SIZE_T same = 0;
    while (same < Length / sizeof(ULONG) && values[same] == Pattern)
        ++same;
    return same * sizeof(ULONG);
}

void RtlFillMemoryUlong(PVOID Destination, SIZE_T Length, ULONG Pattern) noexcept {
    std::fill_n(static_cast<ULONG*>(Destination), Length / sizeof(ULONG), Pattern);
}

void RtlFillMemoryUlonglong(PVOID Destination, SIZE_T Length, ULONGLONG Pattern) noexcept {
    std::fill_n(static_cast<ULONGLONG*>(Destination), Length / sizeof(ULONGLONG), Pattern);
}

PVOID RtlSecureZeroMemory(PVOID Memory, SIZE_T Length) noexcept {
    memset(Memory, 0, Length);
    __asm__ __volatile__("" : : "r"(Memory) : "memory");
    return Memory;
}

BOOLEAN IrpverbsIsZeroMemory(const VOID* Memory, SIZE_T Length) noexcept {
    const auto* bytes = static_cast<const UCHAR*>(Memory);
    return std::all_of(bytes, bytes + Length, [](UCHAR byte) { return byte == 0; });
}

} // extern "C"
