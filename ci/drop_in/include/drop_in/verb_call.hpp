/// Verbs for callers that wait, as system calls do.
#pragma once

#include <dispatch/descriptor_watch.hpp>
#include <dispatch/machine.hpp>
#include <irp/wdm.h>

namespace irpverbs::drop_in {

struct verb_result {
    NTSTATUS status;
    ULONG_PTR information;
};

/// Calls `verb(irp)`, a verb on an object of this HCA, and waits for its completion. IRQL:
/// PASSIVE_LEVEL.
template <class Verb>
verb_result call_verb(DEVICE_OBJECT* fdo, Verb verb) {
    IRP* const irp = IoAllocateIrp(fdo->StackSize, FALSE);
    if (irp == nullptr) return {STATUS_INSUFFICIENT_RESOURCES, 0};
    KEVENT done;
    KeInitializeEvent(&done, NotificationEvent, FALSE);
    IoSetCompletionRoutine(
        irp,
        [](DEVICE_OBJECT*, IRP*, void* event) -> NTSTATUS {
            KeSetEvent(static_cast<KEVENT*>(event), IO_NO_INCREMENT, FALSE);
            return STATUS_MORE_PROCESSING_REQUIRED;
        },
        &done, TRUE, TRUE, TRUE);
    verb(irp);
    if (KeReadStateEvent(&done) == 0) dispatch::leave_watches(dispatch::machine::current());
    KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, nullptr);
    const verb_result result{irp->IoStatus.Status, irp->IoStatus.Information};
    IoFreeIrp(irp);
    return result;
}

} // namespace irpverbs::drop_in
