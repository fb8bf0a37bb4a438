// Freed IRPs are kept for a while, filled with a pattern: a write to one is found when it leaves,
// and AddressSanitizer stops a read.
#pragma once

#include <irp/irp.h>

namespace irpverbs::irp::verify {

class irp_tracker;
struct pending_report;

/// Puts the freed IRP into quarantine; the oldest one leaves it, and its memory is checked. Called
/// under the tracker's lock.
pending_report* add_to_quarantine(irp_tracker& tracker, IRP* irp);

/// Removes the oldest IRP, which must exist. Called under the tracker's lock.
pending_report* release_oldest(irp_tracker& tracker);

/// Frees memory that left quarantine. True: it was not written to.
bool release_freed(IRP* irp);

} // namespace irpverbs::irp::verify
