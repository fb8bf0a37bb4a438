// Queries to the SA by libibumad alone, one at a time and with the kernel's RMPP.
#pragma once

#include <cstdint>
#include <vector>

namespace irpverbs::testing {

class raw_umad {
public:
    raw_umad();
    ~raw_umad();
    raw_umad(const raw_umad&) = delete;
    raw_umad& operator=(const raw_umad&) = delete;

    /// Sends a datagram, again if there is no response after `milliseconds`. Returns the whole
    /// response with its headers once; empty if none arrived.
    std::vector<std::uint8_t> ask(const std::vector<std::uint8_t>& request, std::uint16_t lid,
                                  int milliseconds);

private:
    int port_;
    int agent_;
};

} // namespace irpverbs::testing
