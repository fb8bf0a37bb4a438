#include <dispatch/ntdef.h>

#include <gtest/gtest.h>

#include <vector>

namespace {

struct item {
    int number = 0;
    LIST_ENTRY entry{};
    SINGLE_LIST_ENTRY single{};
};

struct list : LIST_ENTRY {
    list() { InitializeListHead(this); }

    /// Walks forwards; checks that the backward links agree.
    std::vector<int> numbers() const {
        std::vector<int> found;
        for (const LIST_ENTRY* each = Flink; each != this; each = each->Flink) {
            EXPECT_EQ(each->Flink->Blink, each);
            found.push_back(CONTAINING_RECORD(each, const item, entry)->number);
        }
        return found;
    }
};

using numbers = std::vector<int>;

TEST(ListEntry, EmptyHead_PointsToItself) {
    list head;
    EXPECT_TRUE(IsListEmpty(&head));
    EXPECT_EQ(head.Flink, &head);
    EXPECT_EQ(head.Blink, &head);
}

TEST(ListEntry, InsertHeadAndTail_KeepOrder) {
    list head;
    item one{1}, two{2}, three{3};
    InsertTailList(&head, &one.entry);
    InsertTailList(&head, &two.entry);
    InsertHeadList(&head, &three.entry);
    EXPECT_FALSE(IsListEmpty(&head));
    EXPECT_EQ(head.numbers(), (numbers{3, 1, 2}));
    EXPECT_EQ(RemoveHeadList(&head), &three.entry);
    EXPECT_EQ(RemoveTailList(&head), &two.entry);
    EXPECT_EQ(head.numbers(), numbers{1});
}

TEST(ListEntry, RemoveEntry_ReturnsWhetherListIsEmpty) {
    list head;
    item one{1}, two{2}, three{3};
    for (item* each : {&one, &two, &three})
        InsertTailList(&head, &each->entry);
    EXPECT_FALSE(RemoveEntryList(&two.entry));
    EXPECT_EQ(head.numbers(), (numbers{1, 3}));
    EXPECT_FALSE(RemoveEntryList(&one.entry));
    EXPECT_TRUE(RemoveEntryList(&three.entry));
    EXPECT_TRUE(IsListEmpty(&head));
}

TEST(ListEntry, AppendTailListWithoutHead_KeepsOrder) {
    list head, other;
    item one{1}, two{2}, three{3};
    InsertTailList(&head, &one.entry);
    InsertTailList(&other, &two.entry);
    InsertTailList(&other, &three.entry);
    LIST_ENTRY* chain = other.Flink;
    RemoveEntryList(&other);
    AppendTailList(&head, chain);
    EXPECT_EQ(head.numbers(), (numbers{1, 2, 3}));
}

TEST(SingleListEntry, PushAndPop_AreLastInFirstOut) {
    SINGLE_LIST_ENTRY head{};
    item one{1}, two{2};
    EXPECT_EQ(PopEntryList(&head), nullptr);
    PushEntryList(&head, &one.single);
    PushEntryList(&head, &two.single);
    EXPECT_EQ(PopEntryList(&head), &two.single);
    EXPECT_EQ(PopEntryList(&head), &one.single);
    EXPECT_EQ(PopEntryList(&head), nullptr);
}

TEST(LargeInteger, LowAndHighPart_AreHalvesOfQuadPart) {
    LARGE_INTEGER value;
    value.QuadPart = -2;
    EXPECT_EQ(value.LowPart, 0xfffffffeu);
    EXPECT_EQ(value.HighPart, -1);
    ULARGE_INTEGER wide;
    wide.LowPart = 7;
    wide.HighPart = 1;
    EXPECT_EQ(wide.QuadPart, 0x100000007u);
}

} // namespace
