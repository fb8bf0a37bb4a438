// Every function that has an IRQL precondition refuses exactly the levels beyond it. Source: WDK
// reference pages, "IRQL" row.
#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/findings.hpp>
#include <support/ke_shorthand.hpp>

#include <dispatch/support/object.hpp>

#include <functional>
#include <memory>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

/// An object whose memory belongs to the test.
constexpr OBJECT_TYPE kept_object{"test", detail::device_object_type,
                                  [](OBJECT_HEADER&) { return true; }, nullptr};

/// The objects that the calls use, new for each call.
struct world {
    event one;
    KSEMAPHORE semaphore;
    KMUTEX mutex;
    KTIMER timer;
    KQUEUE queue;
    LIST_ENTRY entry;
    WORK_QUEUE_ITEM item;
    OBJECT_HEADER object;
    FAST_MUTEX fast;
    KSPIN_LOCK lock = 0;
    EX_SPIN_LOCK shared = 0;
    KLOCK_QUEUE_HANDLE handle;
    EX_RUNDOWN_REF rundown;
    signaling_dpc dpc;
    LARGE_INTEGER now = from_now(0);

    world() {
        KeInitializeSemaphore(&semaphore, 0, 1);
        KeInitializeMutex(&mutex, 0);
        wait(&mutex);
        KeInitializeTimer(&timer);
        KeInitializeQueue(&queue, 1);
        ExInitializeFastMutex(&fast);
        ExInitializeRundownProtection(&rundown);
        detail::initialize_object(object, kept_object);
        object.ReferenceCount = 2;
    }
};

struct precondition {
    const char* function;
    KIRQL highest;
    void (*call)(world&);
};

