/// The machine of threads that are attached to none, for libraries inside programs of others.
#pragma once

#include <dispatch/machine.hpp>

namespace irpverbs::dispatch {

/// Makes `chosen` the machine of all threads that have none, in place of the default
/// `asio_machine`. `chosen` lives until the process ends. Threads that are attached already stay
/// so.
NT_API void set_default_machine(machine& chosen) noexcept;

/// Detaches the calling thread, the only one of a child process, from the parent's machine, whose
/// threads and locks the child does not have. Undoes set_default_machine.
NT_API void leave_machine_after_fork() noexcept;

} // namespace irpverbs::dispatch
