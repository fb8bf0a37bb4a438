// Waits for requests: whether a sender waits, and whether its wait can end.
#pragma once

#include "ledger.hpp"

namespace irpverbs::irp::verify {

/// Called by dispatch.
void waits_for(const void* object);
void sets_event(const void* event);

/// Called when a dispatch routine returned: checks that no pending request will write to its stack.
/// Called under the ledger's lock.
draft* check_stack_left(ledger& book, const frame& mine);

/// Called when a completion routine kept the IRP: records the wait of its sender. Called under the
/// ledger's lock.
void note_taken_back(const ledger& book, record& irp);

/// For the report of a run that hangs: the waiting threads that no request will wake, and the rule
/// that this breaks. Called under the ledger's lock.
std::string waits_without_end(const ledger& book);

} // namespace irpverbs::irp::verify
