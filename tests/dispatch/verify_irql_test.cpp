// IRQL rules: the levels at which each function may be called, and the pairs that raise and lower
// the level.
#include <dispatch/ke.h>
#include <dispatch/pool.h>
#include <dispatch/support/checks.hpp>
#include <dispatch/support/object.hpp>

#include "irql_level.hpp"
#include <support/both_machines.hpp>
#include <support/findings.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <map>

namespace irpverbs::testing {
namespace {

using dispatch::detail::check;
using dispatch::detail::irql_bound;
using dispatch::detail::irql_rule;
using dispatch::detail::this_processor;

constexpr irql_rule table[] = {
#define X(function, bound, level, id, sdv) {#function, irql_bound::bound, level, id, #sdv},
#include "../../dispatch/src/irql/irql_rules.def"
#undef X
};

/// A level at which the row's function may not be called.
KIRQL wrong_level(const irql_rule& row) {
    switch (row.bound) {
    case irql_bound::at_most:
        return row.level == APC_LEVEL ? DISPATCH_LEVEL : CLOCK_LEVEL;
    case irql_bound::at_least:
        return APC_LEVEL;
    case irql_bound::exactly:
        return row.level == PASSIVE_LEVEL ? APC_LEVEL : PASSIVE_LEVEL;
    }
    return PASSIVE_LEVEL;
}

/// Makes one call of the function at that level, with everything around it in order.
using call = std::function<void(KIRQL)>;

KSPIN_LOCK* held_lock() {
    static KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    const at_level raised(DISPATCH_LEVEL);
    KeAcquireSpinLockAtDpcLevel(&lock);
    return &lock;
}

KLOCK_QUEUE_HANDLE* held_queue(KIRQL level) {
    static KSPIN_LOCK lock;
    static KLOCK_QUEUE_HANDLE handle;
    KeInitializeSpinLock(&lock);
    const at_level raised(DISPATCH_LEVEL);
    KeAcquireInStackQueuedSpinLockAtDpcLevel(&lock, &handle);
    handle.OldIrql = level;
    return &handle;
}

FAST_MUTEX* fresh_mutex() {
    static FAST_MUTEX mutex;
    ExInitializeFastMutex(&mutex);
    return &mutex;
}

FAST_MUTEX* held_mutex() {
    FAST_MUTEX* mutex = fresh_mutex();
    ExAcquireFastMutex(mutex);
    return mutex;
}

FAST_MUTEX* held_unsafely() {
    FAST_MUTEX* mutex = fresh_mutex();
    ExAcquireFastMutexUnsafe(mutex);
    return mutex;
}

void do_nothing(void*) {}

std::map<std::string, call> lock_calls() {
    static KSPIN_LOCK lock;
    static EX_SPIN_LOCK shared;
    static KLOCK_QUEUE_HANDLE handle;
    const auto at = [](KIRQL level, const auto& body) {
        const at_level there(level);
        body();
    };
    return {
        {"KeAcquireSpinLock",
         [=](KIRQL l) {
             lock = 0;
             at(l, [] { KeAcquireSpinLockRaiseToDpc(&lock); });
         }},
        {"KeReleaseSpinLock",
         [=](KIRQL l) {
             auto* p = held_lock();
             at(l, [=] { KeReleaseSpinLock(p, l); });
         }},
        {"KeAcquireSpinLockAtDpcLevel",
         [=](KIRQL l) {
             lock = 0;
             at(l, [] { KeAcquireSpinLockAtDpcLevel(&lock); });
         }},
        {"KeReleaseSpinLockFromDpcLevel",
         [=](KIRQL l) {
             auto* p = held_lock();
             at(l, [=] { KeReleaseSpinLockFromDpcLevel(p); });
         }},
        {"KeTryToAcquireSpinLockAtDpcLevel",
         [=](KIRQL l) {
             lock = 0;
             at(l, [] { KeTryToAcquireSpinLockAtDpcLevel(&lock); });
         }},
        {"KeTestSpinLock", [=](KIRQL l) { at(l, [] { KeTestSpinLock(&lock); }); }},
        {"KeAcquireInStackQueuedSpinLock",
         [=](KIRQL l) {
             lock = 0;
             at(l, [] { KeAcquireInStackQueuedSpinLock(&lock, &handle); });
         }},
        {"KeReleaseInStackQueuedSpinLock",
         [=](KIRQL l) {
             auto* p = held_queue(l);
             at(l, [=] { KeReleaseInStackQueuedSpinLock(p); });
         }},
        {"KeAcquireInStackQueuedSpinLockAtDpcLevel",
         [=](KIRQL l) {
             lock = 0;
             at(l, [] { KeAcquireInStackQueuedSpinLockAtDpcLevel(&lock, &handle); });
         }},
        {"KeReleaseInStackQueuedSpinLockFromDpcLevel",
         [=](KIRQL l) {
             auto* p = held_queue(l);
             at(l, [=] { KeReleaseInStackQueuedSpinLockFromDpcLevel(p); });
         }},
        {"ExAcquireSpinLock",
         [=](KIRQL l) {
             shared = 0;
             at(l, [] { ExAcquireSpinLockShared(&shared); });
         }},
        {"ExReleaseSpinLock",
         [=](KIRQL l) {
             shared = -1;
             at(l, [=] { ExReleaseSpinLockExclusive(&shared, l); });
         }},
        {"ExAcquireSpinLockAtDpcLevel",
         [=](KIRQL l) {
             shared = 0;
             at(l, [] { ExAcquireSpinLockSharedAtDpcLevel(&shared); });
         }},
        {"ExReleaseSpinLockFromDpcLevel",
         [=](KIRQL l) {
             shared = 0;
             at(DISPATCH_LEVEL, [] { ExAcquireSpinLockExclusiveAtDpcLevel(&shared); });
             at(l, [] { ExReleaseSpinLockExclusiveFromDpcLevel(&shared); });
         }},
        {"ExTryConvertSharedSpinLockExclusive",
         [=](KIRQL l) {
             shared = 0;
             at(l, [] { ExTryConvertSharedSpinLockExclusive(&shared); });
         }},
        {"ExInitializeFastMutex", [=](KIRQL l) { at(l, [] { fresh_mutex(); }); }},
        {"ExAcquireFastMutex",
         [=](KIRQL l) {
             auto* p = fresh_mutex();
             at(l, [=] { ExAcquireFastMutex(p); });
         }},
        {"ExTryToAcquireFastMutex",
         [=](KIRQL l) {
             auto* p = fresh_mutex();
             at(l, [=] { ExTryToAcquireFastMutex(p); });
         }},
        {"ExReleaseFastMutex",
         [=](KIRQL l) {
             auto* p = held_mutex();
             at(l, [=] { ExReleaseFastMutex(p); });
         }},
        {"ExAcquireFastMutexUnsafe",
         [=](KIRQL l) {
             auto* p = fresh_mutex();
             at(l, [=] { ExAcquireFastMutexUnsafe(p); });
         }},
        {"ExReleaseFastMutexUnsafe",
         [=](KIRQL l) {
             auto* p = held_unsafely();
             at(l, [=] { ExReleaseFastMutexUnsafe(p); });
         }},
        {"KeAcquireGuardedMutexUnsafe",
         [=](KIRQL l) {
             auto* p = fresh_mutex();
             at(l, [=] { KeAcquireGuardedMutexUnsafe(p); });
         }},
        {"KeReleaseGuardedMutexUnsafe",
         [=](KIRQL l) {
             auto* p = held_unsafely();
             at(l, [=] { KeReleaseGuardedMutexUnsafe(p); });
         }},
        {"KeAcquireGuardedMutex",
         [=](KIRQL l) {
             auto* p = fresh_mutex();
             at(l, [=] { KeAcquireGuardedMutex(p); });
         }},
        {"KeTryToAcquireGuardedMutex",
         [=](KIRQL l) {
             auto* p = fresh_mutex();
             at(l, [=] { KeTryToAcquireGuardedMutex(p); });
         }},
        {"KeReleaseGuardedMutex",
         [=](KIRQL l) {
             auto* p = held_mutex();
             at(l, [=] { KeReleaseGuardedMutex(p); });
         }},
    };
}

void set_and_cancel(KTIMER& timer) {
    LARGE_INTEGER far;
    far.QuadPart = -36'000'000'000;
    KeSetTimer(&timer, far, nullptr);
    KeCancelTimer(&timer);
}

std::map<std::string, call> object_calls() {
    static KEVENT event;
    static KMUTEX mutex;
    static KSEMAPHORE semaphore;
    static KTIMER timer;
    static KQUEUE queue;
    static LIST_ENTRY entry;
    static EX_RUNDOWN_REF rundown;
    KeInitializeEvent(&event, NotificationEvent, TRUE);
    KeInitializeSemaphore(&semaphore, 0, 1000);
    KeInitializeTimer(&timer);
    const auto at = [](auto body) {
        return [=](KIRQL level) {
            const at_level there(level);
            body();
        };
    };
    return {
        {"KeRaiseIrqlToDpcLevel", at(KeRaiseIrqlToDpcLevel)},
        {"KeEnterCriticalRegion", at([] {
             KeEnterCriticalRegion();
             --this_processor().thread->KernelApcDisable;
         })},
        {"KeLeaveCriticalRegion", at([] {
             ++this_processor().thread->KernelApcDisable;
             KeLeaveCriticalRegion();
         })},
        {"KeEnterGuardedRegion", at([] {
             KeEnterGuardedRegion();
             --this_processor().thread->SpecialApcDisable;
         })},
        {"KeLeaveGuardedRegion", at([] {
             ++this_processor().thread->SpecialApcDisable;
             KeLeaveGuardedRegion();
         })},
        {"KeQueryActiveProcessors", at(KeQueryActiveProcessors)},
        {"KeAreApcsDisabled", at(KeAreApcsDisabled)},
        {"KeAreAllApcsDisabled", at(KeAreAllApcsDisabled)},
        {"KeFlushQueuedDpcs", at(KeFlushQueuedDpcs)},
        {"KeSetEvent", at([] { KeSetEvent(&event, 0, FALSE); })},
        {"KeResetEvent", at([] { KeResetEvent(&event); })},
        {"KeClearEvent", at([] { KeClearEvent(&event); })},
        {"KePulseEvent", at([] { KePulseEvent(&event, 0, FALSE); })},
        {"KeReadStateEvent", at([] { KeReadStateEvent(&event); })},
        {"KeInitializeSemaphore", at([] { KeInitializeSemaphore(&semaphore, 0, 1000); })},
        {"KeReleaseSemaphore", at([] { KeReleaseSemaphore(&semaphore, 0, 1, FALSE); })},
        {"KeReleaseMutex",
         [=](KIRQL level) {
             KeInitializeMutex(&mutex, 0);
             KeWaitForSingleObject(&mutex, Executive, KernelMode, FALSE, nullptr);
             const at_level there(level);
             KeReleaseMutex(&mutex, FALSE);
         }},
        {"KeDelayExecutionThread", at([] {
             LARGE_INTEGER now;
             now.QuadPart = -1;
             KeDelayExecutionThread(KernelMode, FALSE, &now);
         })},
        {"KeInitializeTimer", at([] { KeInitializeTimer(&timer); })},
        {"KeSetTimer", at([] { set_and_cancel(timer); })},
        {"KeCancelTimer", at([] { KeCancelTimer(&timer); })},
        {"KeReadStateTimer", at([] { KeReadStateTimer(&timer); })},
        {"KeInitializeQueue", at([] { KeInitializeQueue(&queue, 0); })},
        {"KeInsertQueue",
         [=](KIRQL level) {
             KeInitializeQueue(&queue, 0);
             const at_level there(level);
             KeInsertQueue(&queue, &entry);
         }},
        {"KeReadStateQueue", at([] { KeReadStateQueue(&queue); })},
        {"KeRundownQueue",
         [=](KIRQL level) {
             KeInitializeQueue(&queue, 0);
             const at_level there(level);
             KeRundownQueue(&queue);
         }},
        {"ExInitializeRundownProtection", at([] { ExInitializeRundownProtection(&rundown); })},
        {"ExAcquireRundownProtection", at([] { ExAcquireRundownProtection(&rundown); })},
        {"ExReleaseRundownProtection", at([] {
             rundown.Count = 2;
             ExReleaseRundownProtection(&rundown);
         })},
        {"ExWaitForRundownProtectionRelease", at([] {
             rundown.Count = 0;
             ExWaitForRundownProtectionRelease(&rundown);
         })},
        {"ExRundownCompleted", at([] { ExRundownCompleted(&rundown); })},
        {"ExReInitializeRundownProtection", at([] { ExReInitializeRundownProtection(&rundown); })},
    };
}

void start_thread(KIRQL level) {
    HANDLE handle = nullptr;
    {
        const at_level there(level);
        PsCreateSystemThread(&handle, 0, nullptr, nullptr, nullptr, do_nothing, nullptr);
    }
    wait_for_thread(handle);
    ZwClose(handle);
}

void queue_item(KIRQL level) {
    static WORK_QUEUE_ITEM item;
    static KEVENT done;
    KeInitializeEvent(&done, NotificationEvent, FALSE);
    ExInitializeWorkItem(
        &item, [](void*) { KeSetEvent(&done, 0, FALSE); }, nullptr);
    {
        const at_level there(level);
        ExQueueWorkItem(&item, DelayedWorkQueue);
    }
    KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, nullptr);
}

void use_lookaside(KIRQL level, bool paged) {
    NPAGED_LOOKASIDE_LIST list;
    const at_level there(level);
    if (paged) {
        ExInitializePagedLookasideList(&list, nullptr, nullptr, 0, 32, 1, 0);
        ExDeletePagedLookasideList(&list);
    } else {
        ExInitializeNPagedLookasideList(&list, nullptr, nullptr, 0, 32, 1, 0);
        ExDeleteNPagedLookasideList(&list);
    }
}

void refer(KIRQL level, void (*change)(void*)) {
    static constexpr OBJECT_TYPE kept{"test", dispatch::detail::device_object_type,
                                      [](OBJECT_HEADER&) { return true; }, nullptr};
    OBJECT_HEADER object;
    dispatch::detail::initialize_object(object, kept);
    object.ReferenceCount = 2;
    const at_level there(level);
    change(&object);
}

std::map<std::string, call> system_calls() {
    return {
        {"ExInitializeWorkItem",
         [](KIRQL level) {
             WORK_QUEUE_ITEM item;
             const at_level there(level);
             ExInitializeWorkItem(&item, do_nothing, nullptr);
         }},
        {"ExQueueWorkItem", queue_item},
        {"PsCreateSystemThread", start_thread},
        {"PsTerminateSystemThread",
         [](KIRQL level) {
             const at_level there(level);
             PsTerminateSystemThread(STATUS_SUCCESS);
         }},
        {"ObReferenceObjectByHandle",
         [](KIRQL level) {
             const at_level there(level);
             void* object = nullptr;
             ObReferenceObjectByHandle(nullptr, 0, nullptr, KernelMode, &object, nullptr);
         }},
        {"ObReferenceObject", [](KIRQL level) { refer(level, ObReferenceObject); }},
        {"ObDereferenceObject", [](KIRQL level) { refer(level, ObDereferenceObject); }},
        {"ZwClose",
         [](KIRQL level) {
             const at_level there(level);
             ZwClose(nullptr);
         }},
        {"ZwCreateEvent",
         [](KIRQL level) {
             HANDLE handle = nullptr;
             {
                 const at_level there(level);
                 ZwCreateEvent(&handle, 0, nullptr, NotificationEvent, FALSE);
             }
             ZwClose(handle);
         }},
        {"ZwSetEvent",
         [](KIRQL level) {
             const at_level there(level);
             ZwSetEvent(nullptr, nullptr);
         }},
        {"ZwWaitForSingleObject",
         [](KIRQL level) {
             const at_level there(level);
             ZwWaitForSingleObject(nullptr, FALSE, nullptr);
         }},
        {"NPagedLookasideList", [](KIRQL level) { use_lookaside(level, false); }},
        {"PagedLookasideList", [](KIRQL level) { use_lookaside(level, true); }},
    };
}

std::map<std::string, call> all_calls() {
    std::map<std::string, call> all = lock_calls();
    all.merge(object_calls());
    all.merge(system_calls());
    return all;
}

std::vector<reported_finding> findings_of(const call& function, KIRQL level) {
    const findings seen{check::irql};
    try {
        function(level);
    } catch (const stopped&) { // the call's effect after the report does not matter here
    }
    this_processor().irql = PASSIVE_LEVEL;
    return seen.all();
}

// For every row of that rule: a call at a wrong level is reported with the row's number and rule; a
// call at the right level is not.
void rows_of(const std::string& rule, bool wrong) {
    const std::map<std::string, call> calls = all_calls();
    int rows = 0;
    for (const irql_rule& row : table) {
        if (row.sdv != rule || (wrong && row.level == HIGH_LEVEL)) continue;
        ++rows;
        ASSERT_TRUE(calls.contains(row.function)) << row.function;
        const KIRQL level = wrong ? wrong_level(row) : row.level;
        const std::vector<reported_finding> seen = findings_of(calls.at(row.function), level);
        if (!wrong) {
            EXPECT_TRUE(seen.empty()) << row.function << ": " << seen[0].report;
            continue;
        }
        ASSERT_FALSE(seen.empty()) << row.function;
        EXPECT_EQ(seen[0].rule, rule) << seen[0].report;
        EXPECT_EQ(seen[0].code, violation) << seen[0].report;
        EXPECT_EQ(seen[0].parameters[0], row.id) << seen[0].report;
        EXPECT_NE(seen[0].text.find(row.function), std::string::npos) << seen[0].text;
    }
    EXPECT_NE(rows, 0) << rule;
}

TEST(IrqlKeDispatchLte, Broken_IsReported) { rows_of("IrqlKeDispatchLte", true); }
TEST(IrqlKeDispatchLte, Kept_IsNotReported) { rows_of("IrqlKeDispatchLte", false); }
TEST(IrqlDispatch, Broken_IsReported) { rows_of("IrqlDispatch", true); }
TEST(IrqlDispatch, Kept_IsNotReported) { rows_of("IrqlDispatch", false); }
TEST(IrqlKeApcLte1, Broken_IsReported) { rows_of("IrqlKeApcLte1", true); }
TEST(IrqlKeApcLte1, Kept_IsNotReported) { rows_of("IrqlKeApcLte1", false); }
TEST(IrqlKeApcLte2, Broken_IsReported) { rows_of("IrqlKeApcLte2", true); }
TEST(IrqlKeApcLte2, Kept_IsNotReported) { rows_of("IrqlKeApcLte2", false); }
TEST(IrqlExApcLte1, Broken_IsReported) { rows_of("IrqlExApcLte1", true); }
TEST(IrqlExApcLte1, Kept_IsNotReported) { rows_of("IrqlExApcLte1", false); }
TEST(IrqlExApcLte2, Broken_IsReported) { rows_of("IrqlExApcLte2", true); }
TEST(IrqlExApcLte2, Kept_IsNotReported) { rows_of("IrqlExApcLte2", false); }
TEST(IrqlExPassive, Broken_IsReported) { rows_of("IrqlExPassive", true); }
TEST(IrqlExPassive, Kept_IsNotReported) { rows_of("IrqlExPassive", false); }
TEST(IrqlPsPassive, Broken_IsReported) { rows_of("IrqlPsPassive", true); }
TEST(IrqlPsPassive, Kept_IsNotReported) { rows_of("IrqlPsPassive", false); }
TEST(IrqlObPassive, Broken_IsReported) { rows_of("IrqlObPassive", true); }
TEST(IrqlObPassive, Kept_IsNotReported) { rows_of("IrqlObPassive", false); }
TEST(IrqlZwPassive, Broken_IsReported) { rows_of("IrqlZwPassive", true); }
TEST(IrqlZwPassive, Kept_IsNotReported) { rows_of("IrqlZwPassive", false); }

TEST(IrqlRuleTable, EachRow_HasTestCall) {
    const std::map<std::string, call> calls = all_calls();
    for (const irql_rule& row : table)
        EXPECT_TRUE(calls.contains(row.function)) << row.function;
    EXPECT_EQ(calls.size(), std::size(table));
}

// Three functions whose pages allow more than SDV does.
TEST(IrqlRuleTable, StrictSdvIrql_CallAtDispatchIsReported) {
    const std::map<std::string, call> calls = all_calls();
    for (const auto& [function, rule] :
         std::map<std::string, std::string>{{"KeQueryActiveProcessors", "IrqlKeApcLte1"},
                                            {"KeAreApcsDisabled", "IrqlKeApcLte2"},
                                            {"KeAreAllApcsDisabled", "IrqlKeApcLte2"}}) {
        EXPECT_TRUE(findings_of(calls.at(function), DISPATCH_LEVEL).empty()) << function;
        dispatch::detail::settings.strict_sdv_irql = true;
        EXPECT_TRUE(findings_of(calls.at(function), APC_LEVEL).empty()) << function;
        const std::vector<reported_finding> seen = findings_of(calls.at(function), DISPATCH_LEVEL);
        dispatch::detail::settings.strict_sdv_irql = false;
        ASSERT_EQ(seen.size(), 1u) << function;
        EXPECT_EQ(seen[0].rule, rule);
    }
}

TEST(IrqlKeReleaseSpinLock, Broken_IsReported) {
    rows_of("IrqlKeReleaseSpinLock", true);
    findings seen{check::irql};
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    const at_dispatch_level raised;
    KeAcquireSpinLockRaiseToDpc(&lock);
    KeReleaseSpinLock(&lock, PASSIVE_LEVEL); // the saved level was DISPATCH_LEVEL
    EXPECT_TRUE(only_reported(seen, "IrqlKeReleaseSpinLock", violation, 0x00020015));
    EXPECT_TRUE(seen.all()[0].has_stack("raised at"));
}

TEST(IrqlKeReleaseSpinLock, Kept_IsNotReported) {
    rows_of("IrqlKeReleaseSpinLock", false);
    const findings seen{check::irql};
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    KeReleaseSpinLock(&lock, KeAcquireSpinLockRaiseToDpc(&lock));
    const KIRQL old = KeAcquireSpinLockRaiseToDpc(&lock);
    KeReleaseSpinLockFromDpcLevel(&lock);
    KeLowerIrql(old);
    EXPECT_TRUE(nothing_reported(seen));
}

// As cancel routines do with the cancel lock: the first lock's IRQL is the second one's to restore.
TEST(IrqlKeReleaseSpinLock, ReleaseAtTheSameLevel_LeavesTheFallToOthers) {
    const findings seen{check::irql};
    KSPIN_LOCK lock;
    KSPIN_LOCK other;
    KeInitializeSpinLock(&lock);
    KeInitializeSpinLock(&other);
    KIRQL old = KeAcquireSpinLockRaiseToDpc(&lock);
    KeReleaseSpinLock(&lock, DISPATCH_LEVEL);
    KeLowerIrql(old);
    old = KeAcquireSpinLockRaiseToDpc(&lock);
    KeReleaseSpinLock(&lock, DISPATCH_LEVEL);
    KeAcquireSpinLockAtDpcLevel(&other);
    KeReleaseSpinLock(&other, old);
    EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(IrqlKeSetEvent, Broken_IsReported) {
    rows_of("IrqlKeSetEvent", true);
    findings seen{check::irql};
    KEVENT event;
    KeInitializeEvent(&event, NotificationEvent, FALSE);
    const at_level raised(DISPATCH_LEVEL);
    EXPECT_THROW(KeSetEvent(&event, 0, TRUE), stopped);
    EXPECT_TRUE(only_reported(seen, "IrqlKeSetEvent", violation, 0x00020016));
}

TEST(IrqlKeSetEvent, Kept_IsNotReported) {
    rows_of("IrqlKeSetEvent", false);
    const findings seen{check::irql};
    KEVENT event;
    KeInitializeEvent(&event, NotificationEvent, FALSE);
    const at_level raised(APC_LEVEL);
    KeSetEvent(&event, 0, TRUE);
    EXPECT_TRUE(nothing_reported(seen));
}

} // namespace
} // namespace irpverbs::testing
