// Forced pending: the completion of an IRP that its driver completes at once is deferred to a DPC
// on another processor, and IoCallDriver returns STATUS_PENDING. Every caller must handle that
// case.
#pragma once

#include "irp_tracker.hpp"

#include <compare>

namespace irpverbs::irp::verify {

/// The call site of IoCallDriver, and the dispatch routine that it calls.
struct call_site {
    const void* caller;
    const void* dispatch;
    auto operator<=>(const call_site&) const = default;
};

/// Records that a sweep of forced pending reached the site; true: it pends in this run.
bool sweep_forces(const call_site& where);

/// Decides whether that call's completion is deferred. Called under the tracker's lock.
bool should_force_pending(core::processor& self, irp_tracker& tracker, const DEVICE_OBJECT& device,
                          UCHAR major, const void* caller);

/// Called after the dispatch routine returned. If its completion was deferred, this queues the DPC
/// that continues it and returns STATUS_PENDING; otherwise returns `status`.
NTSTATUS queue_deferred(core::processor& self, irp_tracker& tracker, const frame& mine,
                        NTSTATUS status);

/// Continues a deferred completion at the location where it stopped.
void resume_completion(IRP* irp);

} // namespace irpverbs::irp::verify
