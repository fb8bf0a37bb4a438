#include "rules.hpp"

#include <dispatch/machine.hpp>
#include <dispatch/rundown.h>
#include <dispatch/wait.h>

using namespace irpverbs::dispatch::detail;

// Count holds twice the number of users until the rundown begins; then the address of the waiting
// owner with bit 0 set.
namespace {

constexpr ULONG_PTR shut = 1;
constexpr ULONG_PTR user = 2;

struct last_user_gone {
    KEVENT event;
    ULONG_PTR users;
};

} // namespace

extern "C" {

void ExInitializeRundownProtection(PEX_RUNDOWN_REF RunRef) {
    VERIFY_IRQL(ExInitializeRundownProtection);
    RunRef->Count = 0;
    introduce(RunRef, "rundown");
}

BOOLEAN ExAcquireRundownProtectionEx(PEX_RUNDOWN_REF RunRef, ULONG Count) {
    if (instrumented()) look_on(irql_rules::ExAcquireRundownProtection, point::interlocked, RunRef);
    ULONG_PTR seen = __atomic_load_n(&RunRef->Count, __ATOMIC_RELAXED);
    while ((seen & shut) == 0)
        if (__atomic_compare_exchange_n(&RunRef->Count, &seen, seen + Count * user, true,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return TRUE;
    return FALSE;
}

BOOLEAN ExAcquireRundownProtection(PEX_RUNDOWN_REF RunRef) {
    return ExAcquireRundownProtectionEx(RunRef, 1);
}

void ExReleaseRundownProtectionEx(PEX_RUNDOWN_REF RunRef, ULONG Count) {
    if (instrumented()) look_on(irql_rules::ExReleaseRundownProtection, point::interlocked, RunRef);
    ULONG_PTR seen = __atomic_load_n(&RunRef->Count, __ATOMIC_ACQUIRE);
    while ((seen & shut) == 0) {
        if (seen < Count * user)
            bug_check(CRITICAL_STRUCTURE_CORRUPTION,
                      "rundown protection is released more often than acquired",
                      reinterpret_cast<ULONG_PTR>(RunRef));
        if (__atomic_compare_exchange_n(&RunRef->Count, &seen, seen - Count * user, true,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return;
    }
    auto* gone = reinterpret_cast<last_user_gone*>(seen & ~shut);
    if (gone == nullptr)
        bug_check(CRITICAL_STRUCTURE_CORRUPTION, "rundown protection is released after the rundown",
                  reinterpret_cast<ULONG_PTR>(RunRef));
    if (__atomic_sub_fetch(&gone->users, Count, __ATOMIC_ACQ_REL) == 0)
        KeSetEvent(&gone->event, 0, FALSE);
}

void ExReleaseRundownProtection(PEX_RUNDOWN_REF RunRef) { ExReleaseRundownProtectionEx(RunRef, 1); }

void ExWaitForRundownProtectionRelease(PEX_RUNDOWN_REF RunRef) {
    VERIFY_IRQL(ExWaitForRundownProtectionRelease);
    sched_point(point::interlocked, RunRef);
    last_user_gone gone;
    KeInitializeEvent(&gone.event, NotificationEvent, FALSE);
    ULONG_PTR seen = __atomic_load_n(&RunRef->Count, __ATOMIC_RELAXED);
    do {
        if ((seen & shut) != 0) return;
        gone.users = seen / user;
    } while (!__atomic_compare_exchange_n(&RunRef->Count, &seen,
                                          reinterpret_cast<ULONG_PTR>(&gone) | shut, true,
                                          __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    if (seen != 0) KeWaitForSingleObject(&gone.event, Executive, KernelMode, FALSE, nullptr);
    __atomic_store_n(&RunRef->Count, shut, __ATOMIC_RELEASE);
}

void ExRundownCompleted(PEX_RUNDOWN_REF RunRef) {
    VERIFY_IRQL(ExRundownCompleted);
    __atomic_store_n(&RunRef->Count, shut, __ATOMIC_RELEASE);
}
void ExReInitializeRundownProtection(PEX_RUNDOWN_REF RunRef) {
    VERIFY_IRQL(ExReInitializeRundownProtection);
    __atomic_store_n(&RunRef->Count, 0, __ATOMIC_RELEASE);
}

} // extern "C"
