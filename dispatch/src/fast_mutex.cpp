#include "rules.hpp"

#include <dispatch/wait.h>

using namespace irpverbs::dispatch::detail;

namespace {

// The level is raised before the wait, so that nothing at APC_LEVEL comes between.
BOOLEAN acquire(FAST_MUTEX* mutex, bool may_wait) {
    processor& self = this_processor();
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
        return FALSE;
    }
    __atomic_store_n(&mutex->Owner, self.thread, __ATOMIC_RELAXED);
    mutex->OldIrql = old;
    return TRUE;
}

} // namespace

extern "C" {

void ExInitializeFastMutex(PFAST_MUTEX FastMutex) {
    FastMutex->Owner = nullptr;
    FastMutex->OldIrql = PASSIVE_LEVEL;
    KeInitializeEvent(&FastMutex->Event, SynchronizationEvent, TRUE);
}

void ExAcquireFastMutex(PFAST_MUTEX FastMutex) {
    VERIFY_IRQL(ExAcquireFastMutex);
    acquire(FastMutex, true);
}

BOOLEAN ExTryToAcquireFastMutex(PFAST_MUTEX FastMutex) {
    VERIFY_IRQL(ExAcquireFastMutex);
    return acquire(FastMutex, false);
}

void ExReleaseFastMutex(PFAST_MUTEX FastMutex) {
    VERIFY_IRQL(ExReleaseFastMutex);
    processor& self = this_processor();
    if (FastMutex->Owner != self.thread)
        bug_check(THREAD_NOT_MUTEX_OWNER,
                  "a fast mutex is released by a thread that does not own it",
                  reinterpret_cast<ULONG_PTR>(FastMutex));
    const KIRQL old = FastMutex->OldIrql;
    __atomic_store_n(&FastMutex->Owner, nullptr, __ATOMIC_RELAXED);
    KeSetEvent(&FastMutex->Event, 0, FALSE);
    lower_irql(self, old);
}

void KeInitializeGuardedMutex(PKGUARDED_MUTEX Mutex) { ExInitializeFastMutex(Mutex); }
void KeAcquireGuardedMutex(PKGUARDED_MUTEX Mutex) { ExAcquireFastMutex(Mutex); }
BOOLEAN KeTryToAcquireGuardedMutex(PKGUARDED_MUTEX Mutex) { return ExTryToAcquireFastMutex(Mutex); }
void KeReleaseGuardedMutex(PKGUARDED_MUTEX Mutex) { ExReleaseFastMutex(Mutex); }

} // extern "C"
