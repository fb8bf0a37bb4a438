// The stack locations of drivers that passed an IRP down: no code may write to these until the IRP
// returns to their driver. Their contents are copied and compared; under AddressSanitizer they are
// poisoned too.
#pragma once

#include "ledger.hpp"

namespace irpverbs::irp::verify {

/// Seals the location of a driver that passed the IRP down, if the IRP was sent to it. Called under
/// the ledger's lock.
void seal(record& irp, int location);

/// Unseals a location to which the IRP returned, or that has no lower one to return from. Called
/// under the ledger's lock.
draft* unseal(ledger& book, record& irp, int location);

/// SL_ flags of a location that may be sealed. Called under the ledger's lock.
UCHAR control_of(const record& irp, int location);

} // namespace irpverbs::irp::verify
