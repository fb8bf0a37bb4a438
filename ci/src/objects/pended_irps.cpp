#include "pended_irps.hpp"

#include "verbs/request.hpp"

#include <dispatch/support/spin_lock.hpp>

namespace irpverbs::ci {

namespace {

LIST_ENTRY& entry_of(IRP* irp) { return irp->Tail.Overlay.ListEntry; }

// The lock of the list that a cancellable IRP is in; null for an IRP that is not cancellable.
void*& lock_of(IRP* irp) { return irp->Tail.Overlay.DriverContext[0]; }

void cancel(DEVICE_OBJECT*, IRP* irp) {
    IoReleaseCancelSpinLock(irp->CancelIrql);
    {
        const dispatch::detail::spin_guard guard(*static_cast<KSPIN_LOCK*>(lock_of(irp)));
        RemoveEntryList(&entry_of(irp));
    }
    complete(irp, STATUS_CANCELLED, 0);
}

} // namespace

// A canceller that runs after the routine is set acquires the lock, and finds the IRP in the list
// and pending; an earlier canceller has set Cancel and found no routine.
bool pend(LIST_ENTRY& list, KSPIN_LOCK& lock, IRP* irp) {
    lock_of(irp) = &lock;
    IoSetCancelRoutine(irp, cancel);
    const bool late = __atomic_load_n(&irp->Cancel, __ATOMIC_SEQ_CST) != 0;
    if (late && IoSetCancelRoutine(irp, nullptr) != nullptr) return false;
    IoMarkIrpPending(irp);
    InsertTailList(&list, &entry_of(irp));
    return true;
}

void pend_uncancellable(LIST_ENTRY& list, IRP* irp) {
    IoMarkIrpPending(irp);
    lock_of(irp) = nullptr;
    InsertTailList(&list, &entry_of(irp));
}

IRP* remove_pended(LIST_ENTRY& list) {
    for (LIST_ENTRY* each = list.Flink; each != &list; each = each->Flink) {
        IRP* irp = CONTAINING_RECORD(each, IRP, Tail.Overlay.ListEntry);
        if (lock_of(irp) != nullptr && IoSetCancelRoutine(irp, nullptr) == nullptr) continue;
        RemoveEntryList(each);
        return irp;
    }
    return nullptr;
}

} // namespace irpverbs::ci
