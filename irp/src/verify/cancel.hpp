// Checks of pended IRPs that were cancelled.
#pragma once

#include "irp_tracker.hpp"

namespace irpverbs::irp::verify {

/// Called when a dispatch routine returned: checks that it tested Irp->Cancel after it set a cancel
/// routine. Called under the tracker's lock.
pending_report* check_pended(irp_tracker& tracker, const frame& mine, NTSTATUS status);

/// Called when an IRP is being completed: checks that a cancelled one is completed in time, and by
/// its owner. Called under the tracker's lock.
pending_report* check_cancelled_completion(core::processor& self, irp_tracker& tracker, record& irp,
                                           const frame* context);

} // namespace irpverbs::irp::verify
