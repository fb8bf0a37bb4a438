#include "standard.hpp"

#include <windows/wdk/rtl.h>

namespace {

constexpr ULONG none = 0xffffffff;

bool bit(const RTL_BITMAP& map, ULONG index) {
    return ((map.Buffer[index / 32] >> (index % 32)) & 1) != 0;
}

/* The first index from `index` on whose bit is not `value`, or the size of the map. */
ULONG end_of_run(const RTL_BITMAP& map, ULONG index, bool value) {
    while (index < map.SizeOfBitMap && bit(map, index) == value)
        ++index;
    return index;
}

bool all_are(const RTL_BITMAP& map, ULONG start, ULONG length, bool value) {
    if (length == 0 || start > map.SizeOfBitMap || length > map.SizeOfBitMap - start) return false;
    return end_of_run(map, start, value) >= start + length;
}

ULONG find_from(const RTL_BITMAP& map, ULONG count, ULONG from, ULONG last, bool value) {
    while (from < last) {
        from = end_of_run(map, from, !value);
        const ULONG end = end_of_run(map, from, value);
        if (from < last && end - from >= count) return from;
        from = end;
    }
    return none;
}

/* The search begins at the hint and then goes round to it. */
ULONG find(const RTL_BITMAP& map, ULONG count, ULONG hint, bool value) {
    if (count > map.SizeOfBitMap) return none;
    if (hint >= map.SizeOfBitMap) hint = 0;
    if (count == 0) return hint & ~7u;
    const ULONG found = find_from(map, count, hint, map.SizeOfBitMap, value);
    return found != none ? found : find_from(map, count, 0, hint, value);
}

void change(const RTL_BITMAP& map, ULONG start, ULONG length, bool value) {
    for (ULONG i = start; i < start + length; ++i) {
        const ULONG mask = 1u << (i % 32);
        if (value)
            map.Buffer[i / 32] |= mask;
        else
            map.Buffer[i / 32] &= ~mask;
    }
}

ULONG count(const RTL_BITMAP& map, bool value) {
    ULONG result = 0;
    for (ULONG i = 0; i < map.SizeOfBitMap; ++i)
        result += bit(map, i) == value;
    return result;
}

/* The clear run at or after `from`: its start, and its length, 0 when there is none. */
RTL_BITMAP_RUN clear_run(const RTL_BITMAP& map, ULONG from) {
    const ULONG start = end_of_run(map, from, true);
    return {start, end_of_run(map, start, false) - start};
}

bool is_longer(const RTL_BITMAP_RUN& one, const RTL_BITMAP_RUN& other) {
    return one.NumberOfBits > other.NumberOfBits;
}

} // namespace

