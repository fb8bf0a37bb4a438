#include <dispatch/interlocked.h>

#include <gtest/gtest.h>

namespace {

TEST(Interlocked, IncrementAndExchange_ReturnNewAndOldValue) {
    LONG value = 5;
    EXPECT_EQ(InterlockedIncrement(&value), 6);
    EXPECT_EQ(InterlockedDecrement(&value), 5);
    EXPECT_EQ(InterlockedExchangeAdd(&value, 10), 5);
    EXPECT_EQ(InterlockedExchange(&value, 3), 15);
    EXPECT_EQ(value, 3);
}

TEST(Interlocked, CompareExchange_StoresOnlyIfEqual) {
    LONG value = 5;
    EXPECT_EQ(InterlockedCompareExchange(&value, 9, 4), 5);
    EXPECT_EQ(value, 5);
    EXPECT_EQ(InterlockedCompareExchange(&value, 9, 5), 5);
    EXPECT_EQ(value, 9);
}

TEST(Interlocked, AndOr_ReturnOldValue) {
    LONG value = 6;
    EXPECT_EQ(InterlockedAnd(&value, 3), 6);
    EXPECT_EQ(value, 2);
    EXPECT_EQ(InterlockedOr(&value, 8), 2);
    EXPECT_EQ(value, 10);
}

TEST(Interlocked, SixtyFourBitForms_CarryAcrossWords) {
    LONG64 value = 0xffffffff;
    EXPECT_EQ(InterlockedIncrement64(&value), 0x100000000);
    EXPECT_EQ(InterlockedDecrement64(&value), 0xffffffff);
    EXPECT_EQ(InterlockedExchangeAdd64(&value, 1), 0xffffffff);
    EXPECT_EQ(InterlockedExchange64(&value, -1), 0x100000000);
    EXPECT_EQ(InterlockedCompareExchange64(&value, 7, -1), -1);
    EXPECT_EQ(InterlockedCompareExchange64(&value, 8, -1), 7);
    EXPECT_EQ(value, 7);
}

TEST(Interlocked, PointerExchange_ReturnsOldPointer) {
    int one = 0;
    int two = 0;
    PVOID value = &one;
    EXPECT_EQ(InterlockedExchangePointer(&value, &two), &one);
    EXPECT_EQ(InterlockedCompareExchangePointer(&value, &one, nullptr), &two);
    EXPECT_EQ(value, &two);
    EXPECT_EQ(InterlockedCompareExchangePointer(&value, &one, &two), &two);
    EXPECT_EQ(value, &one);
}

TEST(ExInterlocked, ListInsertAndRemove_ReturnPreviousEndAndFirstEntry) {
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    LIST_ENTRY head, one, two, three;
    InitializeListHead(&head);
    EXPECT_EQ(ExInterlockedRemoveHeadList(&head, &lock), nullptr);
    EXPECT_EQ(ExInterlockedInsertTailList(&head, &one, &lock), nullptr);
    EXPECT_EQ(ExInterlockedInsertTailList(&head, &two, &lock), &one);
    EXPECT_EQ(ExInterlockedInsertHeadList(&head, &three, &lock), &one);
    for (LIST_ENTRY* expected : {&three, &one, &two})
        EXPECT_EQ(ExInterlockedRemoveHeadList(&head, &lock), expected);
    EXPECT_EQ(ExInterlockedInsertHeadList(&head, &one, &lock), nullptr);
    EXPECT_EQ(lock, 0u);
    EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
}

} // namespace
