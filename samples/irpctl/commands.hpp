// The subcommands, a file each. Each function here adds one to `parent` (the program, or `trace`);
// when it is what the command line names, `chosen.run` is set.
#pragma once

#include "invocation.hpp"

#include <CLI/CLI.hpp>

namespace irpctl {

void add_devices(CLI::App& parent, invocation& chosen);
void add_port(CLI::App& parent, invocation& chosen);
void add_events(CLI::App& parent, invocation& chosen);

/// All of the above.
void add_commands(CLI::App& parent, invocation& chosen);

/// `trace -o FILE COMMAND...`: has all of the above as subcommands of its own.
void add_trace(CLI::App& parent, invocation& chosen);

} // namespace irpctl
