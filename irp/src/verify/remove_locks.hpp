#pragma once

#include "irp_tracker.hpp"

namespace irpverbs::irp::verify {

/// Checks that a dispatch routine that is done with its IRP released the remove locks it acquired.
/// Called under the tracker's lock.
pending_report* check_remove_locks(irp_tracker& tracker, const frame& mine, NTSTATUS status);

/// Checks that a driver that passes the IRP down holds the remove lock that it uses. Called under
/// the tracker's lock.
pending_report* check_remove_lock_held(irp_tracker& tracker, const record& irp, const frame* by);

/// Checks that the remove lock of a deleted device is not held. Called under the tracker's lock.
pending_report* check_lock_of_deleted(irp_tracker& tracker, const DEVICE_OBJECT* device);

/// Checks that no remove lock is held at the end. Called under the tracker's lock.
void check_held_at_end(irp_tracker& tracker, std::vector<pending_report*>& reports);

} // namespace irpverbs::irp::verify
