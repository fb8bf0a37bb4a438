// IRPs that wait in a driver and were cancelled.
#pragma once

#include "ledger.hpp"

namespace irpverbs::irp::verify {

/// A dispatch routine returned; did it look at Irp->Cancel after it set a cancel routine? Under the
/// ledger's lock.
draft* check_parked(ledger& book, const frame& mine, NTSTATUS status);

/// An IRP is being completed; was that in time, and by whom it should be? Under the ledger's lock.
draft* check_cancelled_completion(core::processor& self, ledger& book, record& irp,
                                  const frame* context);

} // namespace irpverbs::irp::verify
