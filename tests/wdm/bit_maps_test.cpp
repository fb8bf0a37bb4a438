#include <gtest/gtest.h>
#include <ntddk.h>

namespace {

struct BitMap : testing::Test {
    ULONG words[2] = {};
    RTL_BITMAP map{};
    void SetUp() override { RtlInitializeBitMap(&map, words, 40); }
};

TEST_F(BitMap, Runs_AreSetTestedAndCounted) {
    RtlSetBits(&map, 30, 5);
    EXPECT_TRUE(RtlAreBitsSet(&map, 30, 5));
    EXPECT_FALSE(RtlAreBitsSet(&map, 30, 6));
    EXPECT_FALSE(RtlAreBitsClear(&map, 36, 5)); // beyond the end
    EXPECT_EQ(RtlNumberOfSetBits(&map), 5u);
    EXPECT_EQ(words[0], 0xc0000000u);
    EXPECT_EQ(words[1], 0x7u);
}

TEST_F(BitMap, Search_GoesRoundFromTheHint) {
    RtlSetAllBits(&map);
    RtlClearBits(&map, 3, 4);
    EXPECT_EQ(RtlFindClearBits(&map, 4, 20), 3u);
    EXPECT_EQ(RtlFindClearBits(&map, 5, 0), 0xffffffffu);
    EXPECT_EQ(RtlFindClearBitsAndSet(&map, 2, 0), 3u);
    EXPECT_EQ(RtlFindClearBits(&map, 2, 0), 5u);
}

TEST_F(BitMap, LongestRun_IsFound) {
    RtlSetBits(&map, 10, 1);
    ULONG start = 0;
    EXPECT_EQ(RtlFindLongestRunClear(&map, &start), 29u);
    EXPECT_EQ(start, 11u);
    EXPECT_EQ(RtlFindFirstRunClear(&map, &start), 10u);
    EXPECT_EQ(start, 0u);
}

TEST_F(BitMap, ClearRuns_AreTheFirstOrTheLongest) {
    RtlSetAllBits(&map);
    for (const auto& [start, length] : {std::pair{2u, 1u}, {5u, 3u}, {10u, 2u}, {35u, 5u}})
        RtlClearBits(&map, start, length);
    RTL_BITMAP_RUN runs[3];
    EXPECT_EQ(RtlFindClearRuns(&map, runs, 3, FALSE), 3u);
    EXPECT_EQ(runs[0].StartingIndex, 2u);
    EXPECT_EQ(runs[2].StartingIndex, 10u);
    EXPECT_EQ(RtlFindClearRuns(&map, runs, 3, TRUE), 3u);
    EXPECT_EQ(runs[0].StartingIndex, 35u);
    EXPECT_EQ(runs[1].StartingIndex, 5u);
    EXPECT_EQ(runs[2].StartingIndex, 10u);
    RtlSetBits(&map, 0, 35);
    EXPECT_EQ(RtlFindClearRuns(&map, runs, 3, TRUE), 1u);
    EXPECT_EQ(runs[0].NumberOfBits, 5u);
}

TEST_F(BitMap, LastClearRun_EndsAtOrBeforeTheIndex) {
    RtlSetAllBits(&map);
    RtlClearBits(&map, 5, 3);
    ULONG start = 0;
    EXPECT_EQ(RtlFindLastBackwardRunClear(&map, 39, &start), 3u);
    EXPECT_EQ(start, 5u);
    EXPECT_EQ(RtlFindLastBackwardRunClear(&map, 6, &start), 2u);
    EXPECT_EQ(RtlFindLastBackwardRunClear(&map, 4, &start), 0u);
}

TEST(TimeFields, ThereAndBack_IsTheSame) {
    LARGE_INTEGER time;
    TIME_FIELDS fields{2024, 2, 29, 23, 59, 58, 125, 0};
    ASSERT_TRUE(RtlTimeFieldsToTime(&fields, &time));
    TIME_FIELDS back{};
    RtlTimeToTimeFields(&time, &back);
    EXPECT_EQ(back.Day, 29);
    EXPECT_EQ(back.Milliseconds, 125);
    EXPECT_EQ(back.Weekday, 4); // a Thursday
    fields.Year = 2023;
    EXPECT_FALSE(RtlTimeFieldsToTime(&fields, &time));
}

TEST(Pool, ZeroedAndOldForms_Allocate) {
    auto* zeroed = static_cast<UCHAR*>(ExAllocatePoolZero(
        static_cast<POOL_TYPE>(NonPagedPool | POOL_RAISE_IF_ALLOCATION_FAILURE), 64, 'tseT'));
    ASSERT_NE(zeroed, nullptr);
    EXPECT_TRUE(RtlIsZeroMemory(zeroed, 64));
    ExFreePoolWithTag(zeroed, 'tseT');
    PVOID plain = ExAllocatePool(PagedPool, 8);
    ASSERT_NE(plain, nullptr);
    ExFreePool(plain);
}

TEST(InterlockedList, PushAndPop_GoLastInFirstOut) {
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    SINGLE_LIST_ENTRY head{};
    SINGLE_LIST_ENTRY first{};
    SINGLE_LIST_ENTRY second{};
    EXPECT_EQ(ExInterlockedPushEntryList(&head, &first, &lock), nullptr);
    EXPECT_EQ(ExInterlockedPushEntryList(&head, &second, &lock), &first);
    EXPECT_EQ(ExInterlockedPopEntryList(&head, &lock), &second);
    EXPECT_EQ(ExInterlockedPopEntryList(&head, &lock), &first);
    EXPECT_EQ(ExInterlockedPopEntryList(&head, &lock), nullptr);
}

} // namespace