constexpr precondition upper_bounds[] = {
    {"KeFlushQueuedDpcs", PASSIVE_LEVEL, [](world&) { KeFlushQueuedDpcs(); }},
    {"KeInitializeSemaphore", PASSIVE_LEVEL,
     [](world& in) { KeInitializeSemaphore(&in.semaphore, 0, 1); }},
    {"KeInitializeQueue", PASSIVE_LEVEL, [](world& in) { KeInitializeQueue(&in.queue, 1); }},
    {"PsTerminateSystemThread", PASSIVE_LEVEL,
     [](world&) { PsTerminateSystemThread(STATUS_SUCCESS); }},
    {"KeDelayExecutionThread", APC_LEVEL,
     [](world& in) { KeDelayExecutionThread(KernelMode, FALSE, &in.now); }},
    {"KeEnterCriticalRegion", APC_LEVEL,
     [](world&) {
         KeEnterCriticalRegion();
         KeLeaveCriticalRegion();
     }},
    {"ExAcquireFastMutex", APC_LEVEL,
     [](world& in) {
         ExAcquireFastMutex(&in.fast);
         ExReleaseFastMutex(&in.fast);
     }},
    {"ExTryToAcquireFastMutex", APC_LEVEL,
     [](world& in) {
         ExTryToAcquireFastMutex(&in.fast);
         ExReleaseFastMutex(&in.fast);
     }},
    {"ExWaitForRundownProtectionRelease", APC_LEVEL,
     [](world& in) { ExWaitForRundownProtectionRelease(&in.rundown); }},
    {"ExRundownCompleted", APC_LEVEL, [](world& in) { ExRundownCompleted(&in.rundown); }},
    {"ExReInitializeRundownProtection", APC_LEVEL,
     [](world& in) { ExReInitializeRundownProtection(&in.rundown); }},
    {"KeAreApcsDisabled", DISPATCH_LEVEL, [](world&) { KeAreApcsDisabled(); }},
    {"KeAreAllApcsDisabled", DISPATCH_LEVEL, [](world&) { KeAreAllApcsDisabled(); }},
    {"KeSetEvent", DISPATCH_LEVEL, [](world& in) { set(in.one); }},
    {"KeResetEvent", DISPATCH_LEVEL, [](world& in) { KeResetEvent(&in.one); }},
    {"KeClearEvent", DISPATCH_LEVEL, [](world& in) { KeClearEvent(&in.one); }},
    {"KePulseEvent", DISPATCH_LEVEL, [](world& in) { KePulseEvent(&in.one, 0, FALSE); }},
    {"KeReadStateEvent", DISPATCH_LEVEL, [](world& in) { KeReadStateEvent(&in.one); }},
    {"KeReleaseSemaphore", DISPATCH_LEVEL,
     [](world& in) { KeReleaseSemaphore(&in.semaphore, 0, 1, FALSE); }},
    {"KeReleaseMutex", DISPATCH_LEVEL, [](world& in) { KeReleaseMutex(&in.mutex, FALSE); }},
    {"KeInitializeTimer", DISPATCH_LEVEL, [](world& in) { KeInitializeTimer(&in.timer); }},
    {"KeSetTimer", DISPATCH_LEVEL,
     [](world& in) { KeSetTimer(&in.timer, from_now(1000 * second), nullptr); }},
    {"KeCancelTimer", DISPATCH_LEVEL, [](world& in) { KeCancelTimer(&in.timer); }},
    {"KeReadStateTimer", DISPATCH_LEVEL, [](world& in) { KeReadStateTimer(&in.timer); }},
    {"KeInsertQueue", DISPATCH_LEVEL, [](world& in) { KeInsertQueue(&in.queue, &in.entry); }},
    {"KeReadStateQueue", DISPATCH_LEVEL, [](world& in) { KeReadStateQueue(&in.queue); }},
    {"KeRundownQueue", DISPATCH_LEVEL, [](world& in) { KeRundownQueue(&in.queue); }},
    {"ExInitializeWorkItem", DISPATCH_LEVEL,
     [](world& in) { ExInitializeWorkItem(&in.item, nullptr, nullptr); }},
    {"ObReferenceObject", DISPATCH_LEVEL, [](world& in) { ObReferenceObject(&in.object); }},
    {"ObDereferenceObject", DISPATCH_LEVEL, [](world& in) { ObDereferenceObject(&in.object); }},
    {"ExAllocatePool2", DISPATCH_LEVEL,
     [](world&) { ExFreePool(ExAllocatePool2(POOL_FLAG_NON_PAGED, 16, 0x74736574)); }},
    {"ExAllocatePool2, paged", APC_LEVEL,
     [](world&) { ExFreePool(ExAllocatePool2(POOL_FLAG_PAGED, 16, 0x74736574)); }},
    {"KeAcquireSpinLock", DISPATCH_LEVEL,
     [](world& in) {
         const KIRQL before = KeGetCurrentIrql();
         KIRQL old = HIGH_LEVEL;
         KeAcquireSpinLock(&in.lock, &old);
         KeReleaseSpinLock(&in.lock, before);
     }},
    {"KeAcquireInStackQueuedSpinLock", DISPATCH_LEVEL,
     [](world& in) {
         KeAcquireInStackQueuedSpinLock(&in.lock, &in.handle);
         KeReleaseInStackQueuedSpinLock(&in.handle);
     }},
    {"ExAcquireSpinLockShared", DISPATCH_LEVEL,
     [](world& in) { ExReleaseSpinLockShared(&in.shared, ExAcquireSpinLockShared(&in.shared)); }},
    {"ExAcquireSpinLockExclusive", DISPATCH_LEVEL,
     [](world& in) {
         ExReleaseSpinLockExclusive(&in.shared, ExAcquireSpinLockExclusive(&in.shared));
     }},
};

class IrqlVerifier : public BothMachines {
protected:
    std::optional<broken_rule> report_at(KIRQL level, const std::function<void(world&)>& call) {
        auto in = std::make_unique<world>();
        KIRQL old;
        KeRaiseIrql(level, &old);
        std::optional<broken_rule> report;
        {
            const checks_scope watching{detail::check::irql};
            report = report_of([&] { call(*in); });
        }
        KIRQL now;
        KeRaiseIrql(HIGH_LEVEL, &now); // at whatever level the call was left
        KeLowerIrql(old);
        KeCancelTimer(&in->timer);
        KeRundownQueue(&in->queue);
        if (KeReadStateMutex(&in->mutex) == 0) KeReleaseMutex(&in->mutex, FALSE);
        return report;
    }
};

