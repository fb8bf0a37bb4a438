// Waits for requests: whether a sender waits, and whether its wait can end.
#pragma once

#include "irp_tracker.hpp"

namespace irpverbs::irp::verify {

/// The hooks for dispatch (machine_hooks).
void on_wait(const void* object);
void on_event_set(const void* event);

/// Called when a dispatch routine returned: checks that no pending request will write to its stack.
/// Called under the tracker's lock.
pending_report* check_stack_left(irp_tracker& tracker, const frame& mine);

/// Called when a completion routine kept the IRP: records the wait of its sender. Called under the
/// tracker's lock.
void record_reclaim(const irp_tracker& tracker, record& irp);

/// For the report of a run that hangs: the waiting threads that no request will wake, and the rule
/// that this breaks. Called under the tracker's lock.
std::string endless_waits(const irp_tracker& tracker);

} // namespace irpverbs::irp::verify
