#include "machine_state.hpp"
#include "watched_lock.hpp"

#include <dispatch/wait.h>

using namespace irpverbs::dispatch::detail;

namespace {

// The unsafe forms do not change the level.
enum class level : bool { raised, kept };

// Raises the level before the wait, so that no code at APC_LEVEL runs in between.
bool acquire(processor& self, FAST_MUTEX* mutex, bool may_wait, level during) {
    if (__atomic_load_n(&mutex->Owner, __ATOMIC_RELAXED) == self.thread)
        bug_check(THREAD_NOT_MUTEX_OWNER, "a fast mutex is acquired by the thread that owns it",
                  reinterpret_cast<ULONG_PTR>(mutex));
    const KIRQL old = self.irql;
    if (during == level::raised && old < APC_LEVEL) self.irql = APC_LEVEL;
    LARGE_INTEGER look;
    look.QuadPart = 0;
    if (KeWaitForSingleObject(&mutex->Event, Executive, KernelMode, FALSE,
                              may_wait ? nullptr : &look) != STATUS_SUCCESS) {
        lower_irql(self, old);
        return false;
    }
    __atomic_store_n(&mutex->Owner, self.thread, __ATOMIC_RELAXED);
    mutex->OldIrql = old;
    return true;
}

void release(processor& self, FAST_MUTEX* mutex, level during) {
    if (__atomic_load_n(&mutex->Owner, __ATOMIC_RELAXED) != self.thread)
        bug_check(THREAD_NOT_MUTEX_OWNER,
                  "a fast mutex is released by a thread that does not own it",
                  reinterpret_cast<ULONG_PTR>(mutex));
    const KIRQL old = mutex->OldIrql;
    __atomic_store_n(&mutex->Owner, nullptr, __ATOMIC_RELAXED);
    KeSetEvent(&mutex->Event, 0, FALSE);
    if (during == level::raised) lower_irql(self, old);
}

NT_SLOW_PATH bool acquire_watched(FAST_MUTEX* mutex, bool may_wait, level during,
                                  const irql_rule& bound) {
    processor& self = this_processor();
    const watched_acquisition watched{self, {mutex, lock_kind::fast_mutex, may_wait}, bound};
    return watched.trying([&] { return acquire(self, mutex, may_wait, during); });
}

NT_SLOW_PATH void release_watched(FAST_MUTEX* mutex, level during, const irql_rule& bound) {
    processor& self = this_processor();
    const bool is_free = __atomic_load_n(&mutex->Owner, __ATOMIC_RELAXED) == nullptr;
    const watched_release watched{self, mutex, lock_kind::fast_mutex, bound, is_free, {}};
    watched([&] { release(self, mutex, during); });
}

bool acquire_as(const irql_rule& bound, FAST_MUTEX* mutex, bool may_wait, level during) {
    if (instrumented()) return acquire_watched(mutex, may_wait, during, bound);
    return acquire(this_processor(), mutex, may_wait, during);
}

void release_as(const irql_rule& bound, FAST_MUTEX* mutex, level during) {
    if (instrumented()) return release_watched(mutex, during, bound);
    release(this_processor(), mutex, during);
}

} // namespace

extern "C" {

void ExInitializeFastMutex(PFAST_MUTEX FastMutex) {
    VERIFY_IRQL(ExInitializeFastMutex);
    if (instrumented()) introduce_lock(FastMutex, "fast mutex");
    FastMutex->Owner = nullptr;
    FastMutex->OldIrql = PASSIVE_LEVEL;
    KeInitializeEvent(&FastMutex->Event, SynchronizationEvent, TRUE);
}

void ExAcquireFastMutex(PFAST_MUTEX FastMutex) {
    acquire_as(irql_rules::ExAcquireFastMutex, FastMutex, true, level::raised);
}
BOOLEAN ExTryToAcquireFastMutex(PFAST_MUTEX FastMutex) {
    return acquire_as(irql_rules::ExTryToAcquireFastMutex, FastMutex, false, level::raised);
}
void ExReleaseFastMutex(PFAST_MUTEX FastMutex) {
    release_as(irql_rules::ExReleaseFastMutex, FastMutex, level::raised);
}
void ExAcquireFastMutexUnsafe(PFAST_MUTEX FastMutex) {
    acquire_as(irql_rules::ExAcquireFastMutexUnsafe, FastMutex, true, level::kept);
}
void ExReleaseFastMutexUnsafe(PFAST_MUTEX FastMutex) {
    release_as(irql_rules::ExReleaseFastMutexUnsafe, FastMutex, level::kept);
}

void KeInitializeGuardedMutex(PKGUARDED_MUTEX Mutex) { ExInitializeFastMutex(Mutex); }

void KeAcquireGuardedMutex(PKGUARDED_MUTEX Mutex) {
    acquire_as(irql_rules::KeAcquireGuardedMutex, Mutex, true, level::raised);
}
BOOLEAN KeTryToAcquireGuardedMutex(PKGUARDED_MUTEX Mutex) {
    return acquire_as(irql_rules::KeTryToAcquireGuardedMutex, Mutex, false, level::raised);
}
void KeReleaseGuardedMutex(PKGUARDED_MUTEX Mutex) {
    release_as(irql_rules::KeReleaseGuardedMutex, Mutex, level::raised);
}
void KeAcquireGuardedMutexUnsafe(PKGUARDED_MUTEX Mutex) {
    acquire_as(irql_rules::KeAcquireGuardedMutexUnsafe, Mutex, true, level::kept);
}
void KeReleaseGuardedMutexUnsafe(PKGUARDED_MUTEX Mutex) {
    release_as(irql_rules::KeReleaseGuardedMutexUnsafe, Mutex, level::kept);
}

} // extern "C"
