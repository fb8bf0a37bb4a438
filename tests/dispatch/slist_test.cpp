#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>
#include <support/ke_shorthand.hpp>

#include <set>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

struct slist : SLIST_HEADER {
    slist() { InitializeSListHead(this); }
};

TEST(SList, PushAndPop_AreLastInFirstOut) {
    slist list;
    SLIST_ENTRY one, two;
    EXPECT_EQ(InterlockedPopEntrySList(&list), nullptr);
    EXPECT_EQ(InterlockedPushEntrySList(&list, &one), nullptr);
    EXPECT_EQ(InterlockedPushEntrySList(&list, &two), &one);
    EXPECT_EQ(QueryDepthSList(&list), 2);
    EXPECT_EQ(InterlockedPopEntrySList(&list), &two);
    EXPECT_EQ(InterlockedPopEntrySList(&list), &one);
    EXPECT_EQ(InterlockedPopEntrySList(&list), nullptr);
    EXPECT_EQ(QueryDepthSList(&list), 0);
}

TEST(SList, Flush_ReturnsWholeChainNewestFirst) {
    slist list;
    SLIST_ENTRY entries[3];
    EXPECT_EQ(InterlockedFlushSList(&list), nullptr);
    for (SLIST_ENTRY& each : entries)
        InterlockedPushEntrySList(&list, &each);
    SLIST_ENTRY* chain = InterlockedFlushSList(&list);
    for (std::size_t i = 3; i-- > 0; chain = chain->Next)
        EXPECT_EQ(chain, &entries[i]);
    EXPECT_EQ(chain, nullptr);
    EXPECT_EQ(QueryDepthSList(&list), 0);
}

// A pop may be counted before the push of the entry that it took.
TEST(SList, NegativeDepth_QueriedAsZero) {
    slist list;
    list.Depth = ~0u;
    EXPECT_EQ(QueryDepthSList(&list), 0);
}

TEST(SListExplored, ConcurrentPopPushAndFlush_EachEntryFoundOnce) {
    explore_options options;
    options.exhaustive_runs = 20'000;
    options.preemption_bound = 2;
    expect_explored(options, [](sim_machine& machine) {
        slist list;
        SLIST_ENTRY entries[3];
        for (SLIST_ENTRY& each : entries)
            InterlockedPushEntrySList(&list, &each);
        std::multiset<SLIST_ENTRY*> found;
        // Pops two entries and pushes the first one again, which exposes an ABA error.
        for (const char* name : {"one", "two"})
            machine.spawn(name, [&] {
                SLIST_ENTRY* first = InterlockedPopEntrySList(&list);
                SLIST_ENTRY* second = InterlockedPopEntrySList(&list);
                if (first != nullptr) InterlockedPushEntrySList(&list, first);
                if (second != nullptr) found.insert(second);
            });
        machine.spawn("flush", [&] {
            for (SLIST_ENTRY* each = InterlockedFlushSList(&list); each != nullptr;
                 each = each->Next)
                found.insert(each);
        });
        machine.run();
        while (SLIST_ENTRY* each = InterlockedPopEntrySList(&list))
            found.insert(each);
        EXPECT_EQ(found.size(), 3u);
        for (SLIST_ENTRY& each : entries)
            EXPECT_EQ(found.count(&each), 1u);
        EXPECT_EQ(QueryDepthSList(&list), 0);
    });
}

} // namespace
