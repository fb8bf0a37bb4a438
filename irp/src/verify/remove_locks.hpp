#pragma once

#include "ledger.hpp"

namespace irpverbs::irp::verify {

/// A dispatch routine that is done with its IRP gave back the remove locks it took. Under the
/// ledger's lock.
draft* check_remove_locks(ledger& book, const frame& mine, NTSTATUS status);

/// At the end none is held. Under the ledger's lock.
void check_held_at_end(ledger& book, std::vector<draft*>& told);

} // namespace irpverbs::irp::verify
