// Rules about single locks: a lock is released once, by its holder, with the matching function, and
// before its memory, its thread or its routine ends.
#include <dispatch/ke.h>
#include <dispatch/pool.h>
#include <dispatch/support/held_locks.hpp>

#include <support/both_machines.hpp>
#include <support/findings.hpp>

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace irpverbs::testing {
namespace {

using dispatch::detail::check;

constexpr ULONG lock_tag = 0x6B636F4C; // "Lock"

struct lock_pair {
    KSPIN_LOCK first;
    KSPIN_LOCK second;
    lock_pair() {
        KeInitializeSpinLock(&first);
        KeInitializeSpinLock(&second);
    }
};

void run_dpc(PKDEFERRED_ROUTINE routine, void* context) {
    KDPC dpc;
    KeInitializeDpc(&dpc, routine, context);
    KeInsertQueueDpc(&dpc, nullptr, nullptr);
}

TEST(SpinLock, Broken_IsReported) {
    findings seen{check::locks};
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    KIRQL old = PASSIVE_LEVEL;
    KeAcquireSpinLock(&lock, &old);
    EXPECT_THROW(KeAcquireSpinLockAtDpcLevel(&lock), stopped);
    KeReleaseSpinLock(&lock, old);
    EXPECT_TRUE(only_reported(seen, "SpinLock", violation, 0x00040009));
    EXPECT_TRUE(seen.all()[0].has_stack("held since"));
    EXPECT_TRUE(seen.all()[0].has_stack("here"));
}

TEST(SpinLock, Kept_IsNotReported) {
    const findings seen{check::locks};
    lock_pair locks;
    for (int i = 0; i < 2; ++i) {
        KIRQL old = PASSIVE_LEVEL;
        KeAcquireSpinLock(&locks.first, &old);
        KeAcquireSpinLockAtDpcLevel(&locks.second);
        EXPECT_EQ(dispatch::detail::held_spin_locks(dispatch::detail::this_processor()), 2u);
        KeReleaseSpinLockFromDpcLevel(&locks.second);
        KeReleaseSpinLock(&locks.first, old);
    }
    EXPECT_EQ(dispatch::detail::held_spin_locks(dispatch::detail::this_processor()), 0u);
    EXPECT_TRUE(nothing_reported(seen));
}

void keep_lock(KDPC*, void* lock, void*, void*) {
    KeAcquireSpinLockAtDpcLevel(static_cast<KSPIN_LOCK*>(lock));
}

TEST(SpinLockRule, DpcReturnsHoldingLock_IsReported) {
    findings seen{check::locks};
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    run_dpc(keep_lock, &lock);
    EXPECT_TRUE(only_reported(seen, "SpinLock", violation, 0x00040009));
    EXPECT_TRUE(seen.all()[0].has_stack("held since"));
    const at_dispatch_level raised;
    KeReleaseSpinLockFromDpcLevel(&lock);
}

TEST(SpinLockRule, WaitHoldingLock_IsReported) {
    findings seen{check::locks};
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    KEVENT event;
    KeInitializeEvent(&event, NotificationEvent, TRUE);
    KIRQL old = PASSIVE_LEVEL;
    KeAcquireSpinLock(&lock, &old);
    EXPECT_THROW(KeWaitForSingleObject(&event, Executive, KernelMode, FALSE, nullptr), stopped);
    KeReleaseSpinLock(&lock, old);
    EXPECT_TRUE(only_reported(seen, "SpinLock", violation, 0x00040009));
}

TEST(SpinLockRule, ZeroTimeoutWaitHoldingLock_IsAccepted) {
    const findings seen{check::locks, check::irql};
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    KEVENT event;
    KeInitializeEvent(&event, NotificationEvent, FALSE);
    LARGE_INTEGER look;
    look.QuadPart = 0;
    KIRQL old = PASSIVE_LEVEL;
    KeAcquireSpinLock(&lock, &old);
    EXPECT_EQ(KeWaitForSingleObject(&event, Executive, KernelMode, FALSE, &look), STATUS_TIMEOUT);
    KeReleaseSpinLock(&lock, old);
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(SpinLockRule, LowerIrqlHoldingLock_IsReported) {
    findings seen{check::locks};
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    const KIRQL old = KeAcquireSpinLockRaiseToDpc(&lock);
    KeLowerIrql(old);
    EXPECT_TRUE(only_reported(seen, "SpinLock", violation, 0x00040009));
    KeReleaseSpinLock(&lock, old);
}

TEST(SpinlockRelease, Broken_IsReported) {
    findings seen{check::locks};
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    const at_dispatch_level raised;
    EXPECT_THROW(KeReleaseSpinLockFromDpcLevel(&lock), stopped);
    EXPECT_TRUE(only_reported(seen, "SpinlockRelease", violation, 0x0004000A));
}

TEST(SpinlockRelease, Kept_IsNotReported) {
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    const KIRQL old = KeAcquireSpinLockRaiseToDpc(&lock);
    const findings seen{check::locks}; // the lock was acquired before the check was enabled
    KeReleaseSpinLock(&lock, old);
    EXPECT_TRUE(nothing_reported(seen));
}

void keep_raised_lock(KDPC*, void* lock, void*, void*) {
    KeAcquireSpinLockRaiseToDpc(static_cast<KSPIN_LOCK*>(lock));
}

TEST(SpinLockDpc, Broken_IsReported) {
    findings seen{check::locks};
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    run_dpc(keep_raised_lock, &lock);
    EXPECT_TRUE(only_reported(seen, "SpinLockDpc", violation, 0x49520001));
    const at_dispatch_level raised;
    KeReleaseSpinLockFromDpcLevel(&lock);
}

void use_raised_lock(KDPC*, void* lock, void*, void*) {
    const KIRQL old = KeAcquireSpinLockRaiseToDpc(static_cast<KSPIN_LOCK*>(lock));
    KeReleaseSpinLock(static_cast<KSPIN_LOCK*>(lock), old);
}

TEST(SpinLockDpc, Kept_IsNotReported) {
    const findings seen{check::locks, check::irql};
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    run_dpc(use_raised_lock, &lock);
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(QueuedSpinLock, Broken_IsReported) {
    findings seen{check::locks};
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    KLOCK_QUEUE_HANDLE mine;
    KLOCK_QUEUE_HANDLE again;
    KeAcquireInStackQueuedSpinLock(&lock, &mine);
    EXPECT_THROW(KeAcquireInStackQueuedSpinLock(&lock, &again), stopped);
    KeReleaseInStackQueuedSpinLock(&mine);
    EXPECT_TRUE(only_reported(seen, "QueuedSpinLock", violation, 0x00040006));
    EXPECT_TRUE(seen.all()[0].has_stack("held since"));
}

TEST(QueuedSpinLock, Kept_IsNotReported) {
    const findings seen{check::locks, check::irql, check::deadlocks};
    lock_pair locks;
    KLOCK_QUEUE_HANDLE outer;
    KLOCK_QUEUE_HANDLE inner;
    KeAcquireInStackQueuedSpinLock(&locks.first, &outer);
    KeAcquireInStackQueuedSpinLockAtDpcLevel(&locks.second, &inner);
    KeReleaseInStackQueuedSpinLockFromDpcLevel(&inner);
    KeReleaseInStackQueuedSpinLock(&outer);
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(QueuedSpinLockRelease, Broken_IsReported) {
    findings seen{check::locks};
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    KLOCK_QUEUE_HANDLE handle;
    KeAcquireInStackQueuedSpinLock(&lock, &handle);
    KeReleaseInStackQueuedSpinLock(&handle);
    EXPECT_THROW(KeReleaseInStackQueuedSpinLock(&handle), stopped);
    EXPECT_TRUE(only_reported(seen, "QueuedSpinLockRelease", violation, 0x00040007));
}

TEST(QueuedSpinLockRelease, Kept_IsNotReported) {
    const findings seen{check::locks};
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    KLOCK_QUEUE_HANDLE handle;
    for (int i = 0; i < 2; ++i) {
        KeAcquireInStackQueuedSpinLock(&lock, &handle);
        KeReleaseInStackQueuedSpinLock(&handle);
    }
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(LockUninitialised, Broken_IsReported) {
    findings seen{check::lock_initialisation};
    static KSPIN_LOCK lock = 0;
    KeReleaseSpinLock(&lock, KeAcquireSpinLockRaiseToDpc(&lock));
    EXPECT_TRUE(only_reported(seen, "LockUninitialised", violation, 0x1002));
}

TEST(LockUninitialised, Kept_IsNotReported) {
    const findings asked{check::lock_initialisation};
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    KeReleaseSpinLock(&lock, KeAcquireSpinLockRaiseToDpc(&lock));
    const findings not_asked{check::locks};
    static KSPIN_LOCK zeroed = 0;
    KeReleaseSpinLock(&zeroed, KeAcquireSpinLockRaiseToDpc(&zeroed));
    EXPECT_TRUE(nothing_reported(asked));
    EXPECT_TRUE(nothing_reported(not_asked));
}

TEST(LockReleaseOrder, Broken_IsReported) {
    findings seen{check::locks};
    lock_pair locks;
    const KIRQL old = KeAcquireSpinLockRaiseToDpc(&locks.first);
    KeAcquireSpinLockAtDpcLevel(&locks.second);
    KeReleaseSpinLock(&locks.first, old); // lowers the IRQL under the second one
    EXPECT_TRUE(only_reported(seen, "LockReleaseOrder", violation, 0x1003));
    EXPECT_TRUE(seen.all()[0].has_stack("released lock held since"));
    EXPECT_TRUE(seen.all()[0].has_stack("other lock held since"));
    KeReleaseSpinLock(&locks.second, old);
}

void hand_over_hand(lock_pair& locks) {
    const KIRQL old = KeAcquireSpinLockRaiseToDpc(&locks.first);
    KeAcquireSpinLockAtDpcLevel(&locks.second);
    KeReleaseSpinLockFromDpcLevel(&locks.first);
    KeReleaseSpinLock(&locks.second, old);
}

TEST(LockReleaseOrder, Kept_IsNotReported) {
    const findings seen{check::locks, check::irql};
    lock_pair locks;
    hand_over_hand(locks);
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(LockReleaseOrderRule, StrictReleaseOrder_HandOverHandIsReported) {
    findings seen{check::locks, check::release_order};
    lock_pair locks;
    hand_over_hand(locks);
    EXPECT_TRUE(only_reported(seen, "LockReleaseOrder", violation, 0x1003));
}

TEST(LockWrongThread, Broken_IsReported) {
    findings seen{check::locks};
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    const KIRQL old = KeAcquireSpinLockRaiseToDpc(&lock);
    bool refused = false;
    KeLowerIrql(PASSIVE_LEVEL); // so that the other thread can be waited for
    seen.clear();
    system_thread([&] {
        const at_dispatch_level raised;
        try {
            KeReleaseSpinLockFromDpcLevel(&lock);
        } catch (const stopped&) {
            refused = true;
        }
    }).join();
    EXPECT_TRUE(refused);
    const std::vector<reported_finding> wrong = seen.of("LockWrongThread");
    ASSERT_EQ(wrong.size(), 1u) << seen.text();
    EXPECT_EQ(wrong[0].parameters[0], 0x1004u);
    EXPECT_TRUE(wrong[0].has_stack("held since"));
    KeReleaseSpinLock(&lock, old);
}

TEST(LockWrongThread, Kept_IsNotReported) {
    const findings seen{check::locks, check::deadlocks};
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    const auto use = [&] { KeReleaseSpinLock(&lock, KeAcquireSpinLockRaiseToDpc(&lock)); };
    use();
    system_thread(use).join();
    use();
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(LockReinitialised, Broken_IsReported) {
    findings seen{check::locks};
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    const KIRQL old = KeAcquireSpinLockRaiseToDpc(&lock);
    KeInitializeSpinLock(&lock);
    EXPECT_TRUE(only_reported(seen, "LockReinitialised", violation, 0x1005));
    EXPECT_TRUE(seen.all()[0].has_stack("held since"));
    EXPECT_THROW(KeReleaseSpinLock(&lock, old), stopped); // the lock is free now
    dispatch::detail::this_processor().irql = PASSIVE_LEVEL;
}

TEST(LockReinitialised, Kept_IsNotReported) {
    const findings seen{check::locks};
    KSPIN_LOCK lock;
    for (int i = 0; i < 2; ++i) {
        KeInitializeSpinLock(&lock);
        KeReleaseSpinLock(&lock, KeAcquireSpinLockRaiseToDpc(&lock));
    }
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(QueueHandleInUse, Broken_IsReported) {
    findings seen{check::locks};
    lock_pair locks;
    KLOCK_QUEUE_HANDLE handle;
    KeAcquireInStackQueuedSpinLock(&locks.first, &handle);
    const KLOCK_QUEUE_HANDLE of_first = handle;
    KeAcquireInStackQueuedSpinLockAtDpcLevel(&locks.second, &handle);
    EXPECT_TRUE(only_reported(seen, "QueueHandleInUse", violation, 0x49520009));
    EXPECT_TRUE(seen.all()[0].has_stack("in use since"));
    KeReleaseInStackQueuedSpinLockFromDpcLevel(&handle);
    handle = of_first;
    KeReleaseInStackQueuedSpinLock(&handle);
}

TEST(QueueHandleInUse, Kept_IsNotReported) {
    const findings seen{check::locks};
    lock_pair locks;
    KLOCK_QUEUE_HANDLE handle;
    for (KSPIN_LOCK* each : {&locks.first, &locks.second, &locks.first}) {
        KLOCK_QUEUE_HANDLE inner;
        KSPIN_LOCK* const other = each == &locks.first ? &locks.second : &locks.first;
        KeAcquireInStackQueuedSpinLock(each, &handle);
        KeAcquireInStackQueuedSpinLockAtDpcLevel(other, &inner);
        KeReleaseInStackQueuedSpinLockFromDpcLevel(&inner);
        KeReleaseInStackQueuedSpinLock(&handle);
    }
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(LockNotAcquired, Broken_IsReported) {
    findings seen{check::locks};
    KMUTEX mutex;
    KeInitializeMutex(&mutex, 0);
    EXPECT_THROW(KeReleaseMutex(&mutex, FALSE), stopped);
    EXPECT_TRUE(only_reported(seen, "LockNotAcquired", violation, 0x1007));
}

TEST(LockNotAcquired, Kept_IsNotReported) {
    const findings seen{check::locks, check::deadlocks};
    KMUTEX mutex;
    KeInitializeMutex(&mutex, 0);
    for (int i = 0; i < 2; ++i)
        KeWaitForSingleObject(&mutex, Executive, KernelMode, FALSE, nullptr);
    for (int i = 0; i < 2; ++i)
        KeReleaseMutex(&mutex, FALSE);
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(LockAcquireApi, Broken_IsReported) {
    findings seen{check::locks};
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    KeReleaseSpinLock(&lock, KeAcquireSpinLockRaiseToDpc(&lock));
    KLOCK_QUEUE_HANDLE handle;
    KeAcquireInStackQueuedSpinLock(&lock, &handle);
    KeReleaseInStackQueuedSpinLock(&handle);
    EXPECT_TRUE(only_reported(seen, "LockAcquireApi", violation, 0x1008));
}

TEST(LockAcquireApi, Kept_IsNotReported) {
    const findings seen{check::locks};
    EX_SPIN_LOCK lock = 0;
    ExReleaseSpinLockShared(&lock, ExAcquireSpinLockShared(&lock));
    ExReleaseSpinLockExclusive(&lock, ExAcquireSpinLockExclusive(&lock));
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(LockReleaseApi, KeptAfterAConversion_IsNotReported) {
    const findings seen{check::locks};
    EX_SPIN_LOCK lock = 0;
    const KIRQL old = ExAcquireSpinLockShared(&lock);
    ASSERT_NE(ExTryConvertSharedSpinLockExclusive(&lock), 0);
    ExReleaseSpinLockExclusive(&lock, old);
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(LockReleaseApi, Broken_IsReported) {
    findings seen{check::locks};
    EX_SPIN_LOCK lock = 0;
    const KIRQL old = ExAcquireSpinLockShared(&lock);
    EXPECT_THROW(ExReleaseSpinLockExclusive(&lock, old), stopped);
    EXPECT_TRUE(only_reported(seen, "LockReleaseApi", violation, 0x1009));
    EXPECT_TRUE(seen.all()[0].has_stack("held since"));
    dispatch::detail::this_processor().irql = PASSIVE_LEVEL;
}

TEST(LockReleaseApi, Kept_IsNotReported) {
    const findings seen{check::locks};
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    const KIRQL old = KeRaiseIrqlToDpcLevel();
    ASSERT_TRUE(KeTryToAcquireSpinLockAtDpcLevel(&lock));
    KeReleaseSpinLock(&lock, old); // of the same family
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(LockThreadExit, Broken_IsReported) {
    findings seen{check::locks};
    KMUTEX mutex;
    KeInitializeMutex(&mutex, 0);
    system_thread([&] {
        KeWaitForSingleObject(&mutex, Executive, KernelMode, FALSE, nullptr);
    }).join();
    EXPECT_TRUE(only_reported(seen, "LockThreadExit", violation, 0x100A));
    EXPECT_TRUE(seen.all()[0].has_stack("held since"));
}

TEST(LockThreadExit, Kept_IsNotReported) {
    const findings seen{check::locks};
    FAST_MUTEX mutex;
    ExInitializeFastMutex(&mutex);
    system_thread([&] {
        ExAcquireFastMutex(&mutex);
        ExReleaseFastMutex(&mutex);
    }).join();
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(LockFreed, Broken_IsReported) {
    findings seen{check::locks, check::pool};
    auto* lock = static_cast<KSPIN_LOCK*>(ExAllocatePool2(POOL_FLAG_NON_PAGED, 64, lock_tag));
    KeInitializeSpinLock(lock);
    const KIRQL old = KeAcquireSpinLockRaiseToDpc(lock);
    ExFreePoolWithTag(lock, lock_tag);
    EXPECT_TRUE(only_reported(seen, "LockFreed", violation, 0x100B));
    EXPECT_TRUE(seen.all()[0].has_stack("held since"));
    dispatch::detail::this_processor().irql = old;
}

TEST(LockFreed, Kept_IsNotReported) {
    const findings seen{check::locks, check::pool};
    auto* lock = static_cast<KSPIN_LOCK*>(ExAllocatePool2(POOL_FLAG_NON_PAGED, 64, lock_tag));
    KeInitializeSpinLock(lock);
    KeReleaseSpinLock(lock, KeAcquireSpinLockRaiseToDpc(lock));
    ExFreePoolWithTag(lock, lock_tag);
    EXPECT_TRUE(nothing_reported(seen));
}

// The verifier's tag in the word of a free lock does no harm when the check is off.
TEST(LockVerifier, CheckOffAfterInitialise_LockStaysUsable) {
    KSPIN_LOCK lock;
    const auto initialise = [&] {
        const checks_scope on{check::locks};
        KeInitializeSpinLock(&lock);
    };
    initialise();
    EXPECT_TRUE(KeTestSpinLock(&lock));
    KeReleaseSpinLock(&lock, KeAcquireSpinLockRaiseToDpc(&lock));
    initialise();
    KLOCK_QUEUE_HANDLE handle;
    KeAcquireInStackQueuedSpinLock(&lock, &handle);
    EXPECT_FALSE(KeTestSpinLock(&lock));
    KeReleaseInStackQueuedSpinLock(&handle);
    initialise();
    const KIRQL old = KeRaiseIrqlToDpcLevel();
    EXPECT_TRUE(KeTryToAcquireSpinLockAtDpcLevel(&lock));
    EXPECT_FALSE(KeTryToAcquireSpinLockAtDpcLevel(&lock));
    KeReleaseSpinLockFromDpcLevel(&lock);
    KeLowerIrql(old);
}

// Locks that were held when the verifier was switched off are forgotten when it is switched on
// again.
TEST(HeldLockTracking, ReleasedWithCheckOff_NoLongerCountsAsHeld) {
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    KIRQL old = PASSIVE_LEVEL;
    {
        const checks_scope on{check::locks};
        KeAcquireSpinLock(&lock, &old);
    }
    KeReleaseSpinLock(&lock, old);
    const findings seen{check::locks, check::deadlocks};
    EXPECT_EQ(dispatch::detail::held_spin_locks(dispatch::detail::this_processor()), 0u);
    KeInitializeSpinLock(&lock);
    KeReleaseSpinLock(&lock, KeAcquireSpinLockRaiseToDpc(&lock));
    EXPECT_TRUE(nothing_reported(seen));
}

/// A handler that uses so many locks of its own that the verifier's tables are reallocated.
class busy_handler {
public:
    busy_handler() { before_ = KeSetBugCheckHandler(&busy_handler::receive, this, &context_); }
    ~busy_handler() { KeSetBugCheckHandler(before_, context_, nullptr); }
    busy_handler(const busy_handler&) = delete;
    busy_handler& operator=(const busy_handler&) = delete;

    std::vector<std::string> rules;

private:
    static void receive(const BUG_CHECK_REPORT* report, void* context) {
        auto& self = *static_cast<busy_handler*>(context);
        self.rules.emplace_back(report->Rule != nullptr ? report->Rule : "");
        std::array<KSPIN_LOCK, 40> locks{};
        KIRQL before;
        KeRaiseIrql(DISPATCH_LEVEL, &before);
        std::array<KIRQL, 40> levels{};
        for (std::size_t i = 0; i < locks.size(); ++i)
            levels[i] = KeAcquireSpinLockRaiseToDpc(&locks[i]);
        for (std::size_t i = locks.size(); i-- > 0;)
            KeReleaseSpinLock(&locks[i], levels[i]);
        KeLowerIrql(before);
    }

    BUG_CHECK_HANDLER before_ = nullptr;
    void* context_ = nullptr;
};

// The verifier's record of the release is reallocated while it is reported.
TEST(LockVerifier, ReleaseReportedToAHandlerThatUsesLocks_IsStillPairedUp) {
    const checks_scope on{check::locks, check::irql};
    busy_handler seen;
    KSPIN_LOCK lock, other;
    KeInitializeSpinLock(&lock);
    KeInitializeSpinLock(&other);
    KLOCK_QUEUE_HANDLE handle;
    std::vector<std::string> first;
    for (int turn = 0; turn < 2; ++turn) {
        first = std::exchange(seen.rules, {});
        KeAcquireInStackQueuedSpinLock(&lock, &handle);
        const KIRQL old = KeAcquireSpinLockRaiseToDpc(&other);
        EXPECT_EQ(old, DISPATCH_LEVEL);
        KeReleaseSpinLock(&other, PASSIVE_LEVEL); // reports the order, and the level
        KeReleaseInStackQueuedSpinLock(&handle);
        ASSERT_GE(seen.rules.size(), 2u);
        EXPECT_EQ(seen.rules[0], "LockReleaseOrder");
        EXPECT_EQ(seen.rules[1], "IrqlKeReleaseSpinLock");
        EXPECT_TRUE(dispatch::detail::held_locks(dispatch::detail::this_processor()).empty());
    }
    EXPECT_EQ(seen.rules, first) << "the first turn changed the records";
}

// A handler may change the enabled checks, which discards the verifier's records.
TEST(LockVerifier, ReleaseReportedToAHandlerThatWatchesAnew_GoesOn) {
    const checks_scope on{check::locks, check::irql};
    PVOID context = nullptr;
    const BUG_CHECK_HANDLER before = KeSetBugCheckHandler(
        [](const BUG_CHECK_REPORT*, PVOID) {
            const std::uint32_t now = dispatch::detail::enabled_checks.load();
            dispatch::detail::set_enabled_checks(0);
            dispatch::detail::set_enabled_checks(now);
            dispatch::detail::held_locks(dispatch::detail::this_processor());
        },
        nullptr, &context);
    KSPIN_LOCK lock, other;
    KeInitializeSpinLock(&lock);
    KeInitializeSpinLock(&other);
    KeAcquireSpinLockRaiseToDpc(&lock);
    KeAcquireSpinLockRaiseToDpc(&other);
    KeReleaseSpinLock(&lock, PASSIVE_LEVEL);
    EXPECT_TRUE(dispatch::detail::held_locks(dispatch::detail::this_processor()).empty());
    dispatch::detail::this_processor().irql = DISPATCH_LEVEL;
    KeReleaseSpinLock(&other, PASSIVE_LEVEL);
    KeSetBugCheckHandler(before, context, nullptr);
}

} // namespace
} // namespace irpverbs::testing
