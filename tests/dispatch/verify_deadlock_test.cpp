// A deadlock that depends on the schedule is found in any schedule, and lock orders that cannot
// deadlock are not reported.
#include <dispatch/ke.h>
#include <dispatch/support/held_locks.hpp>

#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>
#include <support/findings.hpp>

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <new>

namespace irpverbs::testing {
namespace {

using dispatch::explore_options;
using dispatch::explore_summary;
using dispatch::sim_machine;
using dispatch::detail::check;

struct spin_locks {
    std::array<KSPIN_LOCK, 4> all{};
    spin_locks() {
        for (KSPIN_LOCK& each : all)
            KeInitializeSpinLock(&each);
    }
    KSPIN_LOCK& operator[](std::size_t which) { return all[which]; }
};

// Acquires the locks in that order and releases them in the reverse order.
void take(spin_locks& locks, std::initializer_list<std::size_t> order) {
    const at_dispatch_level raised;
    for (const std::size_t each : order)
        KeAcquireSpinLockAtDpcLevel(&locks[each]);
    for (auto each = std::rbegin(order); each != std::rend(order); ++each)
        KeReleaseSpinLockFromDpcLevel(&locks[*each]);
}

TEST(SelfDeadlock, Broken_IsReported) {
    findings seen{check::deadlocks, check::locks};
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    const KIRQL old = KeAcquireSpinLockRaiseToDpc(&lock);
    EXPECT_THROW(KeAcquireSpinLockAtDpcLevel(&lock), stopped);
    KeReleaseSpinLock(&lock, old);
    EXPECT_TRUE(only_reported(seen, "SelfDeadlock", violation, 0x1000));
    EXPECT_TRUE(seen.all()[0].has_stack("held since"));
    EXPECT_TRUE(seen.all()[0].has_stack("here"));
}

TEST(SelfDeadlock, Kept_IsNotReported) {
    const findings seen{check::deadlocks, check::locks};
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    KMUTEX mutex;
    KeInitializeMutex(&mutex, 0);
    for (int i = 0; i < 2; ++i) // its owner may acquire a mutex again
        KeWaitForSingleObject(&mutex, Executive, KernelMode, FALSE, nullptr);
    const KIRQL old = KeAcquireSpinLockRaiseToDpc(&lock);
    EXPECT_FALSE(KeTryToAcquireSpinLockAtDpcLevel(&lock)); // does not wait
    KeReleaseSpinLock(&lock, old);
    for (int i = 0; i < 2; ++i)
        KeReleaseMutex(&mutex, FALSE);
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(SelfDeadlockRule, FastMutexOrReaderWriterLockReacquired_IsReported) {
    findings seen{check::deadlocks};
    FAST_MUTEX mutex;
    ExInitializeFastMutex(&mutex);
    ExAcquireFastMutex(&mutex);
    EXPECT_THROW(ExAcquireFastMutex(&mutex), stopped);
    ExReleaseFastMutex(&mutex);
    EXPECT_TRUE(only_reported(seen, "SelfDeadlock", violation, 0x1000));
    seen.clear();
    EX_SPIN_LOCK lock = 0;
    const KIRQL old = ExAcquireSpinLockShared(&lock);
    EXPECT_THROW(ExAcquireSpinLockExclusive(&lock), stopped);
    ExReleaseSpinLockShared(&lock, old);
    EXPECT_TRUE(only_reported(seen, "SelfDeadlock", violation, 0x1000));
}

// A writer that comes in between waits for the first acquisition, and the second acquisition waits
// for the writer.
TEST(SelfDeadlockRule, SharedAcquisitionWithinOne_IsReported) {
    findings seen{check::deadlocks, check::locks};
    EX_SPIN_LOCK lock = 0;
    const KIRQL old = ExAcquireSpinLockShared(&lock);
    EXPECT_EQ(ExAcquireSpinLockShared(&lock), DISPATCH_LEVEL);
    ExReleaseSpinLockShared(&lock, DISPATCH_LEVEL);
    ExReleaseSpinLockShared(&lock, old);
    EXPECT_TRUE(only_reported(seen, "SelfDeadlock", violation, 0x1000));
    EXPECT_TRUE(seen.all()[0].has_stack("held since"));
    EXPECT_EQ(lock, 0);
}

TEST(LockOrder, Broken_IsReported) {
    findings seen{check::deadlocks};
    spin_locks locks;
    take(locks, {0, 1});
    take(locks, {1, 0});
    EXPECT_TRUE(only_reported(seen, "LockOrder", violation, 0x1001));
    const reported_finding what = seen.all()[0];
    EXPECT_TRUE(what.has_stack("lock held since"));
    EXPECT_TRUE(what.has_stack("the other order: lock held since"));
    EXPECT_TRUE(what.has_stack("the other order: waited at"));
    EXPECT_EQ(what.parameters[3], 2u) << "locks in the cycle";
    take(locks, {0, 1});
    take(locks, {1, 0});
    EXPECT_EQ(seen.all().size(), 1u) << "reported once";
}

TEST(LockOrder, Kept_IsNotReported) {
    const findings seen{check::deadlocks, check::locks, check::irql};
    spin_locks locks;
    take(locks, {0, 1, 2, 3});
    take(locks, {1, 3});
    take(locks, {0, 2});
    take(locks, {2});
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(LockOrderRule, CycleOfThreeLocks_ReportListsEachWait) {
    findings seen{check::deadlocks};
    spin_locks locks;
    dispatch::detail::name_lock(&locks[2], "third lock");
    take(locks, {0, 1});
    take(locks, {1, 2});
    EXPECT_TRUE(nothing_reported(seen));
    take(locks, {2, 0});
    EXPECT_TRUE(only_reported(seen, "LockOrder", violation, 0x1001));
    const reported_finding what = seen.all()[0];
    EXPECT_EQ(what.parameters[3], 3u);
    EXPECT_NE(what.text.find("third lock"), std::string::npos) << what.text;
    std::size_t waits = 0;
    for (std::size_t at = what.history.find("and waited for"); at != std::string::npos;
         at = what.history.find("and waited for", at + 1))
        ++waits;
    EXPECT_EQ(waits, 3u) << what.history;
    dispatch::detail::name_lock(&locks[2], nullptr);
}

TEST(LockOrderRule, TryAcquireInReverseOrder_IsAccepted) {
    const findings seen{check::deadlocks};
    spin_locks locks;
    take(locks, {0, 1});
    const at_dispatch_level raised;
    KeAcquireSpinLockAtDpcLevel(&locks[1]);
    ASSERT_TRUE(KeTryToAcquireSpinLockAtDpcLevel(&locks[0]));
    KeReleaseSpinLockFromDpcLevel(&locks[0]);
    KeReleaseSpinLockFromDpcLevel(&locks[1]);
    EXPECT_TRUE(nothing_reported(seen));
}

// A lock acquired by a try counts as held.
TEST(LockOrderRule, LockHeldByTryAcquire_InversionIsReported) {
    findings seen{check::deadlocks};
    spin_locks locks;
    take(locks, {0, 1});
    {
        const at_dispatch_level raised;
        ASSERT_TRUE(KeTryToAcquireSpinLockAtDpcLevel(&locks[1]));
        KeAcquireSpinLockAtDpcLevel(&locks[0]);
        KeReleaseSpinLockFromDpcLevel(&locks[0]);
        KeReleaseSpinLockFromDpcLevel(&locks[1]);
    }
    EXPECT_TRUE(only_reported(seen, "LockOrder", violation, 0x1001));
}

TEST(LockOrderRule, InversionUnderGateLock_IsAccepted) {
    const findings seen{check::deadlocks};
    spin_locks locks;
    take(locks, {3, 0, 1});
    take(locks, {3, 1, 0}); // lock 3 serialises both orders of 0 and 1
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(LockOrderRule, InversionWithoutGateLock_IsReported) {
    findings seen{check::deadlocks};
    spin_locks locks;
    take(locks, {3, 0, 1});
    take(locks, {3, 1, 0});
    EXPECT_TRUE(nothing_reported(seen));
    take(locks, {0, 1}); // without the gate: conflicts with the order behind the gate
    EXPECT_TRUE(only_reported(seen, "LockOrder", violation, 0x1001));
}

void read_both(EX_SPIN_LOCK& first, EX_SPIN_LOCK& second) {
    const KIRQL old = ExAcquireSpinLockShared(&first);
    ExReleaseSpinLockShared(&second, ExAcquireSpinLockShared(&second));
    ExReleaseSpinLockShared(&first, old);
}

void write(EX_SPIN_LOCK& lock) {
    ExReleaseSpinLockExclusive(&lock, ExAcquireSpinLockExclusive(&lock));
}

TEST(LockOrderRule, ReadersOfLocksThatAreNeverWritten_AreLeftAlone) {
    const findings seen{check::deadlocks};
    static EX_SPIN_LOCK one = 0;
    static EX_SPIN_LOCK other = 0;
    read_both(one, other);
    read_both(other, one);
    EXPECT_TRUE(nothing_reported(seen));
    write(one); // one reader waits, the other does not
    EXPECT_TRUE(nothing_reported(seen));
}

// Each reader waits behind a writer, which waits for the other reader.
TEST(LockOrderRule, ReadersWithWritersBetween_AreReported) {
    for (const bool writers_first : {true, false}) {
        findings seen{check::deadlocks};
        static std::array<EX_SPIN_LOCK, 4> all{};
        EX_SPIN_LOCK* const locks = &all[writers_first ? 0 : 2];
        if (writers_first) {
            write(locks[0]);
            write(locks[1]);
        }
        read_both(locks[0], locks[1]);
        read_both(locks[1], locks[0]);
        if (!writers_first) {
            write(locks[0]);
            EXPECT_TRUE(nothing_reported(seen));
            write(locks[1]);
        }
        EXPECT_TRUE(only_reported(seen, "LockOrder", violation, 0x1001)) << writers_first;
    }
}

// Writers hold the gate of the readers with the reverse order, so no writer waits while a reader is
// inside.
TEST(LockOrderRule, ReadersWithWritersBehindTheirGate_AreLeftAlone) {
    const findings seen{check::deadlocks};
    static EX_SPIN_LOCK one = 0;
    static EX_SPIN_LOCK other = 0;
    KSPIN_LOCK gate;
    KeInitializeSpinLock(&gate);
    const auto behind = [&](auto body) {
        const KIRQL old = KeAcquireSpinLockRaiseToDpc(&gate);
        body();
        KeReleaseSpinLock(&gate, old);
    };
    read_both(one, other);
    behind([] { read_both(other, one); });
    behind([] { write(one); });
    behind([] { write(other); });
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(LockOrderRule, SharedThenExclusiveInBothOrders_IsReported) {
    findings seen{check::deadlocks};
    static EX_SPIN_LOCK one = 0;
    static EX_SPIN_LOCK other = 0;
    const auto read_and_write = [](EX_SPIN_LOCK& first, EX_SPIN_LOCK& second) {
        const KIRQL old = ExAcquireSpinLockShared(&first);
        ExReleaseSpinLockExclusive(&second, ExAcquireSpinLockExclusive(&second));
        ExReleaseSpinLockShared(&first, old);
    };
    read_and_write(one, other);
    read_and_write(other, one);
    EXPECT_TRUE(only_reported(seen, "LockOrder", violation, 0x1001));
}

TEST(LockOrderRule, ReinitialisedLocks_FormerOrderIsDiscarded) {
    const findings seen{check::deadlocks};
    spin_locks locks;
    take(locks, {0, 1});
    KeInitializeSpinLock(&locks[0]);
    KeInitializeSpinLock(&locks[1]);
    take(locks, {1, 0});
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(LockOrderRule, InversionOfMutexAndFastMutex_IsReported) {
    findings seen{check::deadlocks};
    KMUTEX mutex;
    KeInitializeMutex(&mutex, 0);
    FAST_MUTEX fast;
    ExInitializeFastMutex(&fast);
    const auto wait = [&](PLARGE_INTEGER timeout) {
        return KeWaitForSingleObject(&mutex, Executive, KernelMode, FALSE, timeout);
    };
    wait(nullptr);
    ExAcquireFastMutex(&fast);
    ExReleaseFastMutex(&fast);
    KeReleaseMutex(&mutex, FALSE);
    LARGE_INTEGER a_while;
    a_while.QuadPart = -1000;
    ExAcquireFastMutex(&fast);
    ASSERT_EQ(wait(&a_while), STATUS_SUCCESS); // would time out otherwise
    KeReleaseMutex(&mutex, FALSE);
    EXPECT_TRUE(nothing_reported(seen));
    wait(nullptr);
    KeReleaseMutex(&mutex, FALSE);
    ExReleaseFastMutex(&fast);
    EXPECT_TRUE(only_reported(seen, "LockOrder", violation, 0x1001));
}

// The verifier cannot see when a zeroed lock in the program's memory starts a new life.
TEST(LockOrderRule, ZeroedLocksInReusedMemory_AreAccepted) {
    const findings seen{check::deadlocks, check::locks};
    KSPIN_LOCK known;
    KeInitializeSpinLock(&known);
    alignas(KSPIN_LOCK) unsigned char memory[sizeof(KSPIN_LOCK)];
    auto* lock = new (memory) KSPIN_LOCK{0};
    const KIRQL old = KeAcquireSpinLockRaiseToDpc(&known);
    KeAcquireSpinLockAtDpcLevel(lock);
    KeReleaseSpinLockFromDpcLevel(lock);
    KeReleaseSpinLockFromDpcLevel(&known);
    auto* other = new (memory) EX_SPIN_LOCK{0};
    ExAcquireSpinLockExclusive(other);
    KeAcquireSpinLockAtDpcLevel(&known);
    KeReleaseSpinLockFromDpcLevel(&known);
    ExReleaseSpinLockExclusive(other, old);
    EXPECT_TRUE(nothing_reported(seen));
}

void take_both(PKSPIN_LOCK first, PKSPIN_LOCK second) {
    const KIRQL old = KeAcquireSpinLockRaiseToDpc(first);
    KeAcquireSpinLockAtDpcLevel(second);
    KeReleaseSpinLockFromDpcLevel(second);
    KeReleaseSpinLock(first, old);
}

// The memory of an initialised lock is freed unseen, then used for a lock that is only zeroed.
TEST(LockOrderRule, ZeroedLockInInitialisedLocksMemory_IsAccepted) {
    const findings seen{check::deadlocks, check::locks};
    KSPIN_LOCK other;
    KeInitializeSpinLock(&other);
    alignas(KSPIN_LOCK) unsigned char memory[sizeof(KSPIN_LOCK)];
    auto* lock = new (memory) KSPIN_LOCK;
    KeInitializeSpinLock(lock);
    take_both(&other, lock);
    auto* zeroed = new (memory) KSPIN_LOCK{0};
    take_both(zeroed, &other);
    KLOCK_QUEUE_HANDLE handle;
    zeroed = new (memory) KSPIN_LOCK{0};
    KeAcquireInStackQueuedSpinLock(zeroed, &handle);
    KeReleaseInStackQueuedSpinLock(&handle);
    auto* shared = new (memory) EX_SPIN_LOCK{0};
    ExReleaseSpinLockShared(shared, ExAcquireSpinLockShared(shared));
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(LockOrderRule, ZeroedLockInFastMutexMemory_IsAccepted) {
    const findings seen{check::deadlocks, check::locks};
    alignas(FAST_MUTEX) unsigned char memory[sizeof(FAST_MUTEX)];
    auto* mutex = new (memory) FAST_MUTEX;
    ExInitializeFastMutex(mutex);
    ExAcquireFastMutex(mutex);
    ExReleaseFastMutex(mutex);
    auto* lock = new (memory) KSPIN_LOCK{0};
    KeReleaseSpinLock(lock, KeAcquireSpinLockRaiseToDpc(lock));
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(LockOrderRule, InversionOfInitialisedHeapLocks_IsReported) {
    findings seen{check::deadlocks};
    const auto locks = std::make_unique<KSPIN_LOCK[]>(2);
    KeInitializeSpinLock(&locks[0]);
    KeInitializeSpinLock(&locks[1]);
    take_both(&locks[0], &locks[1]);
    take_both(&locks[1], &locks[0]);
    EXPECT_TRUE(only_reported(seen, "LockOrder", violation, 0x1001));
}

// The second actor starts after the first has released its locks: no schedule deadlocks.
void never_deadlocks(sim_machine& machine) {
    spin_locks locks;
    KEVENT done;
    KeInitializeEvent(&done, NotificationEvent, FALSE);
    machine.spawn("first", [&] {
        take(locks, {0, 1});
        KeSetEvent(&done, 0, FALSE);
    });
    machine.spawn("second", [&] {
        KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, nullptr);
        take(locks, {1, 0});
    });
    machine.run();
}

TEST(LockOrderRule, InversionThatNeverDeadlocks_IsReported) {
    explore_options options;
    options.exhaustive_runs = 10'000;
    expect_explored(options, never_deadlocks);

    const checks_scope on{check::deadlocks};
    const explore_summary summary = expect_found({}, never_deadlocks);
    EXPECT_EQ(summary.random.first_failure, 0u);
    EXPECT_NE(summary.failure->report.find("rule: LockOrder"), std::string::npos)
        << summary.failure->report;
    EXPECT_NE(summary.failure->report.find("replay: IRPVERBS_STRATEGY="), std::string::npos);
}

// Programs whose locks are all in order, in all schedules, with all rules on.
TEST(LockOrderRule, CorrectProgram_NothingIsReported) {
    const checks_scope on{check::deadlocks, check::locks, check::irql, check::pool,
                          check::watchdog};
    explore_options options;
    options.random_runs = 200;
    options.pct_runs = 200;
    expect_explored(options, [](sim_machine& machine) {
        spin_locks locks;
        FAST_MUTEX mutex;
        ExInitializeFastMutex(&mutex);
        int turns = 0;
        for (int actor = 0; actor < 3; ++actor)
            machine.spawn("actor", [&] {
                take(locks, {0, 1});
                ExAcquireFastMutex(&mutex);
                take(locks, {1, 2});
                ++turns;
                ExReleaseFastMutex(&mutex);
            });
        machine.run();
        EXPECT_EQ(turns, 3);
    });
}

class LockOrderContention : public BothMachines {};

TEST_P(LockOrderContention, ContendedLocks_OnlyInversionIsReported) {
    findings seen{check::deadlocks, check::locks, check::irql};
    spin_locks locks;
    int turns = 0;
    {
        const auto work = [&] {
            for (int i = 0; i < 50; ++i) {
                take(locks, {0, 1});
                take(locks, {1, 2, 3});
                const KIRQL old = KeAcquireSpinLockRaiseToDpc(&locks[3]);
                ++turns;
                KeReleaseSpinLock(&locks[3], old);
            }
        };
        const system_thread one(work);
        const system_thread two(work);
        const system_thread three(work);
    }
    EXPECT_EQ(turns, 150);
    EXPECT_TRUE(nothing_reported(seen));
    take(locks, {3, 0});
    EXPECT_TRUE(only_reported(seen, "LockOrder", violation, 0x1001));
}

IRPVERBS_ON_BOTH_MACHINES(LockOrderContention);

} // namespace
} // namespace irpverbs::testing
