// Checks of a driver's routine when it returns.
#pragma once

#include "irp_tracker.hpp"

namespace irpverbs::irp::verify {

/// Checks that IRQL, regions and locks are as on the routine's entry, and restores those that are
/// not.
pending_report* check_routine_state(core::processor& self, irp_tracker& tracker, const frame& mine);

/// Checks that mark, completion and returned status agree. Called under the tracker's lock.
pending_report* check_protocol(irp_tracker& tracker, frame& mine, NTSTATUS status);

/// True if the IRP returned to the driver whose frame it is: its completion routine kept it.
bool was_reclaimed(record& irp, const frame& mine);
/// True if the driver of the frame passed the IRP down and a lower driver still has it.
bool is_below(record& irp, const frame& mine);

bool holds_cancel_lock(const core::processor& self);
/// The stack on which the holder acquired it; empty if locks were not checked then.
core::call_stack cancel_lock_acquired_at(core::processor& self);

} // namespace irpverbs::irp::verify
