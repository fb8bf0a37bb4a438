// Lists of IRPs that wait for something, each cancellable meanwhile. They are linked by
// Tail.Overlay.ListEntry. Everything here is called under a spin lock that belongs to the list.
#pragma once

#include <irp/irp.h>

namespace irpverbs::ci {

/// Marks the IRP pending and puts it at the end. Whoever cancels it takes it out, under `lock`, and
/// completes it STATUS_CANCELLED. False, and nothing is done: it is cancelled already, and the
/// caller completes it so once the lock is let go.
bool park(LIST_ENTRY& list, KSPIN_LOCK& lock, IRP* irp);

/// The same for an IRP that is not cancelled.
void park_firmly(LIST_ENTRY& list, IRP* irp);

/// Takes out the oldest that nobody cancels; null: there is none.
IRP* take_parked(LIST_ENTRY& list);

} // namespace irpverbs::ci
