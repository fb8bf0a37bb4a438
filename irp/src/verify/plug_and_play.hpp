// The rules about Plug and Play and power requests.
#pragma once

#include "frames.hpp"
#include "irp_tracker.hpp"

namespace irpverbs::irp::verify {

/// Check an IRP that is about to be completed at its current location. Under the tracker's lock.
pending_report* check_pnp_completion(irp_tracker& tracker, record& irp);
pending_report* check_power_completion(irp_tracker& tracker, record& irp);

/// Checks an IRP that the routine `by` is about to pass down. Under the tracker's lock.
pending_report* check_pnp_forwarded(irp_tracker& tracker, const record& irp, const frame* by,
                                    const IO_STACK_LOCATION& next);

/// Checks that no routine of the caller serves IRP_MN_SURPRISE_REMOVAL of the device, which it is
/// about to delete or detach. `id`: of bug check 0xC9. Under the tracker's lock.
pending_report* check_surprise_removal(irp_tracker& tracker, const frame* innermost,
                                       const DEVICE_OBJECT* device, ULONG_PTR id);

} // namespace irpverbs::irp::verify
