// Rules about the state in which a routine returns: DPCs, work items, threads.
#pragma once

#include "dpc/dpc.hpp"
#include "processor_checks.hpp"

namespace irpverbs::dispatch::detail {

/// Calls a DPC's routine and checks its effects. `begun`: the machine time at which this processor
/// began to run DPCs without a pause.
void run_checked_dpc(processor& self, KDPC* dpc, const dpc_call& call, std::uint64_t begun);

/// Calls a routine that runs at PASSIVE_LEVEL and checks its effects. `what`: "a work item".
void run_checked_routine(processor& self, const char* what, void (*routine)(void*), void* context);

/// Checks a thread that ends. Reports, but never throws.
void thread_ends(processor& self) noexcept;

/// Checks a machine that has run all its work. Reports, but never throws.
void machine_stopped(machine& where) noexcept;

} // namespace irpverbs::dispatch::detail
