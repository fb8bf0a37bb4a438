// What is asked of a driver's routine when it returns.
#pragma once

#include "ledger.hpp"

namespace irpverbs::irp::verify {

/// IRQL, regions and locks are as they were when the routine was entered. What is not, is put back.
draft* check_surroundings(core::processor& self, ledger& book, const frame& mine);

/// Mark, completion and returned status agree. Under the ledger's lock.
draft* check_protocol(ledger& book, frame& mine, NTSTATUS status);

/// The IRP came back from below to the driver whose frame it is: its completion routine kept it.
bool came_back(record& irp, const frame& mine);
/// The driver of the frame passed the IRP down, and it is still there.
bool is_below(record& irp, const frame& mine);

bool holds_cancel_lock(const core::processor& self);
/// Where the holder acquired it; empty when locks were not watched then.
core::call_stack cancel_lock_acquired_at(core::processor& self);

} // namespace irpverbs::irp::verify
