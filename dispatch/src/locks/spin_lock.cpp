#include "checked_lock.hpp"
#include "lock_word.hpp"

#include <dispatch/interlocked.h>
#include <dispatch/machine.hpp>
#include <dispatch/spin_lock.h>
#include <dispatch/support/held_locks.hpp>
#include <dispatch/support/interrupt_lock.hpp>
#include <dispatch/support/spin_lock.hpp>

using namespace irpverbs::dispatch::detail;

namespace {

bool lock_is_held(const void* lock) {
    return !is_free_word(__atomic_load_n(static_cast<const KSPIN_LOCK*>(lock), __ATOMIC_RELAXED));
}

void wait_for_lock(processor& self, KSPIN_LOCK* lock) {
    if (__atomic_load_n(lock, __ATOMIC_RELAXED) == owner_word(self))
        bug_check(SPIN_LOCK_ALREADY_OWNED, "a spin lock is acquired by the processor that holds it",
                  reinterpret_cast<ULONG_PTR>(lock));
    for (unsigned turn = 0; lock_is_held(lock); ++turn)
        self.owner->spin(self, lock_is_held, lock, turn);
}

bool acquire_if_free(processor& self, KSPIN_LOCK* lock) {
    KSPIN_LOCK word = 0;
    do {
        if (try_acquire(self, *lock, word)) return true;
    } while (is_free_word(word));
    return false;
}

void acquire(processor& self, KSPIN_LOCK* lock) {
    while (!acquire_if_free(self, lock))
        wait_for_lock(self, lock);
}

void release(processor& self, KSPIN_LOCK* lock, KSPIN_LOCK free = 0) {
    if (!try_release(self, *lock, free))
        bug_check(SPIN_LOCK_NOT_OWNED,
                  "a spin lock is released by a processor that does not hold it",
                  reinterpret_cast<ULONG_PTR>(lock));
}

NT_SLOW_PATH KIRQL acquire_checked(KSPIN_LOCK* lock, bool to_dpc) {
    processor& self = this_processor();
    const checked_acquisition checked{
        self, {lock, lock_kind::spin, true, to_dpc}, irql_rules::KeAcquireSpinLock};
    return checked.raising([&] { acquire(self, lock); });
}

NT_SLOW_PATH void acquire_at_level_checked(KSPIN_LOCK* lock) {
    processor& self = this_processor();
    const checked_acquisition checked{
        self, {lock, lock_kind::spin}, irql_rules::KeAcquireSpinLockAtDpcLevel};
    checked.at_level([&] { acquire(self, lock); });
}

NT_SLOW_PATH BOOLEAN try_to_acquire_checked(KSPIN_LOCK* lock) {
    processor& self = this_processor();
    const checked_acquisition checked{
        self, {lock, lock_kind::spin, false}, irql_rules::KeTryToAcquireSpinLockAtDpcLevel};
    return checked.trying([&] { return acquire_if_free(self, lock); });
}

NT_SLOW_PATH void release_checked(KSPIN_LOCK* lock, const irql_rule& bound,
                                  std::optional<KIRQL> to) {
    processor& self = this_processor();
    const checked_release checked{self, lock, lock_kind::spin, bound, !lock_is_held(lock), to};
    checked([&] { release(self, lock, free_word_of(lock)); });
}

// Unlike other locks, that of an interrupt is released above DISPATCH_LEVEL.
constexpr irql_rule interrupt_lock_release{"KeReleaseInterruptSpinLock", irql_bound::at_least,
                                           DISPATCH_LEVEL, 0x41, "IrqlDispatch"};

} // namespace

bool irpverbs::dispatch::detail::holds_spin_lock(const processor& self, const KSPIN_LOCK* lock) {
    return __atomic_load_n(lock, __ATOMIC_RELAXED) == owner_word(self);
}

void irpverbs::dispatch::detail::acquire_interrupt_lock(KSPIN_LOCK& lock) {
    KeAcquireSpinLockAtDpcLevel(&lock);
}

void irpverbs::dispatch::detail::release_interrupt_lock(KSPIN_LOCK& lock) {
    if (instrumented()) return release_checked(&lock, interrupt_lock_release, std::nullopt);
    release(this_processor(), &lock);
}

extern "C" {

void KeInitializeSpinLock(PKSPIN_LOCK SpinLock) {
    *SpinLock = instrumented() ? register_spin_lock(SpinLock) : 0;
}

KIRQL KeAcquireSpinLockRaiseToDpc(PKSPIN_LOCK SpinLock) {
    if (instrumented()) return acquire_checked(SpinLock, true);
    processor& self = this_processor();
    return acquire_unchecked(self, [&] { acquire(self, SpinLock); });
}

void KeAcquireSpinLock(PKSPIN_LOCK SpinLock, PKIRQL OldIrql) {
    *OldIrql =
        instrumented() ? acquire_checked(SpinLock, false) : KeAcquireSpinLockRaiseToDpc(SpinLock);
}

void KeReleaseSpinLock(PKSPIN_LOCK SpinLock, KIRQL NewIrql) {
    if (instrumented()) return release_checked(SpinLock, irql_rules::KeReleaseSpinLock, NewIrql);
    processor& self = this_processor();
    release(self, SpinLock);
    lower_irql(self, NewIrql);
}

void KeAcquireSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock) {
    if (instrumented()) return acquire_at_level_checked(SpinLock);
    acquire(this_processor(), SpinLock);
}

void KeReleaseSpinLockFromDpcLevel(PKSPIN_LOCK SpinLock) {
    if (instrumented())
        return release_checked(SpinLock, irql_rules::KeReleaseSpinLockFromDpcLevel, std::nullopt);
    release(this_processor(), SpinLock);
}

BOOLEAN KeTryToAcquireSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock) {
    if (instrumented()) return try_to_acquire_checked(SpinLock);
    return acquire_if_free(this_processor(), SpinLock);
}

BOOLEAN KeTestSpinLock(PKSPIN_LOCK SpinLock) {
    VERIFY_IRQL(KeTestSpinLock);
    return !lock_is_held(SpinLock);
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
