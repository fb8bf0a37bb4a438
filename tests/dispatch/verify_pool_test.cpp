// Pool memory is freed once, whole, under its tag, and with no live object in it.
#include <dispatch/ke.h>
#include <dispatch/pool.h>
#include <dispatch/support/sanitizers.hpp>
#include <dispatch/testing/explore.hpp>

#include <support/both_machines.hpp>
#include <support/findings.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace irpverbs::testing {
namespace {

using dispatch::detail::check;

constexpr ULONG tag = 0x74736554; // "Test"
constexpr ULONG other_tag = 0x72687445;

template <class T = char>
T* allocate(SIZE_T size = sizeof(T), POOL_FLAGS flags = POOL_FLAG_NON_PAGED) {
    return static_cast<T*>(ExAllocatePool2(flags, size, tag));
}

void nothing(void*) {}
void no_dpc(KDPC*, void*, void*, void*) {}

LARGE_INTEGER far_away() {
    LARGE_INTEGER far;
    far.QuadPart = -36'000'000'000;
    return far;
}

TEST(PoolZeroBytes, Broken_IsReported) {
    findings seen{check::pool};
    ExFreePool(allocate(0));
    EXPECT_TRUE(only_reported(seen, "PoolZeroBytes", violation, 0x00));
}

TEST(PoolZeroBytes, Kept_IsNotReported) {
    const findings seen{check::pool};
    ExFreePool(allocate(1));
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(PoolBadAddress, Broken_IsReported) {
    findings seen{check::pool};
    char* block = allocate(64);
    ExFreePool(block + 16);
    EXPECT_TRUE(only_reported(seen, "PoolBadAddress", violation, 0x10));
    EXPECT_TRUE(seen.all()[0].has_stack("allocated at"));
    ExFreePool(block);
    seen.clear();
    ExFreePool(nullptr);
    EXPECT_TRUE(only_reported(seen, "PoolBadAddress", violation, 0x10));
}

TEST(PoolBadAddress, Kept_IsNotReported) {
    char* from_before = allocate(64);
    const findings seen{check::pool};
    ExFreePool(from_before);
    ExFreePool(allocate(64));
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(PoolFreedTwice, Broken_IsReported) {
    findings seen{check::pool};
    char* block = allocate(64);
    ExFreePool(block);
    ExFreePool(block);
    EXPECT_TRUE(only_reported(seen, "PoolFreedTwice", violation, 0x13));
    EXPECT_TRUE(seen.all()[0].has_stack("allocated at"));
    EXPECT_TRUE(seen.all()[0].has_stack("freed first at"));
}

TEST(PoolFreedTwice, Kept_IsNotReported) {
    const findings seen{check::pool};
    for (int i = 0; i < 8; ++i)
        ExFreePool(allocate(64)); // the same memory again and again
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(PoolOverrun, Broken_IsReported) {
    findings seen{check::pool};
    char* block = allocate(20);
    block[20] = 1;
    ExFreePool(block);
    EXPECT_TRUE(only_reported(seen, "PoolOverrun", violation, 0x51));
    EXPECT_TRUE(seen.all()[0].has_stack("allocated at"));
}

TEST(PoolOverrunRule, LastByteOfTheGuard_IsReported) {
    findings seen{check::pool};
    char* block = allocate(20);
    block[20 + 63] = 1;
    ExFreePool(block);
    EXPECT_TRUE(only_reported(seen, "PoolOverrun", violation, 0x51));
}

TEST(PoolOverrun, Kept_IsNotReported) {
    const findings seen{check::pool};
    char* block = allocate(20);
    std::memset(block, 1, 20);
    ExFreePool(block);
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(PoolWrongTag, Broken_IsReported) {
    findings seen{check::pool};
    ExFreePoolWithTag(allocate(8), other_tag);
    EXPECT_TRUE(only_reported(seen, "PoolWrongTag", BAD_POOL_CALLER, 0x0A));
    EXPECT_NE(seen.all()[0].text.find("'Test'"), std::string::npos) << seen.text();
}

TEST(PoolWrongTag, Kept_IsNotReported) {
    const findings seen{check::pool};
    ExFreePoolWithTag(allocate(8), tag);
    ExFreePoolWithTag(allocate(8), 0);
    EXPECT_TRUE(nothing_reported(seen));
}

// Leaves so many allocated blocks when its machine stops.
void leave_blocks(int count, bool freed) {
    dispatch::random_choices chance(1);
    dispatch::sim_machine machine(chance);
    std::vector<void*> blocks;
    machine.spawn("driver", [&] {
        for (int i = 0; i < count; ++i)
            blocks.push_back(allocate(100));
        for (void* each : blocks)
            if (freed) ExFreePool(each);
    });
    machine.run();
}

TEST(PoolLeak, Broken_IsReported) {
    findings seen{check::pool};
    leave_blocks(3, false);
    EXPECT_TRUE(only_reported(seen, "PoolLeak", violation, 0x62));
    const reported_finding leak = seen.all()[0];
    EXPECT_EQ(leak.parameters[1], tag);
    EXPECT_EQ(leak.parameters[2], 3u);
    EXPECT_EQ(leak.parameters[3], 300u);
    EXPECT_TRUE(leak.has_stack("the first one allocated at"));
}

TEST(PoolLeak, Kept_IsNotReported) {
    const findings seen{check::pool};
    leave_blocks(3, true);
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(PoolTags, AllocateAndFree_UsageIsCounted) {
    const checks_scope on{check::pool};
    constexpr ULONG own = 0x6E774F31;
    POOL_TAG_USAGE usage;
    EXPECT_FALSE(ExQueryPoolTagUsage(own, &usage));
    void* first = ExAllocatePool2(POOL_FLAG_NON_PAGED, 100, own);
    void* second = ExAllocatePool2(POOL_FLAG_NON_PAGED, 50, own);
    ExFreePoolWithTag(first, own);
    ASSERT_TRUE(ExQueryPoolTagUsage(own, &usage));
    EXPECT_EQ(usage.Allocations, 2u);
    EXPECT_EQ(usage.Frees, 1u);
    EXPECT_EQ(usage.Bytes, 50u);
    EXPECT_EQ(usage.PeakBytes, 150u);
    ExFreePoolWithTag(second, own);
    POOL_TAG_USAGE all;
    ASSERT_TRUE(ExQueryPoolTagUsage(0, &all));
    EXPECT_GE(all.Allocations, 2u);
}

TEST(TimerFreed, Broken_IsReported) {
    findings seen{check::pool};
    auto* timer = allocate<KTIMER>();
    KeInitializeTimer(timer);
    KeSetTimer(timer, far_away(), nullptr);
    // The test goes on to use the memory, so it calls the check without freeing.
    dispatch::detail::check_freed_memory(timer, sizeof *timer);
    EXPECT_TRUE(only_reported(seen, "TimerFreed", violation, 0x15));
    EXPECT_TRUE(seen.all()[0].has_stack("alive since"));
    KeCancelTimer(timer);
    ExFreePool(timer);
}

TEST(TimerFreed, Kept_IsNotReported) {
    const findings seen{check::pool};
    auto* timer = allocate<KTIMER>();
    KeInitializeTimer(timer);
    KeSetTimer(timer, far_away(), nullptr);
    KeCancelTimer(timer);
    ExFreePool(timer);
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(TimerFreedRule, ExpiredTimerFreed_IsAccepted) {
    const findings seen{check::pool};
    dispatch::random_choices chance(1);
    dispatch::sim_machine machine(chance);
    machine.spawn("driver", [] {
        auto* timer = allocate<KTIMER>();
        KeInitializeTimer(timer);
        LARGE_INTEGER soon;
        soon.QuadPart = -100;
        KeSetTimer(timer, soon, nullptr);
        KeWaitForSingleObject(timer, Executive, KernelMode, FALSE, nullptr);
        ExFreePool(timer);
    });
    EXPECT_TRUE(machine.run());
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(TimerReinitialised, Broken_IsReported) {
    findings seen{check::pool};
    KTIMER timer;
    KeInitializeTimer(&timer);
    KeSetTimer(&timer, far_away(), nullptr);
    const KTIMER set = timer;
    EXPECT_TRUE(nothing_reported(seen));
    KeCancelTimer(&timer);
    KeSetTimer(&timer, far_away(), nullptr);
    KeInitializeTimer(&timer);
    EXPECT_TRUE(only_reported(seen, "TimerReinitialised", TIMER_OR_DPC_INVALID, 0));
    timer = set; // still in the timer wheel
    KeCancelTimer(&timer);
}

TEST(TimerReinitialised, Kept_IsNotReported) {
    const findings seen{check::pool};
    KTIMER timer;
    for (int i = 0; i < 2; ++i) {
        KeInitializeTimer(&timer);
        KeSetTimer(&timer, far_away(), nullptr);
        KeCancelTimer(&timer);
    }
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(DpcFreed, Broken_IsReported) {
    findings seen{check::pool};
    auto* dpc = allocate<KDPC>();
    KeInitializeDpc(dpc, no_dpc, nullptr);
    const at_dispatch_level raised;
    KeInsertQueueDpc(dpc, nullptr, nullptr);
    dispatch::detail::check_freed_memory(dpc, sizeof *dpc);
    EXPECT_TRUE(only_reported(seen, "DpcFreed", TIMER_OR_DPC_INVALID, 1));
    EXPECT_TRUE(seen.all()[0].has_stack("alive since"));
    KeRemoveQueueDpc(dpc);
    ExFreePool(dpc);
}

void free_dpc(KDPC* dpc, void*, void*, void*) { ExFreePool(dpc); }

TEST(DpcFreed, Kept_IsNotReported) {
    const findings seen{check::pool};
    auto* dpc = allocate<KDPC>();
    KeInitializeDpc(dpc, free_dpc, nullptr); // a DPC may free itself
    KeInsertQueueDpc(dpc, nullptr, nullptr);
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(DpcReinitialised, Broken_IsReported) {
    findings seen{check::pool};
    KDPC dpc;
    KeInitializeDpc(&dpc, no_dpc, nullptr);
    const at_dispatch_level raised;
    KeInsertQueueDpc(&dpc, nullptr, nullptr);
    const KDPC queued = dpc;
    KeInitializeDpc(&dpc, no_dpc, nullptr);
    EXPECT_TRUE(only_reported(seen, "DpcReinitialised", TIMER_OR_DPC_INVALID, 0x49520002));
    dpc = queued;
}

TEST(DpcReinitialised, Kept_IsNotReported) {
    const findings seen{check::pool};
    KDPC dpc;
    for (int i = 0; i < 2; ++i) {
        KeInitializeDpc(&dpc, no_dpc, nullptr);
        KeInsertQueueDpc(&dpc, nullptr, nullptr);
    }
    EXPECT_TRUE(nothing_reported(seen));
}

// A machine whose worker runs only while this thread waits.
struct quiet_machine {
    dispatch::random_choices chance{1};
    dispatch::sim_machine machine{chance};
    dispatch::machine::scope here{machine};

    void let_it_run() {
        LARGE_INTEGER a_while;
        a_while.QuadPart = -1000;
        KeDelayExecutionThread(KernelMode, FALSE, &a_while);
    }
};

TEST(WorkItemFreed, Broken_IsReported) {
    findings seen{check::pool};
    quiet_machine quiet;
    auto* item = allocate<WORK_QUEUE_ITEM>();
    ExInitializeWorkItem(item, nothing, nullptr);
    ExQueueWorkItem(item, DelayedWorkQueue);
    dispatch::detail::check_freed_memory(item, sizeof *item);
    EXPECT_TRUE(only_reported(seen, "WorkItemFreed", INVALID_WORK_QUEUE_ITEM, 0x49520003));
    quiet.let_it_run();
    ExFreePool(item);
}

TEST(WorkItemFreed, Kept_IsNotReported) {
    const findings seen{check::pool};
    quiet_machine quiet;
    auto* item = allocate<WORK_QUEUE_ITEM>();
    ExInitializeWorkItem(item, ExFreePool, item); // a work item may free itself
    ExQueueWorkItem(item, DelayedWorkQueue);
    quiet.let_it_run();
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(WorkItemReinitialised, Broken_IsReported) {
    findings seen{check::pool};
    quiet_machine quiet;
    WORK_QUEUE_ITEM item;
    ExInitializeWorkItem(&item, nothing, nullptr);
    ExQueueWorkItem(&item, DelayedWorkQueue);
    const WORK_QUEUE_ITEM queued = item;
    ExInitializeWorkItem(&item, nothing, nullptr);
    EXPECT_TRUE(only_reported(seen, "WorkItemReinitialised", INVALID_WORK_QUEUE_ITEM, 0x49520004));
    item = queued;
    quiet.let_it_run();
}

TEST(WorkItemReinitialised, Kept_IsNotReported) {
    const findings seen{check::pool};
    quiet_machine quiet;
    WORK_QUEUE_ITEM item;
    for (int i = 0; i < 2; ++i) {
        ExInitializeWorkItem(&item, nothing, nullptr);
        ExQueueWorkItem(&item, DelayedWorkQueue);
        quiet.let_it_run();
    }
    EXPECT_TRUE(nothing_reported(seen));
}

void queue_item_in(POOL_FLAGS flags) {
    quiet_machine quiet;
    auto* item = allocate<WORK_QUEUE_ITEM>(sizeof(WORK_QUEUE_ITEM), flags);
    ExInitializeWorkItem(item, nothing, nullptr);
    ExQueueWorkItem(item, DelayedWorkQueue);
    quiet.let_it_run();
    ExFreePool(item);
}

TEST(WorkItemPaged, Broken_IsReported) {
    findings seen{check::pool};
    queue_item_in(POOL_FLAG_PAGED);
    EXPECT_TRUE(only_reported(seen, "WorkItemPaged", violation, 0x130));
}

TEST(WorkItemPaged, Kept_IsNotReported) {
    const findings seen{check::pool};
    queue_item_in(POOL_FLAG_NON_PAGED);
    EXPECT_TRUE(nothing_reported(seen));
}

void use_lookaside(NPAGED_LOOKASIDE_LIST& list) {
    ExInitializeNPagedLookasideList(&list, nullptr, nullptr, 0, 32, tag, 0);
    ExFreeToNPagedLookasideList(&list, ExAllocateFromNPagedLookasideList(&list));
}

TEST(LookasideFreed, Broken_IsReported) {
    findings seen{check::pool};
    auto* list = allocate<NPAGED_LOOKASIDE_LIST>();
    use_lookaside(*list);
    dispatch::detail::check_freed_memory(list, sizeof *list);
    EXPECT_TRUE(only_reported(seen, "LookasideFreed", violation, 0x49520005));
    ExDeleteNPagedLookasideList(list);
    ExFreePool(list);
}

TEST(LookasideFreed, Kept_IsNotReported) {
    const findings seen{check::pool};
    auto* list = allocate<NPAGED_LOOKASIDE_LIST>();
    use_lookaside(*list);
    ExDeleteNPagedLookasideList(list);
    ExFreePool(list);
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(LookasideReinitialised, Broken_IsReported) {
    findings seen{check::pool};
    NPAGED_LOOKASIDE_LIST list;
    use_lookaside(list);
    const NPAGED_LOOKASIDE_LIST with_free_entries = list;
    ExInitializeNPagedLookasideList(&list, nullptr, nullptr, 0, 32, tag, 0);
    EXPECT_TRUE(only_reported(seen, "LookasideReinitialised", violation, 0x49520006));
    list = with_free_entries;
    ExDeleteNPagedLookasideList(&list);
}

TEST(LookasideReinitialised, Kept_IsNotReported) {
    const findings seen{check::pool};
    NPAGED_LOOKASIDE_LIST list;
    for (int i = 0; i < 2; ++i) {
        use_lookaside(list);
        ExDeleteNPagedLookasideList(&list);
    }
    EXPECT_TRUE(nothing_reported(seen));
}

// Blocks left behind by an abandoned run are no leaks of the next one, whose machine may lie at the
// same address.
/// The report that ends a simulated run; "" if it passes.
std::string report_of_run(const std::function<void()>& body) {
    const checks_scope checks{check::pool, check::locks};
    dispatch::explore_options once;
    once.random_runs = 1;
    once.pct_runs = once.shrink_budget = 0;
    const auto summary = dispatch::explore(once, [&](dispatch::sim_machine& sim) {
        sim.spawn("user", body);
        sim.run();
    });
    return summary.failure ? summary.failure->what : "";
}
std::string rule_of_run(const std::function<void()>& body) { return rule_in(report_of_run(body)); }

void set_event(bool freed_first) {
    auto* event = allocate<KEVENT>();
    KeInitializeEvent(event, NotificationEvent, FALSE);
    if (freed_first) ExFreePool(event);
    KeSetEvent(event, IO_NO_INCREMENT, FALSE);
    if (!freed_first) ExFreePool(event);
}

TEST(FreedMemoryUsed, Broken_IsReported) {
    const std::string report = report_of_run([] { set_event(true); });
    EXPECT_EQ(rule_in(report), "FreedMemoryUsed") << report;
    for (const char* part : {"PAGE_FAULT_IN_FREED_SPECIAL_POOL (0x49520007", "an event is set that",
                             "tag 'Test'", "stack (freed at)"})
        EXPECT_NE(report.find(part), std::string::npos) << part << " is missing:\n" << report;
}

TEST(FreedMemoryUsed, Kept_IsNotReported) {
    EXPECT_EQ(report_of_run([] { set_event(false); }), "");
}

TEST(FreedMemoryUsedRule, LockTimerAndWait_AreReported) {
    EXPECT_EQ(rule_of_run([] {
                  auto* lock = allocate<KSPIN_LOCK>();
                  KeInitializeSpinLock(lock);
                  ExFreePool(lock);
                  KeAcquireSpinLockRaiseToDpc(lock);
              }),
              "FreedMemoryUsed");
    EXPECT_EQ(rule_of_run([] {
                  auto* timer = allocate<KTIMER>();
                  KeInitializeTimer(timer);
                  ExFreePool(timer);
                  KeSetTimer(timer, far_away(), nullptr);
              }),
              "FreedMemoryUsed");
    EXPECT_EQ(rule_of_run([] {
                  auto* event = allocate<KEVENT>();
                  KeInitializeEvent(event, NotificationEvent, TRUE);
                  ExFreePool(event);
                  KeWaitForSingleObject(event, Executive, KernelMode, FALSE, nullptr);
              }),
              "FreedMemoryUsed");
}

#if !IRPVERBS_ADDRESS_SANITIZER // which stops the program at the write
TEST(FreedMemoryWritten, Broken_IsReported) {
    EXPECT_EQ(rule_of_run([] {
                  char* block = allocate(64);
                  ExFreePool(block);
                  block[40] = 1;
              }),
              "FreedMemoryWritten");
}

TEST(FreedMemoryWrittenRule, BytesBehindTheLastWord_AreReported) {
    for (const SIZE_T size : {1, 4, 15})
        EXPECT_EQ(rule_of_run([size] {
                      char* block = allocate(size);
                      ExFreePool(block);
                      block[size - 1] = 1;
                  }),
                  "FreedMemoryWritten")
            << size;
}
#endif

TEST(FreedMemoryWritten, Kept_IsNotReported) {
    EXPECT_EQ(rule_of_run([] {
                  char* block = allocate(64);
                  block[40] = 1;
                  ExFreePool(block);
              }),
              "");
}

TEST(PoolFreedTwiceRule, MemoryOfAnEarlierRunGivenOutUnchecked_IsNotReported) {
    EXPECT_EQ(rule_of_run([] { ExFreePool(allocate(64)); }), "");
    std::array<char*, 16> later{};
    for (char*& each : later)
        each = allocate(64 + 64); // as large as the block with its guard
    const findings seen{check::pool};
    for (char* each : later)
        ExFreePool(each);
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(FreedMemory, MoreThanIsKeptBack_TheOldestIsGivenBack) {
    EXPECT_EQ(rule_of_run([] {
                  for (int i = 0; i < 6000; ++i)
                      ExFreePool(allocate(512));
              }),
              "");
}

TEST(PoolVerifier, RunEndedByBugCheck_BlocksAreNoLeaksOfNextRun) {
    const checks_scope watched{check::pool};
    dispatch::explore_options one;
    one.random_runs = 1;
    one.pct_runs = 0;
    one.shrink_budget = 0;
    const auto given_up = dispatch::explore(one, [](dispatch::sim_machine& sim) {
        sim.spawn("leaves", [] {
            allocate(8);
            KeBugCheckEx(MANUALLY_INITIATED_CRASH, 0, 0, 0, 0);
        });
        sim.run();
    });
    EXPECT_TRUE(given_up.failure);
    const auto next = dispatch::explore(one, [](dispatch::sim_machine& sim) { sim.run(); });
    EXPECT_TRUE(next.passed()) << next.text();
}

// Blocks may be allocated with the check on and freed with it off, and the reverse.
TEST(PoolVerifier, EnabledAndDisabledBetween_BlocksAreAccepted) {
    const findings seen{check::pool};
    char* watched = nullptr;
    {
        const checks_scope on{check::pool};
        watched = allocate(64);
    }
    {
        const checks_scope off(0);
        ExFreePool(watched);
        ExFreePool(allocate(64));
    }
    ExFreePool(allocate(64));
    EXPECT_TRUE(nothing_reported(seen));
}

} // namespace
} // namespace irpverbs::testing
