#include "standard.hpp"

#include <windows/wdk/exceptions.h>
#include <windows/wdk/executive.h>
#include <windows/wdk/memory.h>
#include <windows/wdk/status_codes.h>

namespace {

constexpr ULONG untagged = 0x656e6f4e; // "None"
constexpr int behaviour = POOL_QUOTA_FAIL_INSTEAD_OF_RAISE | POOL_RAISE_IF_ALLOCATION_FAILURE;

POOL_TYPE plain(POOL_TYPE type) { return static_cast<POOL_TYPE>(type & ~behaviour); }

} // namespace

extern "C" {

PVOID ExAllocatePool(POOL_TYPE PoolType, SIZE_T NumberOfBytes) {
    return ExAllocatePoolWithTag(plain(PoolType), NumberOfBytes, untagged);
}

PVOID ExAllocatePoolZero(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag) {
    PVOID memory = ExAllocatePoolWithTag(plain(PoolType), NumberOfBytes, Tag);
    if (memory != nullptr) memset(memory, 0, NumberOfBytes);
    return memory;
}

PVOID ExAllocatePoolWithQuotaTag(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag) {
    PVOID memory = ExAllocatePoolWithTag(plain(PoolType), NumberOfBytes, Tag);
    if (memory == nullptr && (PoolType & POOL_QUOTA_FAIL_INSTEAD_OF_RAISE) == 0)
        ExRaiseStatus(STATUS_INSUFFICIENT_RESOURCES);
    return memory;
}

PVOID ExAllocatePool3(POOL_FLAGS Flags, SIZE_T NumberOfBytes, ULONG Tag, PCPOOL_EXTENDED_PARAMETER,
                      ULONG) {
    return ExAllocatePool2(Flags, NumberOfBytes, Tag);
}

void ExFreePool2(PVOID P, ULONG Tag, PCPOOL_EXTENDED_PARAMETER, ULONG) {
    ExFreePoolWithTag(P, Tag);
}

NTSTATUS ExInitializeLookasideListEx(PLOOKASIDE_LIST_EX Lookaside, PALLOCATE_FUNCTION_EX Allocate,
                                     PFREE_FUNCTION_EX Free, POOL_TYPE PoolType, ULONG, SIZE_T Size,
                                     ULONG Tag, USHORT Depth) {
    if (Allocate != nullptr || Free != nullptr) return STATUS_NOT_SUPPORTED;
    if ((PoolType & 1) != 0)
        ExInitializePagedLookasideList(&Lookaside->List, nullptr, nullptr, 0, Size, Tag, Depth);
    else
        ExInitializeNPagedLookasideList(&Lookaside->List, nullptr, nullptr, 0, Size, Tag, Depth);
    return STATUS_SUCCESS;
}

void ExDeleteLookasideListEx(PLOOKASIDE_LIST_EX Lookaside) {
    if ((Lookaside->List.Type & 1) != 0)
        ExDeletePagedLookasideList(&Lookaside->List);
    else
        ExDeleteNPagedLookasideList(&Lookaside->List);
}

PVOID ExAllocateFromLookasideListEx(PLOOKASIDE_LIST_EX Lookaside) {
    return (Lookaside->List.Type & 1) != 0 ? ExAllocateFromPagedLookasideList(&Lookaside->List)
                                           : ExAllocateFromNPagedLookasideList(&Lookaside->List);
}

void ExFreeToLookasideListEx(PLOOKASIDE_LIST_EX Lookaside, PVOID Entry) {
    if ((Lookaside->List.Type & 1) != 0)
        ExFreeToPagedLookasideList(&Lookaside->List, Entry);
    else
        ExFreeToNPagedLookasideList(&Lookaside->List, Entry);
}

PSINGLE_LIST_ENTRY ExInterlockedPopEntryList(PSINGLE_LIST_ENTRY ListHead, PKSPIN_LOCK Lock) {
    KIRQL old;
    KeAcquireSpinLock(Lock, &old);
    PSINGLE_LIST_ENTRY first = PopEntryList(ListHead);
    KeReleaseSpinLock(Lock, old);
    return first;
}

PSINGLE_LIST_ENTRY ExInterlockedPushEntryList(PSINGLE_LIST_ENTRY ListHead,
                                              PSINGLE_LIST_ENTRY ListEntry, PKSPIN_LOCK Lock) {
    KIRQL old;
    KeAcquireSpinLock(Lock, &old);
    PSINGLE_LIST_ENTRY first = ListHead->Next;
    PushEntryList(ListHead, ListEntry);
    KeReleaseSpinLock(Lock, old);
    return first;
}

} // extern "C"
