#include "watched_lock.hpp"

#include <dispatch/machine.hpp>
#include <dispatch/spin_lock.h>

using namespace irpverbs::dispatch::detail;

namespace {

void take_exclusive(processor& self, EX_SPIN_LOCK* lock) {
    const auto held = [](const void* place) {
        return __atomic_load_n(static_cast<const EX_SPIN_LOCK*>(place), __ATOMIC_RELAXED) != 0;
    };
    for (unsigned turn = 0;; ++turn) {
        EX_SPIN_LOCK free = 0;
        if (__atomic_compare_exchange_n(lock, &free, -1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return;
        self.owner->spin(self, held, lock, turn);
    }
}

void take_shared(processor& self, EX_SPIN_LOCK* lock) {
    const auto written = [](const void* place) {
        return __atomic_load_n(static_cast<const EX_SPIN_LOCK*>(place), __ATOMIC_RELAXED) < 0;
    };
    for (unsigned turn = 0;; ++turn) {
        EX_SPIN_LOCK readers = __atomic_load_n(lock, __ATOMIC_RELAXED);
        if (readers >= 0 && __atomic_compare_exchange_n(lock, &readers, readers + 1, false,
                                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return;
        self.owner->spin(self, written, lock, turn);
    }
}

void take(processor& self, EX_SPIN_LOCK* lock, lock_kind kind) {
    if (kind == lock_kind::shared)
        take_shared(self, lock);
    else
        take_exclusive(self, lock);
}

void give(EX_SPIN_LOCK* lock, lock_kind kind) {
    const bool held = kind == lock_kind::shared
                          ? __atomic_fetch_sub(lock, 1, __ATOMIC_RELEASE) > 0
                          : __atomic_exchange_n(lock, 0, __ATOMIC_RELEASE) < 0;
    if (!held)
        bug_check(SPIN_LOCK_NOT_OWNED,
                  kind == lock_kind::shared ? "no reader holds the lock"
                                            : "no writer holds the lock",
                  reinterpret_cast<ULONG_PTR>(lock));
}

NT_SLOW_PATH KIRQL acquire_watched(EX_SPIN_LOCK* lock, lock_kind kind) {
    processor& self = this_processor();
    const watched_acquisition watched{self, {lock, kind}, irql_rules::ExAcquireSpinLock};
    return watched.raising([&] { take(self, lock, kind); });
}

NT_SLOW_PATH void release_watched(EX_SPIN_LOCK* lock, lock_kind kind, KIRQL to) {
    processor& self = this_processor();
    const bool is_free = __atomic_load_n(lock, __ATOMIC_RELAXED) == 0;
    const watched_release release{self, lock, kind, irql_rules::ExReleaseSpinLock, is_free, to};
    release([&] { give(lock, kind); });
}

} // namespace

extern "C" {

KIRQL ExAcquireSpinLockExclusive(PEX_SPIN_LOCK SpinLock) {
    if (instrumented()) return acquire_watched(SpinLock, lock_kind::exclusive);
    processor& self = this_processor();
    const KIRQL old = raise_to_dpc(self);
    take_exclusive(self, SpinLock);
    return old;
}

void ExReleaseSpinLockExclusive(PEX_SPIN_LOCK SpinLock, KIRQL OldIrql) {
    if (instrumented()) return release_watched(SpinLock, lock_kind::exclusive, OldIrql);
    give(SpinLock, lock_kind::exclusive);
    lower_irql(this_processor(), OldIrql);
}

KIRQL ExAcquireSpinLockShared(PEX_SPIN_LOCK SpinLock) {
    if (instrumented()) return acquire_watched(SpinLock, lock_kind::shared);
    processor& self = this_processor();
    const KIRQL old = raise_to_dpc(self);
    take_shared(self, SpinLock);
    return old;
}

void ExReleaseSpinLockShared(PEX_SPIN_LOCK SpinLock, KIRQL OldIrql) {
    if (instrumented()) return release_watched(SpinLock, lock_kind::shared, OldIrql);
    give(SpinLock, lock_kind::shared);
    lower_irql(this_processor(), OldIrql);
}

} // extern "C"
