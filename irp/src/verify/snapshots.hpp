// The stack locations of drivers that passed an IRP down: no code may write to these until the IRP
// returns to their driver. Their contents are copied and compared; under AddressSanitizer they are
// poisoned too.
#pragma once

#include "irp_tracker.hpp"

namespace irpverbs::irp::verify {

/// Takes a snapshot of the location of a driver that passed the IRP down, if the IRP was sent to
/// it. Called under the tracker's lock.
void snapshot(record& irp, int location);

/// Verifies the snapshot of a location to which the IRP returned, or that has no lower one to
/// return from. Called under the tracker's lock.
pending_report* verify_snapshot(irp_tracker& tracker, record& irp, int location);

/// SL_ flags of a location that may have a snapshot. Called under the tracker's lock.
UCHAR control_of(const record& irp, int location);

} // namespace irpverbs::irp::verify
