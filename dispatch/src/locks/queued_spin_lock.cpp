#include "checked_lock.hpp"
#include "lock_word.hpp"

#include <dispatch/machine.hpp>
#include <dispatch/spin_lock.h>

using namespace irpverbs::dispatch::detail;

// The lock's word is the address of the last entry in the queue; each waiter spins on its own
// place.
namespace {

void acquire(processor& self, KSPIN_LOCK* lock, KLOCK_QUEUE_HANDLE* handle) {
    KSPIN_LOCK_QUEUE& mine = handle->LockQueue;
    mine.Next = nullptr;
    mine.Lock = lock;
    mine.Waiting = 1;
    const ULONG_PTR last =
        __atomic_exchange_n(lock, reinterpret_cast<ULONG_PTR>(&mine), __ATOMIC_ACQ_REL);
    if (is_free_word(last)) return;
    __atomic_store_n(&reinterpret_cast<KSPIN_LOCK_QUEUE*>(last)->Next, &mine, __ATOMIC_RELEASE);
    const auto waiting = [](const void* entry) {
        return __atomic_load_n(&static_cast<const KSPIN_LOCK_QUEUE*>(entry)->Waiting,
                               __ATOMIC_ACQUIRE) != 0;
    };
    for (unsigned turn = 0; waiting(&mine); ++turn)
        self.owner->spin(self, waiting, &mine, turn);
}

bool is_free(const KLOCK_QUEUE_HANDLE& handle) {
    return is_free_word(__atomic_load_n(handle.LockQueue.Lock, __ATOMIC_RELAXED));
}

void release(processor& self, KLOCK_QUEUE_HANDLE* handle, KSPIN_LOCK free = 0) {
    KSPIN_LOCK_QUEUE& mine = handle->LockQueue;
    if (is_free(*handle))
        bug_check(SPIN_LOCK_NOT_OWNED, "a queued spin lock is released that is free",
                  reinterpret_cast<ULONG_PTR>(mine.Lock));
    ULONG_PTR alone = reinterpret_cast<ULONG_PTR>(&mine);
    if (__atomic_load_n(&mine.Next, __ATOMIC_ACQUIRE) == nullptr &&
        __atomic_compare_exchange_n(mine.Lock, &alone, free, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED))
        return;
    const auto unlinked = [](const void* entry) {
        return __atomic_load_n(&static_cast<const KSPIN_LOCK_QUEUE*>(entry)->Next,
                               __ATOMIC_ACQUIRE) == nullptr;
    };
    for (unsigned turn = 0; unlinked(&mine); ++turn)
        self.owner->spin(self, unlinked, &mine, turn);
    __atomic_store_n(&mine.Next->Waiting, 0, __ATOMIC_RELEASE);
}

acquisition request_of(const KSPIN_LOCK* lock, const KLOCK_QUEUE_HANDLE* handle) {
    acquisition how{lock, lock_kind::queued};
    how.handle = handle;
    return how;
}

NT_SLOW_PATH void acquire_checked(KSPIN_LOCK* lock, KLOCK_QUEUE_HANDLE* handle) {
    processor& self = this_processor();
    const checked_acquisition checked{self, request_of(lock, handle),
                                      irql_rules::KeAcquireInStackQueuedSpinLock};
    handle->OldIrql = checked.raising([&] { acquire(self, lock, handle); });
}

NT_SLOW_PATH void acquire_at_level_checked(KSPIN_LOCK* lock, KLOCK_QUEUE_HANDLE* handle) {
    processor& self = this_processor();
    const checked_acquisition checked{self, request_of(lock, handle),
                                      irql_rules::KeAcquireInStackQueuedSpinLockAtDpcLevel};
    checked.at_level([&] { acquire(self, lock, handle); });
}

NT_SLOW_PATH void release_checked(KLOCK_QUEUE_HANDLE* handle, const irql_rule& bound,
                                  std::optional<KIRQL> to) {
    processor& self = this_processor();
    const checked_release checked{self,  handle->LockQueue.Lock, lock_kind::queued,
                                  bound, is_free(*handle),       to};
    checked([&] { release(self, handle, free_word_of(handle->LockQueue.Lock)); });
}

} // namespace

extern "C" {

void KeAcquireInStackQueuedSpinLock(PKSPIN_LOCK SpinLock, PKLOCK_QUEUE_HANDLE LockHandle) {
    if (instrumented()) return acquire_checked(SpinLock, LockHandle);
    processor& self = this_processor();
    LockHandle->OldIrql = acquire_unchecked(self, [&] { acquire(self, SpinLock, LockHandle); });
}

void KeAcquireInStackQueuedSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock,
                                              PKLOCK_QUEUE_HANDLE LockHandle) {
    if (instrumented()) return acquire_at_level_checked(SpinLock, LockHandle);
    acquire(this_processor(), SpinLock, LockHandle);
}

void KeReleaseInStackQueuedSpinLock(PKLOCK_QUEUE_HANDLE LockHandle) {
    const KIRQL old = LockHandle->OldIrql;
    if (instrumented())
        return release_checked(LockHandle, irql_rules::KeReleaseInStackQueuedSpinLock, old);
    processor& self = this_processor();
    release(self, LockHandle);
    lower_irql(self, old);
}

void KeReleaseInStackQueuedSpinLockFromDpcLevel(PKLOCK_QUEUE_HANDLE LockHandle) {
    if (instrumented())
        return release_checked(LockHandle, irql_rules::KeReleaseInStackQueuedSpinLockFromDpcLevel,
                               std::nullopt);
    release(this_processor(), LockHandle);
}

} // extern "C"
