#include <dispatch/support/sanitizers.hpp>
#include <support/both_machines.hpp>
#include <support/ke_shorthand.hpp>

#include <algorithm>
#include <cstdint>
#include <sanitizer/asan_interface.h>
#include <set>

namespace {

using namespace irpverbs::testing;

constexpr ULONG tag = 0x74736574; // 'test'

class Pool : public BothMachines {};

TEST_P(Pool, AllocatedBlock_IsAlignedAndWritable) {
    for (const SIZE_T size : {SIZE_T{1}, SIZE_T{15}, SIZE_T{16}, SIZE_T{100}, SIZE_T{5000}}) {
        PVOID block = ExAllocatePoolWithTag(NonPagedPool, size, tag);
        ASSERT_NE(block, nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0u);
        std::fill_n(static_cast<unsigned char*>(block), size, static_cast<unsigned char>(0xa5));
        ExFreePoolWithTag(block, tag);
    }
}

TEST_P(Pool, ExAllocatePool2_ZeroesUnlessUninitialized) {
    for (const POOL_FLAGS where : {POOL_FLAG_NON_PAGED, POOL_FLAG_PAGED}) {
        for (int round = 0; round < 4; ++round) {
            auto* block = static_cast<unsigned char*>(ExAllocatePool2(where, 200, tag));
            ASSERT_NE(block, nullptr);
            EXPECT_EQ(std::count(block, block + 200, 0), 200);
            std::fill_n(block, 200, static_cast<unsigned char>(0xff));
            ExFreePool(block);
        }
        PVOID any = ExAllocatePool2(where | POOL_FLAG_UNINITIALIZED, 200, tag);
        ASSERT_NE(any, nullptr);
        ExFreePoolWithTag(any, tag);
    }
}

TEST_P(Pool, AnyPriority_AllocationSucceeds) {
    for (const EX_POOL_PRIORITY wanted : {LowPoolPriority, NormalPoolPriority, HighPoolPriority}) {
        PVOID block = ExAllocatePoolWithTagPriority(NonPagedPoolNx, 100, 0x74736574, wanted);
        ASSERT_NE(block, nullptr);
        ExFreePoolWithTag(block, 0x74736574);
    }
}

TEST_P(Pool, NonPagedAtDispatch_AllocationSucceeds) {
    const at_dispatch_level raised;
    PVOID block = ExAllocatePool2(POOL_FLAG_NON_PAGED, 32, tag);
    ASSERT_NE(block, nullptr);
    ExFreePoolWithTag(block, 0); // any tag
}

IRPVERBS_ON_BOTH_MACHINES(Pool);

int made, freed;
PVOID counted_allocate(POOL_TYPE type, SIZE_T size, ULONG with_tag) {
    ++made;
    return ExAllocatePoolWithTag(type, size, with_tag);
}
void counted_free(PVOID block) {
    ++freed;
    ExFreePool(block);
}

struct lookaside : NPAGED_LOOKASIDE_LIST {
    explicit lookaside(SIZE_T size, USHORT depth = 0) {
        made = freed = 0;
        ExInitializeNPagedLookasideList(this, counted_allocate, counted_free, 0, size, tag, depth);
    }
};

TEST(Lookaside, FreedBlock_IsReusedByNextAllocate) {
    lookaside list(64);
    PVOID block = ExAllocateFromNPagedLookasideList(&list);
    ExFreeToNPagedLookasideList(&list, block);
    EXPECT_EQ(ExAllocateFromNPagedLookasideList(&list), block);
    EXPECT_EQ(made, 1);
    EXPECT_EQ(list.TotalAllocates, 2u);
    EXPECT_EQ(list.AllocateMisses, 1u);
    ExFreeToNPagedLookasideList(&list, block);
    ExDeleteNPagedLookasideList(&list);
    EXPECT_EQ(freed, 1);
}

#if IRPVERBS_ADDRESS_SANITIZER
// A block in the lookaside list counts as freed memory.
TEST(Lookaside, BlockFreedToList_IsPoisoned) {
    lookaside list(64);
    char* const block = static_cast<char*>(ExAllocateFromNPagedLookasideList(&list));
    EXPECT_FALSE(__asan_address_is_poisoned(block + 20));
    ExFreeToNPagedLookasideList(&list, block);
    EXPECT_TRUE(__asan_address_is_poisoned(block + 20));
    EXPECT_EQ(ExAllocateFromNPagedLookasideList(&list), block);
    EXPECT_FALSE(__asan_address_is_poisoned(block + 20));
    ExFreeToNPagedLookasideList(&list, block);
    ExDeleteNPagedLookasideList(&list);
}
#endif

TEST(Lookaside, MaximumDepthReached_FreedBlockReturnsToPool) {
    lookaside list(64, 2);
    PVOID blocks[3];
    for (PVOID& each : blocks)
        each = ExAllocateFromNPagedLookasideList(&list);
    EXPECT_EQ(std::set<PVOID>(blocks, blocks + 3).size(), 3u);
    for (PVOID each : blocks)
        ExFreeToNPagedLookasideList(&list, each);
    EXPECT_EQ(list.Depth, 2);
    EXPECT_EQ(list.FreeMisses, 1u);
    EXPECT_EQ(freed, 1);
    ExDeleteNPagedLookasideList(&list);
    EXPECT_EQ(freed, made);
}

// The lookaside list's link lies in the block.
TEST(Lookaside, BlockSmallerThanLink_IsEnlarged) {
    lookaside list(1);
    EXPECT_GE(list.Size, sizeof(SINGLE_LIST_ENTRY));
    PVOID block = ExAllocateFromNPagedLookasideList(&list);
    ExFreeToNPagedLookasideList(&list, block);
    ExDeleteNPagedLookasideList(&list);
}

TEST(Lookaside, PagedListWithoutRoutines_UsesPool) {
    PAGED_LOOKASIDE_LIST list;
    ExInitializePagedLookasideList(&list, nullptr, nullptr, 0, 48, tag, 0);
    EXPECT_EQ(list.Type, PagedPool);
    PVOID block = ExAllocateFromPagedLookasideList(&list);
    ASSERT_NE(block, nullptr);
    ExFreeToPagedLookasideList(&list, block);
    EXPECT_EQ(list.Depth, 1);
    ExDeletePagedLookasideList(&list);
    EXPECT_EQ(list.Depth, 0);
}

TEST(Lookaside, AllocateRoutineFails_ReturnsNull) {
    NPAGED_LOOKASIDE_LIST list;
    ExInitializeNPagedLookasideList(
        &list, [](POOL_TYPE, SIZE_T, ULONG) -> PVOID { return nullptr; }, nullptr, 0, 48, tag, 0);
    EXPECT_EQ(ExAllocateFromNPagedLookasideList(&list), nullptr);
    ExDeleteNPagedLookasideList(&list);
}

} // namespace