TEST_P(IrqlVerifier, CallAtHighestAllowedIrql_NothingIsReported) {
    for (const precondition& each : upper_bounds) {
        const auto report = report_at(each.highest, each.call);
        EXPECT_FALSE(report) << each.function << ": " << report->text;
    }
}

TEST_P(IrqlVerifier, CallAboveAllowedIrql_IsReported) {
    for (const precondition& each : upper_bounds) {
        const KIRQL beyond =
            each.highest < DISPATCH_LEVEL ? static_cast<KIRQL>(each.highest + 1) : CLOCK_LEVEL;
        const auto report = report_at(beyond, each.call);
        ASSERT_TRUE(report) << each.function;
        EXPECT_EQ(report->code, DRIVER_VERIFIER_DETECTED_VIOLATION) << each.function;
        EXPECT_EQ(report->rule.find("Irql"), 0u) << each.function << ": " << report->rule;
    }
}

TEST_P(IrqlVerifier, DispatchOnlyCallAtPassive_IsReported) {
    const std::pair<const char*, void (*)(world&)> calls[] = {
        {"KeAcquireSpinLockAtDpcLevel", [](world& in) { KeAcquireSpinLockAtDpcLevel(&in.lock); }},
        {"KeTryToAcquireSpinLockAtDpcLevel",
         [](world& in) { KeTryToAcquireSpinLockAtDpcLevel(&in.lock); }},
        {"KeTestSpinLock", [](world& in) { KeTestSpinLock(&in.lock); }},
        {"KeAcquireInStackQueuedSpinLockAtDpcLevel",
         [](world& in) { KeAcquireInStackQueuedSpinLockAtDpcLevel(&in.lock, &in.handle); }},
        {"KeReleaseSpinLock",
         [](world& in) {
             KeAcquireSpinLockRaiseToDpc(&in.lock);
             KeLowerIrql(PASSIVE_LEVEL);
             KeReleaseSpinLock(&in.lock, PASSIVE_LEVEL);
         }},
    };
    for (const auto& [function, call] : calls) {
        const auto report = report_at(PASSIVE_LEVEL, call);
        ASSERT_TRUE(report) << function;
        EXPECT_EQ(report->code, DRIVER_VERIFIER_DETECTED_VIOLATION) << function;
        EXPECT_EQ(report->rule.find("Irql"), 0u) << function << ": " << report->rule;
    }
}

TEST_P(IrqlVerifier, PsCreateSystemThreadAtApcLevel_IsReported) {
    const auto create = [](world&) {
        HANDLE handle = nullptr;
        ASSERT_TRUE(NT_SUCCESS(PsCreateSystemThread(
            &handle, 0, nullptr, nullptr, nullptr, [](PVOID) {}, nullptr)));
        wait_for_thread(handle);
        ZwClose(handle);
    };
    EXPECT_FALSE(report_at(PASSIVE_LEVEL, create));
    EXPECT_TRUE(report_at(APC_LEVEL, create));
}

TEST_P(IrqlVerifier, PagedCodeAtDispatch_IsReported) {
    const auto paged = [](world&) { PAGED_CODE(); };
    EXPECT_FALSE(report_at(APC_LEVEL, paged));
    const auto report = report_at(DISPATCH_LEVEL, paged);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->code, DRIVER_IRQL_NOT_LESS_OR_EQUAL);
}

// With the verifier off the same calls are not checked.
TEST_P(IrqlVerifier, VerifierOff_NothingIsReported) {
    const at_dispatch_level raised;
    EXPECT_FALSE(report_of([] { PAGED_CODE(); }));
    KIRQL old;
    KeRaiseIrql(CLOCK_LEVEL, &old);
    event one;
    EXPECT_FALSE(report_of([&] { KeReadStateEvent(&one); }));
    KeLowerIrql(old);
}

IRPVERBS_ON_BOTH_MACHINES(IrqlVerifier);

} // namespace
