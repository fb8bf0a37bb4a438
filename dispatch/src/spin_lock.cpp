#include "rules.hpp"

#include <dispatch/detail/held_locks.hpp>
#include <dispatch/interlocked.h>
#include <dispatch/machine.hpp>
#include <dispatch/spin_lock.h>

using namespace irpverbs::dispatch::detail;

namespace {

bool lock_is_held(const void* lock) {
    return __atomic_load_n(static_cast<const KSPIN_LOCK*>(lock), __ATOMIC_RELAXED) != 0;
}

// The word holds the processor that owns the lock, which tells a double acquisition from
// contention.
ULONG_PTR owner_word(const processor& self) { return reinterpret_cast<ULONG_PTR>(&self) | 1; }

void wait_for_lock(processor& self, KSPIN_LOCK* lock) {
    if (__atomic_load_n(lock, __ATOMIC_RELAXED) == owner_word(self))
        bug_check(SPIN_LOCK_ALREADY_OWNED, "a spin lock is acquired by the processor that holds it",
                  reinterpret_cast<ULONG_PTR>(lock));
    for (unsigned turn = 0; lock_is_held(lock); ++turn)
        self.owner->spin(self, lock_is_held, lock, turn);
}

void acquire(processor& self, KSPIN_LOCK* lock) {
    sched_point(point::lock_acquire, lock);
    KSPIN_LOCK free = 0;
    while (!__atomic_compare_exchange_n(lock, &free, owner_word(self), false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
        wait_for_lock(self, lock);
        free = 0;
    }
}

void release(processor& self, KSPIN_LOCK* lock) {
    if (__atomic_load_n(lock, __ATOMIC_RELAXED) != owner_word(self))
        bug_check(SPIN_LOCK_NOT_OWNED,
                  "a spin lock is released by a processor that does not hold it",
                  reinterpret_cast<ULONG_PTR>(lock));
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
    sched_point(point::lock_release, lock);
}

KIRQL raise_to_dpc(processor& self) {
    const KIRQL old = self.irql;
    self.irql = DISPATCH_LEVEL > old ? KIRQL{DISPATCH_LEVEL} : old;
    return old;
}

} // namespace

bool irpverbs::dispatch::detail::holds_spin_lock(const processor& self, const KSPIN_LOCK* lock) {
    return __atomic_load_n(lock, __ATOMIC_RELAXED) == owner_word(self);
}

extern "C" {

void KeInitializeSpinLock(PKSPIN_LOCK SpinLock) {
    *SpinLock = 0;
    introduce(SpinLock, "lock");
}

KIRQL KeAcquireSpinLockRaiseToDpc(PKSPIN_LOCK SpinLock) {
    VERIFY_IRQL(KeAcquireSpinLock);
    processor& self = this_processor();
    const KIRQL old = raise_to_dpc(self);
    acquire(self, SpinLock);
    return old;
}

void KeAcquireSpinLock(PKSPIN_LOCK SpinLock, PKIRQL OldIrql) {
    *OldIrql = KeAcquireSpinLockRaiseToDpc(SpinLock);
}

void KeReleaseSpinLock(PKSPIN_LOCK SpinLock, KIRQL NewIrql) {
    VERIFY_IRQL(KeReleaseSpinLock);
    processor& self = this_processor();
    release(self, SpinLock);
    lower_irql(self, NewIrql);
}

void KeAcquireSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock) {
    VERIFY_IRQL(KeAcquireSpinLockAtDpcLevel);
    acquire(this_processor(), SpinLock);
}

void KeReleaseSpinLockFromDpcLevel(PKSPIN_LOCK SpinLock) {
    VERIFY_IRQL(KeReleaseSpinLockFromDpcLevel);
    release(this_processor(), SpinLock);
}

BOOLEAN KeTryToAcquireSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock) {
    VERIFY_IRQL(KeTryToAcquireSpinLockAtDpcLevel);
    sched_point(point::lock_acquire, SpinLock);
    KSPIN_LOCK free = 0;
    return __atomic_compare_exchange_n(SpinLock, &free, owner_word(this_processor()), false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

BOOLEAN KeTestSpinLock(PKSPIN_LOCK SpinLock) { return !lock_is_held(SpinLock); }

void KeAcquireInStackQueuedSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock,
                                              PKLOCK_QUEUE_HANDLE LockHandle) {
    VERIFY_IRQL(KeAcquireSpinLockAtDpcLevel);
    processor& self = this_processor();
    KSPIN_LOCK_QUEUE& mine = LockHandle->LockQueue;
    mine.Next = nullptr;
    mine.Lock = SpinLock;
    mine.Waiting = 1;
    sched_point(point::lock_acquire, SpinLock);
    const ULONG_PTR last =
        __atomic_exchange_n(SpinLock, reinterpret_cast<ULONG_PTR>(&mine), __ATOMIC_ACQ_REL);
    if (last == 0) return;
    __atomic_store_n(&reinterpret_cast<KSPIN_LOCK_QUEUE*>(last)->Next, &mine, __ATOMIC_RELEASE);
    const auto waiting = [](const void* place) {
        return __atomic_load_n(&static_cast<const KSPIN_LOCK_QUEUE*>(place)->Waiting,
                               __ATOMIC_ACQUIRE) != 0;
    };
    for (unsigned turn = 0; waiting(&mine); ++turn)
        self.owner->spin(self, waiting, &mine, turn);
}

void KeReleaseInStackQueuedSpinLockFromDpcLevel(PKLOCK_QUEUE_HANDLE LockHandle) {
    VERIFY_IRQL(KeReleaseSpinLockFromDpcLevel);
    processor& self = this_processor();
    KSPIN_LOCK_QUEUE& mine = LockHandle->LockQueue;
    if (__atomic_load_n(mine.Lock, __ATOMIC_RELAXED) == 0)
        bug_check(SPIN_LOCK_NOT_OWNED, "a queued spin lock is released that is free",
                  reinterpret_cast<ULONG_PTR>(mine.Lock));
    ULONG_PTR alone = reinterpret_cast<ULONG_PTR>(&mine);
    if (__atomic_load_n(&mine.Next, __ATOMIC_ACQUIRE) == nullptr &&
        __atomic_compare_exchange_n(mine.Lock, &alone, 0, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED)) {
        sched_point(point::lock_release, mine.Lock);
        return;
    }
    const auto unlinked = [](const void* place) {
        return __atomic_load_n(&static_cast<const KSPIN_LOCK_QUEUE*>(place)->Next,
                               __ATOMIC_ACQUIRE) == nullptr;
    };
    for (unsigned turn = 0; unlinked(&mine); ++turn)
        self.owner->spin(self, unlinked, &mine, turn);
    __atomic_store_n(&mine.Next->Waiting, 0, __ATOMIC_RELEASE);
    sched_point(point::lock_release, mine.Lock);
}

void KeAcquireInStackQueuedSpinLock(PKSPIN_LOCK SpinLock, PKLOCK_QUEUE_HANDLE LockHandle) {
    VERIFY_IRQL(KeAcquireSpinLock);
    LockHandle->OldIrql = raise_to_dpc(this_processor());
    KeAcquireInStackQueuedSpinLockAtDpcLevel(SpinLock, LockHandle);
}

void KeReleaseInStackQueuedSpinLock(PKLOCK_QUEUE_HANDLE LockHandle) {
    VERIFY_IRQL(KeReleaseSpinLock);
    const KIRQL old = LockHandle->OldIrql;
    KeReleaseInStackQueuedSpinLockFromDpcLevel(LockHandle);
    lower_irql(this_processor(), old);
}

KIRQL ExAcquireSpinLockExclusive(PEX_SPIN_LOCK SpinLock) {
    VERIFY_IRQL(KeAcquireSpinLock);
    processor& self = this_processor();
    const KIRQL old = raise_to_dpc(self);
    sched_point(point::lock_acquire, SpinLock);
    const auto held = [](const void* lock) {
        return __atomic_load_n(static_cast<const EX_SPIN_LOCK*>(lock), __ATOMIC_RELAXED) != 0;
    };
    for (unsigned turn = 0;; ++turn) {
        EX_SPIN_LOCK free = 0;
        if (__atomic_compare_exchange_n(SpinLock, &free, -1, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return old;
        self.owner->spin(self, held, SpinLock, turn);
    }
}

void ExReleaseSpinLockExclusive(PEX_SPIN_LOCK SpinLock, KIRQL OldIrql) {
    VERIFY_IRQL(KeReleaseSpinLock);
    if (__atomic_exchange_n(SpinLock, 0, __ATOMIC_RELEASE) >= 0)
        bug_check(SPIN_LOCK_NOT_OWNED, "no writer holds the lock",
                  reinterpret_cast<ULONG_PTR>(SpinLock));
    sched_point(point::lock_release, SpinLock);
    lower_irql(this_processor(), OldIrql);
}

KIRQL ExAcquireSpinLockShared(PEX_SPIN_LOCK SpinLock) {
    VERIFY_IRQL(KeAcquireSpinLock);
    processor& self = this_processor();
    const KIRQL old = raise_to_dpc(self);
    sched_point(point::lock_acquire, SpinLock);
    const auto written = [](const void* lock) {
        return __atomic_load_n(static_cast<const EX_SPIN_LOCK*>(lock), __ATOMIC_RELAXED) < 0;
    };
    for (unsigned turn = 0;; ++turn) {
        EX_SPIN_LOCK readers = __atomic_load_n(SpinLock, __ATOMIC_RELAXED);
        if (readers >= 0 && __atomic_compare_exchange_n(SpinLock, &readers, readers + 1, false,
                                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return old;
        self.owner->spin(self, written, SpinLock, turn);
    }
}

void ExReleaseSpinLockShared(PEX_SPIN_LOCK SpinLock, KIRQL OldIrql) {
    VERIFY_IRQL(KeReleaseSpinLock);
    if (__atomic_fetch_sub(SpinLock, 1, __ATOMIC_RELEASE) <= 0)
        bug_check(SPIN_LOCK_NOT_OWNED, "no reader holds the lock",
                  reinterpret_cast<ULONG_PTR>(SpinLock));
    sched_point(point::lock_release, SpinLock);
    lower_irql(this_processor(), OldIrql);
}

PLIST_ENTRY ExInterlockedInsertTailList(PLIST_ENTRY ListHead, PLIST_ENTRY ListEntry,
                                        PKSPIN_LOCK Lock) {
    const KIRQL old = KeAcquireSpinLockRaiseToDpc(Lock);
    PLIST_ENTRY last = IsListEmpty(ListHead) ? nullptr : ListHead->Blink;
    InsertTailList(ListHead, ListEntry);
    KeReleaseSpinLock(Lock, old);
    return last;
}

PLIST_ENTRY ExInterlockedInsertHeadList(PLIST_ENTRY ListHead, PLIST_ENTRY ListEntry,
                                        PKSPIN_LOCK Lock) {
    const KIRQL old = KeAcquireSpinLockRaiseToDpc(Lock);
    PLIST_ENTRY first = IsListEmpty(ListHead) ? nullptr : ListHead->Flink;
    InsertHeadList(ListHead, ListEntry);
    KeReleaseSpinLock(Lock, old);
    return first;
}

PLIST_ENTRY ExInterlockedRemoveHeadList(PLIST_ENTRY ListHead, PKSPIN_LOCK Lock) {
    const KIRQL old = KeAcquireSpinLockRaiseToDpc(Lock);
    PLIST_ENTRY first = IsListEmpty(ListHead) ? nullptr : RemoveHeadList(ListHead);
    KeReleaseSpinLock(Lock, old);
    return first;
}

} // extern "C"
