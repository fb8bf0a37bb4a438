// Lists in driver code that is compiled with IRPVERBS_CHECKED_INLINES.
#define IRPVERBS_CHECKED_INLINES 1
#include <dispatch/ke.h>
#include <dispatch/testing/explore.hpp>

#include <support/bug_checks.hpp>

#include <gtest/gtest.h>

#include <array>

namespace irpverbs::dispatch {
namespace {

using testing::bug_check_of;

/// A list of one entry.
struct one_entry {
    LIST_ENTRY head{};
    LIST_ENTRY entry{};
    one_entry() {
        InitializeListHead(&head);
        InsertTailList(&head, &entry);
    }
};

// Source: wdm.h since Windows 8, FAST_FAIL_CORRUPT_LIST_ENTRY.
TEST(ListLinks, EntryRemovedTwice_BugChecks) {
    one_entry list;
    RemoveEntryList(&list.entry);
    EXPECT_EQ(bug_check_of([&] { RemoveEntryList(&list.entry); }), KERNEL_SECURITY_CHECK_FAILURE);
}

TEST(ListLinks, EntryThatPointsToItself_IsRemovedAgain) {
    one_entry list;
    RemoveEntryList(&list.entry);
    InitializeListHead(&list.entry);
    EXPECT_TRUE(RemoveEntryList(&list.entry));
}

TEST(ListLinks, EntryNeverInserted_BugChecks) {
    LIST_ENTRY entry{};
    EXPECT_EQ(bug_check_of([&] { RemoveEntryList(&entry); }), KERNEL_SECURITY_CHECK_FAILURE);
}

TEST(ListLinks, InsertionBesideAnEntryThatLeft_BugChecks) {
    one_entry list;
    list.entry.Flink = nullptr; // as freed memory that is filled
    LIST_ENTRY other{};
    EXPECT_EQ(bug_check_of([&] { InsertTailList(&list.head, &other); }),
              KERNEL_SECURITY_CHECK_FAILURE);
    list.entry.Blink = nullptr;
    EXPECT_EQ(bug_check_of([&] { InsertHeadList(&list.head, &other); }),
              KERNEL_SECURITY_CHECK_FAILURE);
}

/// Two actors insert into one list; each with its own lock, or both with the same one.
explore_summary insert_by_two(bool same_lock) {
    explore_options how;
    how.exhaustive_runs = 10'000;
    how.random_runs = how.pct_runs = 0;
    return explore(how, [=](sim_machine& machine) -> std::optional<std::string> {
        static LIST_ENTRY head;
        static std::array<LIST_ENTRY, 2> entries;
        static std::array<KSPIN_LOCK, 2> locks;
        InitializeListHead(&head);
        locks = {};
        for (const std::size_t i : {0u, 1u})
            machine.spawn("inserter", [=] {
                KSPIN_LOCK& lock = locks[same_lock ? 0 : i];
                KIRQL before = PASSIVE_LEVEL;
                KeAcquireSpinLock(&lock, &before);
                InsertTailList(&head, &entries[i]);
                KeReleaseSpinLock(&lock, before);
            });
        machine.run();
        return std::nullopt;
    });
}

TEST(ListLinks, ListUnderTwoLocks_IsFoundByOnePreemption) {
    const explore_summary found = insert_by_two(false);
    ASSERT_TRUE(found.failure);
    EXPECT_EQ(found.failure->preemptions, 1u);
    EXPECT_NE(found.failure->what.find("without the same lock"), std::string::npos)
        << found.failure->what;
}

TEST(ListLinks, ListUnderOneLock_NoScheduleFails) {
    const explore_summary found = insert_by_two(true);
    EXPECT_FALSE(found.failure);
    EXPECT_TRUE(found.exhausted);
}

} // namespace
} // namespace irpverbs::dispatch
