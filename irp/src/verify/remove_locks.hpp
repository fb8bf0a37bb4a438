#pragma once

#include "ledger.hpp"

namespace irpverbs::irp::verify {

/// A dispatch routine that is done with its IRP gave back the remove locks it took. Under the
/// ledger's lock.
draft* check_remove_locks(ledger& book, const frame& mine, NTSTATUS status);

/// The driver that passes the IRP down holds the remove lock that it uses. Under the ledger's lock.
draft* check_remove_lock_held(ledger& book, const record& irp, const frame* by);

/// A device is deleted: nobody holds its remove lock. Under the ledger's lock.
draft* check_lock_of_deleted(ledger& book, const DEVICE_OBJECT* device);

/// At the end none is held. Under the ledger's lock.
void check_held_at_end(ledger& book, std::vector<draft*>& told);

} // namespace irpverbs::irp::verify
