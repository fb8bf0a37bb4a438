// What the command line asks for.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace irpctl {

class session;

struct invocation {
    std::string hca = "software:";
    std::string partitions; // a file for the software fabric's subnet manager; empty: one partition
    std::uint8_t lmc = 0;   // of the software fabric's subnet manager
    bool json = false;
    std::string trace_file; // empty: none
    std::string pcap_file;  // empty: none
    /// The subcommand's work, on the session's machine.
    std::function<boost::asio::awaitable<void>(session&)> run;
};

} // namespace irpctl
