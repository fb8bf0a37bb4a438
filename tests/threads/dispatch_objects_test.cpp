// Events, semaphores, mutexes and queues under real contention.
#include "concurrent_rounds.hpp"

#include <support/ke_shorthand.hpp>

#include <gtest/gtest.h>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

class DispatcherObjectStress : public ::testing::Test {
protected:
    asio_machine machine_{{.processors = 2}};
};

// A signal ends the wait, or the event stays signalled.
TEST_F(DispatcherObjectStress, SetRacesWithTimeout_NoSignalLost) {
    event one(SynchronizationEvent);
    NTSTATUS status = STATUS_UNSUCCESSFUL;
    run_concurrent_rounds(
        machine_, 1000,
        {[&](int round) { status = wait_at_most(&one, round % 8 * 20 * microsecond); },
         [&](int round) {
             KeStallExecutionProcessor(static_cast<ULONG>(round % 7) * 20);
             set(one);
         }},
        [&](int) { EXPECT_EQ(KeResetEvent(&one), status == STATUS_TIMEOUT ? 1 : 0); });
}

TEST_F(DispatcherObjectStress, TwoSignalsTwoWaiters_EachSignalReleasesOneWaiter) {
    event one(SynchronizationEvent), other(SynchronizationEvent);
    run_concurrent_rounds(machine_, 1000,
                          {[&](int) {
                               PVOID both[] = {&one, &other};
                               KeWaitForMultipleObjects(2, both, WaitAny, Executive, KernelMode,
                                                        FALSE, nullptr, nullptr);
                           },
                           [&](int) {
                               PVOID both[] = {&other, &one};
                               KeWaitForMultipleObjects(2, both, WaitAny, Executive, KernelMode,
                                                        FALSE, nullptr, nullptr);
                           },
                           [&](int) { set(one); }, [&](int) { set(other); }},
                          [&](int) {
                              EXPECT_EQ(KeReadStateEvent(&one) + KeReadStateEvent(&other), 0);
                              EXPECT_TRUE(IsListEmpty(&one.Header.WaitListHead));
                          });
}

TEST_F(DispatcherObjectStress, WaitAllOnTwoMutexes_ExcludesOtherHolders) {
    KMUTEX forks[3];
    for (KMUTEX& each : forks)
        KeInitializeMutex(&each, 0);
    int meals[3] = {}; // guarded by the fork of that number
    const auto eat = [&](std::size_t left) {
        const std::size_t right = (left + 1) % 3;
        PVOID both[] = {&forks[left], &forks[right]};
        KeWaitForMultipleObjects(2, both, WaitAll, Executive, KernelMode, FALSE, nullptr, nullptr);
        ++meals[left];
        ++meals[right];
        KeReleaseMutex(&forks[left], FALSE);
        KeReleaseMutex(&forks[right], FALSE);
    };
    run_concurrent_rounds(machine_, 1000,
                          {[&](int) { eat(0); }, [&](int) { eat(1); }, [&](int) { eat(2); }},
                          [&](int round) {
                              for (const int each : meals)
                                  EXPECT_EQ(each, 2 * (round + 1));
                          });
}

TEST_F(DispatcherObjectStress, Semaphore_AdmitsAtMostItsLimit) {
    KSEMAPHORE places;
    const machine::scope inside(machine_);
    KeInitializeSemaphore(&places, 2, 2);
    LONG in_there = 0;
    const auto visit = [&](int) {
        wait(&places);
        EXPECT_LE(InterlockedIncrement(&in_there), 2);
        InterlockedDecrement(&in_there);
        KeReleaseSemaphore(&places, IO_NO_INCREMENT, 1, FALSE);
    };
    run_concurrent_rounds(machine_, 500, {visit, visit, visit, visit},
                          [&](int) { EXPECT_EQ(KeReadStateSemaphore(&places), 2); });
}

TEST_F(DispatcherObjectStress, FastMutex_HasOneHolderAtATime) {
    FAST_MUTEX mutex;
    ExInitializeFastMutex(&mutex);
    int count = 0;
    const auto add = [&](int) {
        ExAcquireFastMutex(&mutex);
        ++count;
        ExReleaseFastMutex(&mutex);
    };
    const auto try_to_add = [&](int) {
        if (!ExTryToAcquireFastMutex(&mutex)) ExAcquireFastMutex(&mutex);
        ++count;
        ExReleaseFastMutex(&mutex);
    };
    run_concurrent_rounds(machine_, 1000, {add, try_to_add, add},
                          [&](int round) { EXPECT_EQ(count, 3 * (round + 1)); });
}

// The waiter of the rundown frees the object after the last use.
TEST_F(DispatcherObjectStress, Rundown_WaitsForLastUser) {
    EX_RUNDOWN_REF door;
    ExInitializeRundownProtection(&door);
    auto object = std::make_unique<LONG>(0);
    const auto use = [&](int) {
        if (!ExAcquireRundownProtection(&door)) return;
        InterlockedIncrement(object.get());
        ExReleaseRundownProtection(&door);
    };
    run_concurrent_rounds(machine_, 1000,
                          {use, use,
                           [&](int) {
                               ExWaitForRundownProtectionRelease(&door);
                               object.reset();
                           }},
                          [&](int) {
                              object = std::make_unique<LONG>(0);
                              ExReInitializeRundownProtection(&door);
                          });
}

// Each entry is either removed or returned by the rundown.
TEST_F(DispatcherObjectStress, QueueInsertRacesWithRundown_NoEntryLost) {
    KQUEUE queue;
    const machine::scope inside(machine_);
    KeInitializeQueue(&queue, 1);
    constexpr int many = 8;
    LIST_ENTRY entries[many];
    LONG served = 0;
    LONG given_back = 0;
    const auto run_down = [&] {
        LIST_ENTRY* const first = KeRundownQueue(&queue);
        for (LIST_ENTRY* each = first; each != nullptr;) {
            ++given_back;
            each = each->Flink != first ? each->Flink : nullptr;
        }
    };
    const auto serve = [&](int) {
        LARGE_INTEGER timeout = from_now(50 * microsecond);
        LIST_ENTRY* taken[3];
        const ULONG count = KeRemoveQueueEx(&queue, KernelMode, FALSE, &timeout, taken, 3);
        InterlockedExchangeAdd(&served, static_cast<LONG>(count));
    };
    run_concurrent_rounds(machine_, 500,
                          {serve, serve,
                           [&](int) {
                               for (LIST_ENTRY& each : entries)
                                   KeInsertQueue(&queue, &each);
                           },
                           [&](int) { run_down(); }},
                          [&](int) {
                              run_down();
                              EXPECT_EQ(served + given_back, many);
                              served = given_back = 0;
                          });
}

} // namespace
