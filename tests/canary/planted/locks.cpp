#include "planted.hpp"

#include <support/both_machines.hpp>

#include <memory>
#include <new>

namespace planted {
namespace {

using irpverbs::testing::at_dispatch_level;

struct all_locks {
    KSPIN_LOCK first;
    KSPIN_LOCK second = 0;
    KSPIN_LOCK queued;
    KSPIN_LOCK of_dpc;
    EX_SPIN_LOCK shared = 0;
    KMUTEX mutex;
    KDPC dpc;
    KLOCK_QUEUE_HANDLE handle;

    all_locks() {
        KeInitializeSpinLock(&first);
        if (!planted("LockUninitialised")) KeInitializeSpinLock(&second);
        KeInitializeSpinLock(&queued);
        KeInitializeSpinLock(&of_dpc);
        KeInitializeMutex(&mutex, 0);
        KeInitializeDpc(&dpc, in_dpc, this);
    }
    static void in_dpc(KDPC*, void* context, void*, void*);
};

void all_locks::in_dpc(KDPC*, void* context, void*, void*) {
    auto& mine = *static_cast<all_locks*>(context);
    if (planted("DpcTooLong")) KeStallExecutionProcessor(21'000'000);
    if (planted("QueuedSpinLock"))
        return KeAcquireInStackQueuedSpinLockAtDpcLevel(&mine.of_dpc, &mine.handle);
    if (planted("SpinLockDpc")) return void(KeAcquireSpinLockRaiseToDpc(&mine.of_dpc));
    KeAcquireSpinLockAtDpcLevel(&mine.of_dpc);
    if (planted("SpinLock")) return;
    KeReleaseSpinLockFromDpcLevel(&mine.of_dpc);
}

void use_one(all_locks& mine) {
    const KIRQL level = KeAcquireSpinLockRaiseToDpc(&mine.first);
    if (planted("SelfDeadlock")) KeAcquireSpinLockAtDpcLevel(&mine.first);
    if (planted("LockReinitialised")) KeInitializeSpinLock(&mine.first);
    if (planted("RaisedTooLong")) KeStallExecutionProcessor(121'000'000);
    KeReleaseSpinLock(&mine.first, level);
    KSPIN_LOCK idle;
    KeInitializeSpinLock(&idle);
    const at_dispatch_level raised;
    if (planted("SpinlockRelease")) KeReleaseSpinLockFromDpcLevel(&idle);
}

void use_two(all_locks& mine, bool reversed) {
    KSPIN_LOCK& outer = reversed ? mine.second : mine.first;
    KSPIN_LOCK& inner = reversed ? mine.first : mine.second;
    const KIRQL level = KeAcquireSpinLockRaiseToDpc(&outer);
    KeAcquireSpinLockAtDpcLevel(&inner);
    if (planted("LockReleaseOrder")) KeReleaseSpinLock(&outer, level);
    KeReleaseSpinLockFromDpcLevel(&inner);
    KeReleaseSpinLock(&outer, level);
}

void use_others(all_locks& mine) {
    KLOCK_QUEUE_HANDLE handle;
    KeAcquireInStackQueuedSpinLock(planted("LockAcquireApi") ? &mine.first : &mine.queued, &handle);
    if (planted("QueueHandleInUse"))
        KeAcquireInStackQueuedSpinLockAtDpcLevel(&mine.of_dpc, &handle);
    if (planted("QueuedSpinLockRelease")) KeReleaseInStackQueuedSpinLockFromDpcLevel(&handle);
    KeReleaseInStackQueuedSpinLock(&handle);
    const KIRQL level = ExAcquireSpinLockShared(&mine.shared);
    if (planted("LockReleaseApi")) ExReleaseSpinLockExclusive(&mine.shared, level);
    ExReleaseSpinLockShared(&mine.shared, level);
    KeWaitForSingleObject(&mine.mutex, Executive, KernelMode, FALSE, nullptr);
    KeReleaseMutex(&mine.mutex, FALSE);
    if (planted("LockNotAcquired")) KeReleaseMutex(&mine.mutex, FALSE);
}

// With the bug, a thread ends while it holds the mutex.
void hold_and_end(all_locks& mine) {
    irpverbs::testing::system_thread([&mine] {
        KeWaitForSingleObject(&mine.mutex, Executive, KernelMode, FALSE, nullptr);
        if (!planted("LockThreadExit")) KeReleaseMutex(&mine.mutex, FALSE);
    }).join();
}

void use_regions() {
    KeEnterCriticalRegion();
    KeLeaveCriticalRegion();
    if (planted("CriticalRegions")) KeLeaveCriticalRegion();
    KeEnterGuardedRegion();
    KeLeaveGuardedRegion();
    if (planted("GuardedRegions")) KeLeaveGuardedRegion();
}

} // namespace

void uses_locks(sim_machine& sim) {
    // Memory of the checked pool is known to hold no lock: an address of the heap or of the stack
    // may have held an initialised one before.
    constexpr ULONG tag = 0x6B636F6C;
    const auto free_locks = [](all_locks* locks) { ExFreePoolWithTag(locks, tag); };
    void* const memory = ExAllocatePoolWithTag(NonPagedPool, sizeof(all_locks), tag);
    if (memory == nullptr) return;
    const std::unique_ptr<all_locks, decltype(free_locks)> owned(new (memory) all_locks,
                                                                 free_locks);
    all_locks& mine = *owned;
    sim.spawn("one", [&] {
        use_one(mine);
        use_two(mine, false);
        KeInsertQueueDpc(&mine.dpc, nullptr, nullptr);
    });
    sim.spawn("other", [&] {
        use_regions();
        use_two(mine, planted("LockOrder"));
        use_others(mine);
        hold_and_end(mine);
    });
    if (planted("LockWrongThread"))
        sim.spawn("thief", [&] {
            const at_dispatch_level raised;
            while (KeTestSpinLock(&mine.first) != FALSE)
                sim.yield();
            KeReleaseSpinLockFromDpcLevel(&mine.first);
        });
    sim.run();
}

} // namespace planted
