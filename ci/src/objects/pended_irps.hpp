// Lists of pended IRPs, linked by Tail.Overlay.ListEntry and cancellable while they wait. The
// caller of every function holds the spin lock of the list.
#pragma once

#include <irp/irp.h>

namespace irpverbs::ci {

/// Marks the IRP pending and inserts it at the end. A canceller acquires `lock`, removes the IRP
/// and completes it STATUS_CANCELLED. Returns false without effect if the IRP is already cancelled;
/// the caller then completes it STATUS_CANCELLED after it has released the lock.
bool pend(LIST_ENTRY& list, KSPIN_LOCK& lock, IRP* irp);

/// Marks an IRP that is not cancellable pending and inserts it at the end.
void pend_uncancellable(LIST_ENTRY& list, IRP* irp);

/// Removes and returns the oldest IRP that no canceller owns, or null.
IRP* remove_pended(LIST_ENTRY& list);

} // namespace irpverbs::ci
