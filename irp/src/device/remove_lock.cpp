#include "irql_rules.hpp"
#include "verify/hooks.hpp"

#include <irp/remove_lock.h>

#include <dispatch/support/checks.hpp>

using namespace irpverbs::irp;
using namespace irpverbs::dispatch::detail;

namespace {

// The remover holds the first count and releases it like any other.
void drop(IO_REMOVE_LOCK* lock) {
    const LONG left = __atomic_sub_fetch(&lock->IoCount, 1, __ATOMIC_ACQ_REL);
    if (left < 0)
        bug_check(DRIVER_VERIFIER_DETECTED_VIOLATION,
                  "a remove lock is released more often than acquired", 0xD5,
                  reinterpret_cast<ULONG_PTR>(lock));
    if (left == 0) KeSetEvent(&lock->RemoveEvent, 0, FALSE);
}

} // namespace

extern "C" {

void IoInitializeRemoveLock(PIO_REMOVE_LOCK RemoveLock, ULONG AllocateTag, ULONG, ULONG) {
    VERIFY_IRQL(IoInitializeRemoveLock);
    if (instrumented()) irpverbs::irp::verify::remove_lock_initialized(RemoveLock);
    *RemoveLock = {};
    RemoveLock->IoCount = 1;
    RemoveLock->AllocateTag = AllocateTag;
    KeInitializeEvent(&RemoveLock->RemoveEvent, NotificationEvent, FALSE);
    name_object(RemoveLock, "remove lock");
}

NTSTATUS IoAcquireRemoveLock(PIO_REMOVE_LOCK RemoveLock, PVOID Tag) {
    if (instrumented())
        instrumented_call(irql_rules::IoAcquireRemoveLock, point::interlocked, RemoveLock);
    __atomic_add_fetch(&RemoveLock->IoCount, 1, __ATOMIC_SEQ_CST);
    sched_point(point::interlocked, RemoveLock);
    if (!__atomic_load_n(&RemoveLock->Removed, __ATOMIC_SEQ_CST)) {
        if (instrumented()) irpverbs::irp::verify::remove_lock_acquired(RemoveLock, Tag);
        return STATUS_SUCCESS;
    }
    drop(RemoveLock);
    return STATUS_DELETE_PENDING;
}

void IoReleaseRemoveLock(PIO_REMOVE_LOCK RemoveLock, PVOID Tag) {
    if (instrumented()) irpverbs::irp::verify::remove_lock_released(RemoveLock, Tag, false);
    if (instrumented())
        instrumented_call(irql_rules::IoReleaseRemoveLock, point::interlocked, RemoveLock);
    drop(RemoveLock);
}

void IoReleaseRemoveLockAndWait(PIO_REMOVE_LOCK RemoveLock, PVOID Tag) {
    VERIFY_IRQL(IoReleaseRemoveLockAndWait);
    __atomic_store_n(&RemoveLock->Removed, UCHAR{1}, __ATOMIC_SEQ_CST);
    if (instrumented()) irpverbs::irp::verify::remove_lock_released(RemoveLock, Tag, true);
    sched_point(point::interlocked, RemoveLock);
    drop(RemoveLock);
    drop(RemoveLock);
    KeWaitForSingleObject(&RemoveLock->RemoveEvent, Executive, KernelMode, FALSE, nullptr);
}

} // extern "C"
