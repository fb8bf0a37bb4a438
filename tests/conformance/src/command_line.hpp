// The program's command line.
#pragma once

#include "settings.hpp"

#include <optional>
#include <string>

namespace irpverbs::conformance {

struct program_options {
    settings run;
    bool list = false;
    bool markdown = false;
    bool require_hca = false;
    std::string junit; // a file; empty: no report
};

/// Writes the line to stderr, after the program's name, and returns `status`.
int complain(int status, const std::string& line);

/// Reads the command line. Without a result there is nothing to run: all output is printed, and
/// `status` is the exit status.
std::optional<program_options> read_command_line(int argc, char** argv,
                                                 std::span<const CONFORMANCE_ADAPTER> adapters,
                                                 int& status);

} // namespace irpverbs::conformance
