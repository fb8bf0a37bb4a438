// Freed packets are kept back for a while, filled with a pattern: who writes to one is found out,
// who reads one meets AddressSanitizer.
#pragma once

#include <irp/irp.h>

namespace irpverbs::irp::verify {

class ledger;
struct draft;

/// The IRP, freed, joins the quarantine, and the oldest leaves it; its memory is checked. Under the
/// ledger's lock.
draft* keep_back(ledger& book, IRP* irp);

/// Takes the oldest out, which there must be. Under the ledger's lock.
draft* let_oldest_go(ledger& book);

/// Memory out of quarantine, back to the heap. True: nobody wrote to it.
bool let_go(IRP* irp);

} // namespace irpverbs::irp::verify
