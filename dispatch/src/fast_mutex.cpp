#include "machine_state.hpp"
#include "watched_lock.hpp"

#include <dispatch/wait.h>

using namespace irpverbs::dispatch::detail;

namespace {

// The level is raised before the wait, so that nothing at APC_LEVEL comes between.
bool acquire(processor& self, FAST_MUTEX* mutex, bool may_wait) {
    if (__atomic_load_n(&mutex->Owner, __ATOMIC_RELAXED) == self.thread)
        bug_check(THREAD_NOT_MUTEX_OWNER, "a fast mutex is acquired by the thread that owns it",
                  reinterpret_cast<ULONG_PTR>(mutex));
    const KIRQL old = self.irql;
    if (old < APC_LEVEL) self.irql = APC_LEVEL;
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

void release(processor& self, FAST_MUTEX* mutex) {
    if (__atomic_load_n(&mutex->Owner, __ATOMIC_RELAXED) != self.thread)
        bug_check(THREAD_NOT_MUTEX_OWNER,
                  "a fast mutex is released by a thread that does not own it",
                  reinterpret_cast<ULONG_PTR>(mutex));
    const KIRQL old = mutex->OldIrql;
    __atomic_store_n(&mutex->Owner, nullptr, __ATOMIC_RELAXED);
    KeSetEvent(&mutex->Event, 0, FALSE);
    lower_irql(self, old);
}

NT_SLOW_PATH bool acquire_watched(FAST_MUTEX* mutex, bool may_wait, const irql_rule& bound) {
    processor& self = this_processor();
    const watched_acquisition watched{self, {mutex, lock_kind::fast_mutex, may_wait}, bound};
    return watched.trying([&] { return acquire(self, mutex, may_wait); });
}

NT_SLOW_PATH void release_watched(FAST_MUTEX* mutex, const irql_rule& bound) {
    processor& self = this_processor();
    const bool is_free = __atomic_load_n(&mutex->Owner, __ATOMIC_RELAXED) == nullptr;
    const watched_release watched{self, mutex, lock_kind::fast_mutex, bound, is_free, {}};
    watched([&] { release(self, mutex); });
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
    if (instrumented())
        acquire_watched(FastMutex, true, irql_rules::ExAcquireFastMutex);
    else
        acquire(this_processor(), FastMutex, true);
}

BOOLEAN ExTryToAcquireFastMutex(PFAST_MUTEX FastMutex) {
    if (instrumented())
        return acquire_watched(FastMutex, false, irql_rules::ExTryToAcquireFastMutex);
    return acquire(this_processor(), FastMutex, false);
}

void ExReleaseFastMutex(PFAST_MUTEX FastMutex) {
    if (instrumented()) return release_watched(FastMutex, irql_rules::ExReleaseFastMutex);
    release(this_processor(), FastMutex);
}

void KeInitializeGuardedMutex(PKGUARDED_MUTEX Mutex) { ExInitializeFastMutex(Mutex); }

void KeAcquireGuardedMutex(PKGUARDED_MUTEX Mutex) {
    if (instrumented())
        acquire_watched(Mutex, true, irql_rules::KeAcquireGuardedMutex);
    else
        acquire(this_processor(), Mutex, true);
}

BOOLEAN KeTryToAcquireGuardedMutex(PKGUARDED_MUTEX Mutex) {
    if (instrumented())
        return acquire_watched(Mutex, false, irql_rules::KeTryToAcquireGuardedMutex);
    return acquire(this_processor(), Mutex, false);
}

void KeReleaseGuardedMutex(PKGUARDED_MUTEX Mutex) {
    if (instrumented()) return release_watched(Mutex, irql_rules::KeReleaseGuardedMutex);
    release(this_processor(), Mutex);
}

} // extern "C"
