// The parsed command line.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <string>

namespace irpctl {

class session;

struct program_options {
    std::string hca = "software:";
    std::string partitions; // the software fabric's partitions.conf; empty: one partition
    unsigned lmc = 0;       // of the software fabric's subnet manager
    bool json = false;
    std::string trace_file; // empty: none
    std::string pcap_file;  // empty: none
    /// The subcommand, which runs on the session's machine.
    std::function<boost::asio::awaitable<void>(session&)> run;
    /// A subcommand that has no session, and returns the exit status; empty: `run` is the
    /// subcommand.
    std::function<int()> start;
};

} // namespace irpctl
