// The parser of the command line, in a file of its own since CLI11 is slow to compile.
#pragma once

#include "program_options.hpp"

namespace irpctl {

/// Returns false when the user asked for help, which is then printed. Throws wrong_usage.
bool parse_command_line(int argc, char** argv, program_options& chosen);

} // namespace irpctl
