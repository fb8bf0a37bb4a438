// DPCs, timers, work items and lists under real contention.
#include "concurrent_rounds.hpp"

#include <support/ke_shorthand.hpp>

#include <gtest/gtest.h>

#include <memory>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

class DpcTimerWorkItemStress : public ::testing::Test {
protected:
    asio_machine machine_{{.processors = 2}};
    void flush() {
        const machine::scope inside(machine_);
        KeFlushQueuedDpcs();
    }
};

// Runs = insertions - removals, for ordinary and threaded DPCs.
TEST_F(DpcTimerWorkItemStress, DpcInsertRacesWithRemove_RunsEachRemainingInsertion) {
    for (const bool threaded : {false, true}) {
        struct counting : KDPC {
            LONG runs = 0;
        } dpc;
        const PKDEFERRED_ROUTINE count = [](KDPC*, PVOID context, PVOID, PVOID) {
            InterlockedIncrement(&static_cast<counting*>(context)->runs);
        };
        if (threaded)
            KeInitializeThreadedDpc(&dpc, count, &dpc);
        else
            KeInitializeDpc(&dpc, count, &dpc);
        {
            const machine::scope inside(machine_);
            KeSetTargetProcessorDpc(&dpc, 1);
        }
        LONG expected = 0;
        const auto insert = [&](int) {
            if (KeInsertQueueDpc(&dpc, nullptr, nullptr)) InterlockedIncrement(&expected);
        };
        run_concurrent_rounds(machine_, 1000,
                              {insert, insert,
                               [&](int) {
                                   if (KeRemoveQueueDpc(&dpc)) InterlockedDecrement(&expected);
                               }},
                              [](int) {});
        flush();
        EXPECT_EQ(InterlockedExchangeAdd(&dpc.runs, 0), expected);
    }
}

// A successful remove, or else a flush, is enough before the DPC's memory is freed.
TEST_F(DpcTimerWorkItemStress, DpcRemovedOrFlushed_MemoryCanBeFreed) {
    const auto own = [](int round) {
        const auto dpc = std::make_unique<KDPC>();
        const PKDEFERRED_ROUTINE nothing = [](KDPC*, PVOID, PVOID, PVOID) {};
        if (round % 2 == 0)
            KeInitializeDpc(dpc.get(), nothing, nullptr);
        else
            KeInitializeThreadedDpc(dpc.get(), nothing, nullptr);
        KeSetTargetProcessorDpc(dpc.get(), static_cast<CCHAR>(round / 2 % 2));
        KeInsertQueueDpc(dpc.get(), nullptr, nullptr);
        if (!KeRemoveQueueDpc(dpc.get())) KeFlushQueuedDpcs();
    };
    run_concurrent_rounds(machine_, 500, {own, own, own}, [](int) {});
}

// A cancelled timer runs no DPC; an expired one runs it once.
TEST_F(DpcTimerWorkItemStress, TimerCancelRacesWithExpiry_DpcRunsAtMostOncePerSet) {
    KTIMER timer;
    KeInitializeTimer(&timer);
    struct counting : KDPC {
        LONG runs = 0;
    } dpc;
    KeInitializeDpc(
        &dpc,
        [](KDPC*, PVOID context, PVOID, PVOID) {
            InterlockedIncrement(&static_cast<counting*>(context)->runs);
        },
        &dpc);
    LONG cancelled = 0;
    LONG set_again = 0;
    run_concurrent_rounds(machine_, 300,
                          {[&](int) {
                               if (KeSetTimer(&timer, from_now(0), &dpc))
                                   InterlockedIncrement(&set_again);
                           },
                           [&](int) {
                               if (KeSetTimer(&timer, from_now(100 * microsecond), &dpc))
                                   InterlockedIncrement(&set_again);
                           },
                           [&](int round) {
                               KeStallExecutionProcessor(static_cast<ULONG>(round % 40) * 25);
                               if (KeCancelTimer(&timer)) InterlockedIncrement(&cancelled);
                               KeReadStateTimer(&timer);
                           }},
                          [](int) {});
    {
        const machine::scope inside(machine_);
        KeCancelTimer(&timer);
        KeFlushQueuedDpcs();
    }
    EXPECT_LE(InterlockedExchangeAdd(&dpc.runs, 0) + cancelled + set_again, 2 * 300);
}

// A synchronization timer that is set again while others wait for it.
TEST_F(DpcTimerWorkItemStress, TimerSetRacesWithWaits_NoWaitHangs) {
    KTIMER timer;
    KeInitializeTimerEx(&timer, SynchronizationTimer);
    run_concurrent_rounds(machine_, 100,
                          {[&](int) { KeSetTimer(&timer, from_now(20 * microsecond), nullptr); },
                           [&](int) { wait_at_most(&timer, 3 * millisecond); },
                           [&](int) { try_wait(&timer); }},
                          [](int) {});
    const machine::scope inside(machine_);
    KeCancelTimer(&timer);
}

