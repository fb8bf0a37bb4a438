#include "checked_lock.hpp"
#include "machine/machine_state.hpp"

#include <dispatch/wait.h>

using namespace irpverbs::dispatch::detail;

namespace {

// The unsafe forms do not change the level.
enum class irql_mode : bool { raised, kept };

// Raises the level before the wait, so that no code at APC_LEVEL runs in between.
bool acquire(processor& self, FAST_MUTEX* mutex, bool may_wait, irql_mode during) {
    if (may_wait && __atomic_load_n(&mutex->Owner, __ATOMIC_RELAXED) == self.thread)
        bug_check(THREAD_NOT_MUTEX_OWNER, "a fast mutex is acquired by the thread that owns it",
                  reinterpret_cast<ULONG_PTR>(mutex));
    const KIRQL old = self.irql;
    if (during == irql_mode::raised && old < APC_LEVEL) self.irql = APC_LEVEL;
    LARGE_INTEGER no_wait;
    no_wait.QuadPart = 0;
    if (KeWaitForSingleObject(&mutex->Event, Executive, KernelMode, FALSE,
                              may_wait ? nullptr : &no_wait) != STATUS_SUCCESS) {
        lower_irql(self, old);
        return false;
    }
    __atomic_store_n(&mutex->Owner, self.thread, __ATOMIC_RELAXED);
    mutex->OldIrql = old;
    return true;
}

void release(processor& self, FAST_MUTEX* mutex, irql_mode during) {
    if (__atomic_load_n(&mutex->Owner, __ATOMIC_RELAXED) != self.thread)
        bug_check(THREAD_NOT_MUTEX_OWNER,
                  "a fast mutex is released by a thread that does not own it",
                  reinterpret_cast<ULONG_PTR>(mutex));
    const KIRQL old = mutex->OldIrql;
    __atomic_store_n(&mutex->Owner, nullptr, __ATOMIC_RELAXED);
    KeSetEvent(&mutex->Event, 0, FALSE);
    if (during == irql_mode::raised) lower_irql(self, old);
}

NT_SLOW_PATH bool acquire_checked(FAST_MUTEX* mutex, bool may_wait, irql_mode during,
                                  const irql_rule& bound) {
    processor& self = this_processor();
    const checked_acquisition checked{self, {mutex, lock_kind::fast_mutex, may_wait}, bound};
    return checked.trying([&] { return acquire(self, mutex, may_wait, during); });
}

NT_SLOW_PATH void release_checked(FAST_MUTEX* mutex, irql_mode during, const irql_rule& bound) {
    processor& self = this_processor();
    const bool is_free = __atomic_load_n(&mutex->Owner, __ATOMIC_RELAXED) == nullptr;
    const checked_release checked{self, mutex, lock_kind::fast_mutex, bound, is_free, {}};
    checked([&] { release(self, mutex, during); });
}

bool acquire_as(const irql_rule& bound, FAST_MUTEX* mutex, bool may_wait, irql_mode during) {
    if (instrumented()) return acquire_checked(mutex, may_wait, during, bound);
    return acquire(this_processor(), mutex, may_wait, during);
}

void release_as(const irql_rule& bound, FAST_MUTEX* mutex, irql_mode during) {
    if (instrumented()) return release_checked(mutex, during, bound);
    release(this_processor(), mutex, during);
}

} // namespace

extern "C" {

void ExInitializeFastMutex(PFAST_MUTEX FastMutex) {
    VERIFY_IRQL(ExInitializeFastMutex);
    if (instrumented()) register_lock(FastMutex, "fast mutex");
    FastMutex->Owner = nullptr;
    FastMutex->OldIrql = PASSIVE_LEVEL;
    KeInitializeEvent(&FastMutex->Event, SynchronizationEvent, TRUE);
}

void ExAcquireFastMutex(PFAST_MUTEX FastMutex) {
    acquire_as(irql_rules::ExAcquireFastMutex, FastMutex, true, irql_mode::raised);
}
BOOLEAN ExTryToAcquireFastMutex(PFAST_MUTEX FastMutex) {
    return acquire_as(irql_rules::ExTryToAcquireFastMutex, FastMutex, false, irql_mode::raised);
}
void ExReleaseFastMutex(PFAST_MUTEX FastMutex) {
    release_as(irql_rules::ExReleaseFastMutex, FastMutex, irql_mode::raised);
}
void ExAcquireFastMutexUnsafe(PFAST_MUTEX FastMutex) {
    acquire_as(irql_rules::ExAcquireFastMutexUnsafe, FastMutex, true, irql_mode::kept);
}
void ExReleaseFastMutexUnsafe(PFAST_MUTEX FastMutex) {
    release_as(irql_rules::ExReleaseFastMutexUnsafe, FastMutex, irql_mode::kept);
}

void KeInitializeGuardedMutex(PKGUARDED_MUTEX Mutex) { ExInitializeFastMutex(Mutex); }

void KeAcquireGuardedMutex(PKGUARDED_MUTEX Mutex) {
    acquire_as(irql_rules::KeAcquireGuardedMutex, Mutex, true, irql_mode::raised);
}
BOOLEAN KeTryToAcquireGuardedMutex(PKGUARDED_MUTEX Mutex) {
    return acquire_as(irql_rules::KeTryToAcquireGuardedMutex, Mutex, false, irql_mode::raised);
}
void KeReleaseGuardedMutex(PKGUARDED_MUTEX Mutex) {
    release_as(irql_rules::KeReleaseGuardedMutex, Mutex, irql_mode::raised);
}
void KeAcquireGuardedMutexUnsafe(PKGUARDED_MUTEX Mutex) {
    acquire_as(irql_rules::KeAcquireGuardedMutexUnsafe, Mutex, true, irql_mode::kept);
}
void KeReleaseGuardedMutexUnsafe(PKGUARDED_MUTEX Mutex) {
    release_as(irql_rules::KeReleaseGuardedMutexUnsafe, Mutex, irql_mode::kept);
}

} // extern "C"
