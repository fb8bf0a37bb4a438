#include "irql/irql_rules.hpp"
#include "verify/hooks.hpp"

#include <dispatch/pool.h>
#include <dispatch/support/faults.hpp>
#include <dispatch/support/spin.hpp>

#include <cstdlib>
#include <cstring>
#include <sanitizer/asan_interface.h>

using namespace irpverbs::dispatch::detail;

namespace {

constexpr USHORT default_depth = 64;

// Holds the list's own lock word, which C code sees as a number.
class list_guard {
public:
    explicit list_guard(NPAGED_LOOKASIDE_LIST& list) : lock_(list.Lock) {
        for (unsigned turn = 0; __atomic_exchange_n(&lock_, 1, __ATOMIC_ACQUIRE) != 0; ++turn)
            spin_turn(turn);
    }
    ~list_guard() { __atomic_store_n(&lock_, 0, __ATOMIC_RELEASE); }
    list_guard(const list_guard&) = delete;
    list_guard& operator=(const list_guard&) = delete;

private:
    ULONG_PTR& lock_;
};

const irql_rule& irql_of(POOL_TYPE type) {
    return type == PagedPool ? irql_rules::PagedLookasideList : irql_rules::NPagedLookasideList;
}

void initialize(NPAGED_LOOKASIDE_LIST& list, PVOID (*allocate)(POOL_TYPE, SIZE_T, ULONG),
                void (*free)(PVOID), POOL_TYPE type, SIZE_T size, ULONG tag, USHORT depth) {
    if (verifying()) {
        check_irql(irql_of(type));
        check_reinitialised(this_processor(), live_object_kind::lookaside, &list);
        add_live_object(this_processor(), live_object_kind::lookaside, &list);
    }
    list = {};
    list.MaximumDepth = depth != 0 ? depth : default_depth;
    list.Tag = tag;
    list.Size = size < sizeof(SINGLE_LIST_ENTRY) ? sizeof(SINGLE_LIST_ENTRY) : size;
    list.Allocate = allocate != nullptr ? allocate : ExAllocatePoolWithTag;
    list.Free = free != nullptr ? free : ExFreePool;
    list.Type = type;
}

// True when a fault makes the list behave as if memory were short.
bool injects_fault(NPAGED_LOOKASIDE_LIST& list) {
    if (verifying()) {
        check_freed_use(&list, "a lookaside list is used");
        check_irql(irql_of(list.Type));
    }
    return fault_point("pool.lookaside");
}

void* allocate_block(NPAGED_LOOKASIDE_LIST& list) {
    if (instrumented() && injects_fault(list)) return nullptr;
    {
        const list_guard guard(list);
        ++list.TotalAllocates;
        if (SINGLE_LIST_ENTRY* block = PopEntryList(&list.ListHead)) {
            --list.Depth;
            ASAN_UNPOISON_MEMORY_REGION(block, list.Size);
            return block;
        }
        ++list.AllocateMisses;
    }
    return list.Allocate(list.Type, list.Size, list.Tag);
}

void free_block(NPAGED_LOOKASIDE_LIST& list, void* block) {
    if (verifying()) check_irql(irql_of(list.Type));
    {
        const list_guard guard(list);
        ++list.TotalFrees;
        if (list.Depth < list.MaximumDepth) {
            ++list.Depth;
            auto* const link = static_cast<SINGLE_LIST_ENTRY*>(block);
            PushEntryList(&list.ListHead, link);
            ASAN_POISON_MEMORY_REGION(link + 1, list.Size - sizeof *link);
            return;
        }
        ++list.FreeMisses;
    }
    list.Free(block);
}

void free_all(NPAGED_LOOKASIDE_LIST& list) {
    if (verifying()) {
        check_irql(irql_of(list.Type));
        remove_live_object(live_object_kind::lookaside, &list);
    }
    while (SINGLE_LIST_ENTRY* block = PopEntryList(&list.ListHead)) {
        ASAN_UNPOISON_MEMORY_REGION(block, list.Size);
        list.Free(block);
    }
    list.Depth = 0;
}

} // namespace

extern "C" {

PVOID ExAllocatePoolWithTag(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag) {
    if (instrumented()) return allocate_checked(PoolType, NumberOfBytes, Tag);
    return std::malloc(NumberOfBytes);
}

PVOID ExAllocatePoolWithTagPriority(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag,
                                    EX_POOL_PRIORITY) {
    return ExAllocatePoolWithTag(PoolType, NumberOfBytes, Tag);
}

PVOID ExAllocatePool2(POOL_FLAGS Flags, SIZE_T NumberOfBytes, ULONG Tag) {
    const POOL_TYPE type = (Flags & POOL_FLAG_PAGED) != 0 ? PagedPool : NonPagedPoolNx;
    PVOID block = ExAllocatePoolWithTag(type, NumberOfBytes, Tag);
    if (block != nullptr && (Flags & POOL_FLAG_UNINITIALIZED) == 0)
        std::memset(block, 0, NumberOfBytes);
    return block;
}

void ExFreePoolWithTag(PVOID P, ULONG Tag) {
    if (instrumented()) return free_checked(P, Tag);
    std::free(P);
}

void ExFreePool(PVOID P) { ExFreePoolWithTag(P, 0); }

BOOLEAN ExQueryPoolTagUsage(ULONG Tag, PPOOL_TAG_USAGE Usage) noexcept {
    return pool_usage(Tag, *Usage);
}

void ExInitializeNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside,
                                     PVOID (*Allocate)(POOL_TYPE, SIZE_T, ULONG),
                                     void (*Free)(PVOID), ULONG, SIZE_T Size, ULONG Tag,
                                     USHORT Depth) {
    initialize(*Lookaside, Allocate, Free, NonPagedPoolNx, Size, Tag, Depth);
}

void ExInitializePagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside,
                                    PVOID (*Allocate)(POOL_TYPE, SIZE_T, ULONG),
                                    void (*Free)(PVOID), ULONG, SIZE_T Size, ULONG Tag,
                                    USHORT Depth) {
    initialize(*Lookaside, Allocate, Free, PagedPool, Size, Tag, Depth);
}

void ExDeleteNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside) { free_all(*Lookaside); }
void ExDeletePagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside) { free_all(*Lookaside); }
PVOID ExAllocateFromNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside) {
    return allocate_block(*Lookaside);
}
PVOID ExAllocateFromPagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside) {
    return allocate_block(*Lookaside);
}
void ExFreeToNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside, PVOID Entry) {
    free_block(*Lookaside, Entry);
}
void ExFreeToPagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside, PVOID Entry) {
    free_block(*Lookaside, Entry);
}

} // extern "C"
