// Starts a program on the drop-in libraries of rdma-core. docs/run-your-program.md.
#pragma once

#include <string>
#include <vector>

namespace irpctl {

struct run_options {
    std::string hca;    // a URI as of IRPVERBS_HCA; empty: a daemon for this program alone
    std::string fabric; // the topology file of that daemon; empty: the built-in fabric
    std::string faults; // of its cables, as in a URI: "?loss=0.01"
    std::string hosts;  // NAME,NAME; empty: that of the first HCA
    bool verbose = false;
    std::vector<std::string> program; // and its arguments
};

/// Returns the program's exit status. With HCAs that are named the program replaces irpctl. Throws
/// failure if it can't be started.
int run_program(const run_options& options);

} // namespace irpctl
