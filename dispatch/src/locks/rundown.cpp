#include "irql/irql_rules.hpp"

#include <dispatch/machine.hpp>
#include <dispatch/rundown.h>
#include <dispatch/wait.h>

using namespace irpverbs::dispatch::detail;

// Count holds twice the number of users until the rundown begins; then the address of the waiting
// owner with bit 0 set.
namespace {

constexpr ULONG_PTR rundown_active = 1;
constexpr ULONG_PTR one_reference = 2;

struct rundown_wait {
    KEVENT event;
    ULONG_PTR users;
};

} // namespace

extern "C" {

void ExInitializeRundownProtection(PEX_RUNDOWN_REF RunRef) {
    VERIFY_IRQL(ExInitializeRundownProtection);
    RunRef->Count = 0;
    name_object(RunRef, "rundown");
}

BOOLEAN ExAcquireRundownProtectionEx(PEX_RUNDOWN_REF RunRef, ULONG Count) {
    if (instrumented())
        instrumented_call(irql_rules::ExAcquireRundownProtection, point::interlocked, RunRef);
    ULONG_PTR seen = __atomic_load_n(&RunRef->Count, __ATOMIC_RELAXED);
    while ((seen & rundown_active) == 0)
        if (__atomic_compare_exchange_n(&RunRef->Count, &seen, seen + Count * one_reference, true,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return TRUE;
    return FALSE;
}

BOOLEAN ExAcquireRundownProtection(PEX_RUNDOWN_REF RunRef) {
    return ExAcquireRundownProtectionEx(RunRef, 1);
}

void ExReleaseRundownProtectionEx(PEX_RUNDOWN_REF RunRef, ULONG Count) {
    if (instrumented())
        instrumented_call(irql_rules::ExReleaseRundownProtection, point::interlocked, RunRef);
    ULONG_PTR seen = __atomic_load_n(&RunRef->Count, __ATOMIC_ACQUIRE);
    while ((seen & rundown_active) == 0) {
        if (seen < Count * one_reference)
            bug_check(CRITICAL_STRUCTURE_CORRUPTION,
                      "rundown protection is released more often than acquired",
                      reinterpret_cast<ULONG_PTR>(RunRef));
        if (__atomic_compare_exchange_n(&RunRef->Count, &seen, seen - Count * one_reference, true,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return;
    }
    auto* wait = reinterpret_cast<rundown_wait*>(seen & ~rundown_active);
    if (wait == nullptr)
        bug_check(CRITICAL_STRUCTURE_CORRUPTION, "rundown protection is released after the rundown",
                  reinterpret_cast<ULONG_PTR>(RunRef));
    if (__atomic_sub_fetch(&wait->users, Count, __ATOMIC_ACQ_REL) == 0)
        KeSetEvent(&wait->event, 0, FALSE);
}

void ExReleaseRundownProtection(PEX_RUNDOWN_REF RunRef) { ExReleaseRundownProtectionEx(RunRef, 1); }

void ExWaitForRundownProtectionRelease(PEX_RUNDOWN_REF RunRef) {
    VERIFY_IRQL(ExWaitForRundownProtectionRelease);
    sched_point(point::interlocked, RunRef);
    rundown_wait wait;
    KeInitializeEvent(&wait.event, NotificationEvent, FALSE);
    ULONG_PTR seen = __atomic_load_n(&RunRef->Count, __ATOMIC_RELAXED);
    do {
        if ((seen & rundown_active) != 0) return;
        wait.users = seen / one_reference;
    } while (!__atomic_compare_exchange_n(&RunRef->Count, &seen,
                                          reinterpret_cast<ULONG_PTR>(&wait) | rundown_active, true,
                                          __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    if (seen != 0) KeWaitForSingleObject(&wait.event, Executive, KernelMode, FALSE, nullptr);
    __atomic_store_n(&RunRef->Count, rundown_active, __ATOMIC_RELEASE);
}

void ExRundownCompleted(PEX_RUNDOWN_REF RunRef) {
    VERIFY_IRQL(ExRundownCompleted);
    __atomic_store_n(&RunRef->Count, rundown_active, __ATOMIC_RELEASE);
}
void ExReInitializeRundownProtection(PEX_RUNDOWN_REF RunRef) {
    VERIFY_IRQL(ExReInitializeRundownProtection);
    __atomic_store_n(&RunRef->Count, 0, __ATOMIC_RELEASE);
}

} // extern "C"
