// Starts a program on the drop-in libraries of rdma-core. docs/run-your-program.md.
#pragma once

#include <string>
#include <vector>

namespace irpctl {

struct run_options {
    std::string hca;    // a URI as of IRPVERBS_HCA
    std::string fabric; // a topology file in place of it; empty: none
    std::string hosts;  // NAME,NAME; empty: that of the first HCA
    bool verbose = false;
    std::vector<std::string> program; // and its arguments
};

/// Replaces irpctl by the program. Throws failure if that is not possible.
[[noreturn]] void run_program(const run_options& options);

} // namespace irpctl
