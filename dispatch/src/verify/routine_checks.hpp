// Rules about what a routine leaves behind when it returns: DPCs, work items, threads.
#pragma once

#include "../dpc.hpp"
#include "processor_checks.hpp"

namespace irpverbs::dispatch::detail {

/// Calls a DPC's routine, looking on. `begun`: when this processor began to run DPCs without a
/// pause, in machine time.
void run_watched_dpc(processor& self, KDPC* dpc, const dpc_call& call, std::uint64_t begun);

/// Calls a routine that runs at PASSIVE_LEVEL. `what`: "a work item".
void run_watched_routine(processor& self, const char* what, void (*routine)(void*), void* context);

/// The thread that was `self` ends. Reports, but never throws.
void thread_ends(processor& self) noexcept;

/// The machine has run everything it had. Reports, but never throws.
void machine_stopped(machine& where) noexcept;

} // namespace irpverbs::dispatch::detail
