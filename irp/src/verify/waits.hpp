// Those who wait for requests: whether they do, and whether the wait can end.
#pragma once

#include "ledger.hpp"

namespace irpverbs::irp::verify {

/// Told by dispatch.
void waits_for(const void* object);
void sets_event(const void* event);

/// A dispatch routine returned; did it leave a request behind that will write to its stack? Under
/// the ledger's lock.
draft* check_stack_left(ledger& book, const frame& mine);

/// A completion routine took the IRP back; does its sender wait? Under the ledger's lock.
void note_taken_back(const ledger& book, record& irp);

/// For the report of a run that hangs: who waits for what no request will signal, and which rule
/// that breaks. Under the ledger's lock.
std::string waits_without_end(const ledger& book);

} // namespace irpverbs::irp::verify
