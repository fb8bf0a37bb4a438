// Checks of pended IRPs that were cancelled.
#pragma once

#include "ledger.hpp"

namespace irpverbs::irp::verify {

/// Called when a dispatch routine returned: checks that it tested Irp->Cancel after it set a cancel
/// routine. Called under the ledger's lock.
draft* check_parked(ledger& book, const frame& mine, NTSTATUS status);

/// Called when an IRP is being completed: checks that a cancelled one is completed in time, and by
/// its owner. Called under the ledger's lock.
draft* check_cancelled_completion(core::processor& self, ledger& book, record& irp,
                                  const frame* context);

} // namespace irpverbs::irp::verify
