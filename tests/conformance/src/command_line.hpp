// The program's command line.
#pragma once

#include "settings.hpp"

#include <optional>

namespace irpverbs::conformance {

struct invocation {
    settings run;
    bool list = false;
    bool markdown = false;
    bool require_hca = false;
    std::string junit; // file; empty: none
};

/// Reads it; nothing to run: `status` is the exit status, and all is said.
std::optional<invocation> read_command_line(int argc, char** argv,
                                            std::span<const CONFORMANCE_ADAPTER> adapters,
                                            int& status);

} // namespace irpverbs::conformance