extern "C" {

void RtlInitializeBitMap(PRTL_BITMAP BitMapHeader, PULONG BitMapBuffer,
                         ULONG SizeOfBitMap) noexcept {
    *BitMapHeader = {SizeOfBitMap, BitMapBuffer};
}
void RtlClearBit(PRTL_BITMAP BitMapHeader, ULONG BitNumber) noexcept {
    change(*BitMapHeader, BitNumber, 1, false);
}
void RtlSetBit(PRTL_BITMAP BitMapHeader, ULONG BitNumber) noexcept {
    change(*BitMapHeader, BitNumber, 1, true);
}
BOOLEAN RtlTestBit(PRTL_BITMAP BitMapHeader, ULONG BitNumber) noexcept {
    return bit(*BitMapHeader, BitNumber);
}
void RtlClearAllBits(PRTL_BITMAP BitMapHeader) noexcept {
    std::fill_n(BitMapHeader->Buffer, (BitMapHeader->SizeOfBitMap + 31) / 32, 0u);
}
void RtlSetAllBits(PRTL_BITMAP BitMapHeader) noexcept {
    std::fill_n(BitMapHeader->Buffer, (BitMapHeader->SizeOfBitMap + 31) / 32, ~0u);
}
void RtlClearBits(PRTL_BITMAP BitMapHeader, ULONG StartingIndex, ULONG NumberToClear) noexcept {
    change(*BitMapHeader, StartingIndex, NumberToClear, false);
}
void RtlSetBits(PRTL_BITMAP BitMapHeader, ULONG StartingIndex, ULONG NumberToSet) noexcept {
    change(*BitMapHeader, StartingIndex, NumberToSet, true);
}
BOOLEAN RtlAreBitsClear(PRTL_BITMAP BitMapHeader, ULONG StartingIndex, ULONG Length) noexcept {
    return all_are(*BitMapHeader, StartingIndex, Length, false);
}
BOOLEAN RtlAreBitsSet(PRTL_BITMAP BitMapHeader, ULONG StartingIndex, ULONG Length) noexcept {
    return all_are(*BitMapHeader, StartingIndex, Length, true);
}
ULONG RtlFindClearBits(PRTL_BITMAP BitMapHeader, ULONG NumberToFind, ULONG HintIndex) noexcept {
    return find(*BitMapHeader, NumberToFind, HintIndex, false);
}
ULONG RtlFindSetBits(PRTL_BITMAP BitMapHeader, ULONG NumberToFind, ULONG HintIndex) noexcept {
    return find(*BitMapHeader, NumberToFind, HintIndex, true);
}
ULONG RtlFindClearBitsAndSet(PRTL_BITMAP BitMapHeader, ULONG NumberToFind,
                             ULONG HintIndex) noexcept {
    const ULONG found = find(*BitMapHeader, NumberToFind, HintIndex, false);
    if (found != none) change(*BitMapHeader, found, NumberToFind, true);
    return found;
}
ULONG RtlFindSetBitsAndClear(PRTL_BITMAP BitMapHeader, ULONG NumberToFind,
                             ULONG HintIndex) noexcept {
    const ULONG found = find(*BitMapHeader, NumberToFind, HintIndex, true);
    if (found != none) change(*BitMapHeader, found, NumberToFind, false);
    return found;
}
ULONG RtlFindNextForwardRunClear(PRTL_BITMAP BitMapHeader, ULONG FromIndex,
                                 PULONG StartingRunIndex) noexcept {
    const RTL_BITMAP_RUN run = clear_run(*BitMapHeader, FromIndex);
    *StartingRunIndex = run.StartingIndex;
    return run.NumberOfBits;
}
ULONG RtlFindLastBackwardRunClear(PRTL_BITMAP BitMapHeader, ULONG FromIndex,
                                  PULONG StartingRunIndex) noexcept {
    ULONG end = std::min(FromIndex + 1, BitMapHeader->SizeOfBitMap);
    while (end != 0 && bit(*BitMapHeader, end - 1))
        --end;
    ULONG start = end;
    while (start != 0 && !bit(*BitMapHeader, start - 1))
        --start;
    *StartingRunIndex = start;
    return end - start;
}
ULONG RtlFindClearRuns(PRTL_BITMAP BitMapHeader, PRTL_BITMAP_RUN RunArray, ULONG SizeOfRunArray,
                       BOOLEAN LocateLongestRuns) noexcept {
    RTL_BITMAP_RUN* end = RunArray;
    RTL_BITMAP_RUN* const last = RunArray + SizeOfRunArray;
    for (ULONG at = 0; at < BitMapHeader->SizeOfBitMap;) {
        const RTL_BITMAP_RUN run = clear_run(*BitMapHeader, at);
        at = run.StartingIndex + run.NumberOfBits;
        if (run.NumberOfBits == 0) break;
        if (!LocateLongestRuns && end == last) break;
        auto* const place =
            !LocateLongestRuns ? end : std::upper_bound(RunArray, end, run, is_longer);
        if (place == last) continue;
        if (end != last) ++end;
        std::move_backward(place, end - 1, end);
        *place = run;
    }
    return static_cast<ULONG>(end - RunArray);
}
ULONG RtlFindFirstRunClear(PRTL_BITMAP BitMapHeader, PULONG StartingIndex) noexcept {
    return RtlFindNextForwardRunClear(BitMapHeader, 0, StartingIndex);
}
ULONG RtlFindLongestRunClear(PRTL_BITMAP BitMapHeader, PULONG StartingIndex) noexcept {
    RTL_BITMAP_RUN longest{0, 0};
    for (ULONG at = 0; at < BitMapHeader->SizeOfBitMap;) {
        const RTL_BITMAP_RUN run = clear_run(*BitMapHeader, at);
        if (run.NumberOfBits > longest.NumberOfBits) longest = run;
        at = run.StartingIndex + std::max(run.NumberOfBits, 1u);
    }
    *StartingIndex = longest.StartingIndex;
    return longest.NumberOfBits;
}
ULONG RtlNumberOfClearBits(PRTL_BITMAP BitMapHeader) noexcept {
    return count(*BitMapHeader, false);
}
ULONG RtlNumberOfSetBits(PRTL_BITMAP BitMapHeader) noexcept { return count(*BitMapHeader, true); }
ULONG RtlNumberOfSetBitsUlongPtr(ULONG_PTR Target) noexcept {
    return static_cast<ULONG>(std::popcount(Target));
}
CCHAR RtlFindMostSignificantBit(ULONGLONG Set) noexcept {
    return static_cast<CCHAR>(static_cast<int>(std::bit_width(Set)) - 1);
}
CCHAR RtlFindLeastSignificantBit(ULONGLONG Set) noexcept {
    return Set == 0 ? CCHAR{-1} : static_cast<CCHAR>(std::countr_zero(Set));
}

} // extern "C"
