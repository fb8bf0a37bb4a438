// The command line, taken apart. Alone with CLI11, which is slow to compile.
#pragma once

#include "invocation.hpp"

namespace irpctl {

/// False: only help was asked for, and written. Throws wrong_usage.
bool parse_command_line(int argc, char** argv, invocation& chosen);

} // namespace irpctl