TEST_F(DpcTimerWorkItemStress, TimerCancelledAndDpcsFlushed_MemoryCanBeFreed) {
    const auto own = [](int round) {
        struct owned {
            KTIMER timer;
            KDPC dpc;
        };
        const auto object = std::make_unique<owned>();
        KeInitializeTimer(&object->timer);
        KeInitializeDpc(
            &object->dpc, [](KDPC*, PVOID, PVOID, PVOID) {}, nullptr);
        KeSetTimerEx(&object->timer, from_now(0), round % 2, &object->dpc);
        if (round % 3 == 0) wait(&object->timer);
        KeCancelTimer(&object->timer);
        if (!KeRemoveQueueDpc(&object->dpc)) KeFlushQueuedDpcs();
    };
    run_concurrent_rounds(machine_, 300, {own, own, own}, [](int) {});
}

TEST_F(DpcTimerWorkItemStress, WorkItemRequeued_RunsOncePerQueueing) {
    struct counting {
        WORK_QUEUE_ITEM item;
        LONG* left;
        KEVENT* done;
        int again = 3;
        static void run(PVOID context) {
            auto& self = *static_cast<counting*>(context);
            if (--self.again != 0)
                ExQueueWorkItem(&self.item, CriticalWorkQueue);
            else if (InterlockedDecrement(self.left) == 0)
                set(*self.done);
        }
    };
    event done(SynchronizationEvent);
    LONG left = 0;
    counting items[3];
    std::vector<std::function<void(int)>> roles;
    for (counting& each : items)
        roles.emplace_back([&](int) { ExQueueWorkItem(&each.item, DelayedWorkQueue); });
    roles.emplace_back([&](int) { wait(&done); });
    const auto prepare = [&](int) {
        left = 3;
        for (counting& each : items) {
            each.left = &left;
            each.done = &done;
            each.again = 3;
            ExInitializeWorkItem(&each.item, counting::run, &each);
        }
    };
    prepare(0);
    run_concurrent_rounds(machine_, 500, roles, prepare);
}

// An entry has one owner at a time: after a torn pop or an ABA error it would have two.
TEST_F(DpcTimerWorkItemStress, SListPopRacesWithPush_EachEntryHasOneOwner) {
    struct owned {
        SLIST_ENTRY link;
        LONG owners = 0;
    };
    SLIST_HEADER list;
    InitializeSListHead(&list);
    owned entries[6];
    for (owned& each : entries)
        InterlockedPushEntrySList(&list, &each.link);
    const auto take = [](SLIST_ENTRY* link) {
        auto* entry = CONTAINING_RECORD(link, owned, link);
        EXPECT_EQ(InterlockedIncrement(&entry->owners), 1);
        return entry;
    };
    const auto give = [&](owned* entry) {
        InterlockedDecrement(&entry->owners);
        InterlockedPushEntrySList(&list, &entry->link);
    };
    const auto juggle = [&](int) {
        for (int i = 0; i < 20; ++i) {
            SLIST_ENTRY* first = InterlockedPopEntrySList(&list);
            SLIST_ENTRY* second = InterlockedPopEntrySList(&list);
            owned* one = first != nullptr ? take(first) : nullptr;
            owned* two = second != nullptr ? take(second) : nullptr;
            if (one != nullptr) give(one);
            if (two != nullptr) give(two);
        }
    };
    const auto flush_and_return = [&](int) {
        for (SLIST_ENTRY* each = InterlockedFlushSList(&list); each != nullptr;) {
            SLIST_ENTRY* next = each->Next;
            give(take(each));
            each = next;
        }
    };
    run_concurrent_rounds(machine_, 500, {juggle, juggle, flush_and_return},
                          [&](int) { EXPECT_EQ(QueryDepthSList(&list), 6); });
}

TEST_F(DpcTimerWorkItemStress, LookasideListUsedByThreads_CountsStayExact) {
    NPAGED_LOOKASIDE_LIST list;
    ExInitializeNPagedLookasideList(&list, nullptr, nullptr, 0, 64, 0x6b6f6f6c, 2);
    const auto use = [&](int) {
        PVOID one = ExAllocateFromNPagedLookasideList(&list);
        PVOID two = ExAllocateFromNPagedLookasideList(&list);
        EXPECT_NE(one, two);
        ExFreeToNPagedLookasideList(&list, one);
        ExFreeToNPagedLookasideList(&list, two);
    };
    run_concurrent_rounds(machine_, 1000, {use, use, use}, [&](int round) {
        EXPECT_EQ(list.TotalAllocates, 6u * static_cast<ULONG>(round + 1));
        EXPECT_EQ(list.TotalAllocates, list.TotalFrees);
    });
    ExDeleteNPagedLookasideList(&list);
}

} // namespace
