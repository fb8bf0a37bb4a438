// Freed IRPs are kept for a while, filled with a pattern: a write to one is found when it leaves,
// and AddressSanitizer stops a read.
#pragma once

#include <irp/irp.h>

namespace irpverbs::irp::verify {

class ledger;
struct draft;

/// Puts the freed IRP into quarantine; the oldest one leaves it, and its memory is checked. Called
/// under the ledger's lock.
draft* keep_back(ledger& book, IRP* irp);

/// Removes the oldest IRP, which must exist. Called under the ledger's lock.
draft* let_oldest_go(ledger& book);

/// Frees memory that left quarantine. True: it was not written to.
bool let_go(IRP* irp);

} // namespace irpverbs::irp::verify
