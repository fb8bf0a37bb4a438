#pragma once

#include "ledger.hpp"

namespace irpverbs::irp::verify {

/// Checks that a dispatch routine that is done with its IRP released the remove locks it acquired.
/// Called under the ledger's lock.
draft* check_remove_locks(ledger& book, const frame& mine, NTSTATUS status);

/// Checks that a driver that passes the IRP down holds the remove lock that it uses. Called under
/// the ledger's lock.
draft* check_remove_lock_held(ledger& book, const record& irp, const frame* by);

/// Checks that the remove lock of a deleted device is not held. Called under the ledger's lock.
draft* check_lock_of_deleted(ledger& book, const DEVICE_OBJECT* device);

/// Checks that no remove lock is held at the end. Called under the ledger's lock.
void check_held_at_end(ledger& book, std::vector<draft*>& told);

} // namespace irpverbs::irp::verify
