// The stack locations of drivers that passed an IRP down: until it comes back to them, nobody
// touches these. What they hold is kept and compared; under AddressSanitizer they are veiled too.
#pragma once

#include "ledger.hpp"

namespace irpverbs::irp::verify {

/// The driver of that location, if one was sent it, passed the IRP down. Under the ledger's lock.
void seal(record& irp, int location);

/// The IRP came back to that location, or has no lower one to come back from. Under the ledger's
/// lock.
draft* unseal(ledger& book, record& irp, int location);

/// SL_ flags of a location that may be sealed. Under the ledger's lock.
UCHAR control_of(const record& irp, int location);

} // namespace irpverbs::irp::verify
