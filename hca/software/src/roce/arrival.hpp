// A packet that has arrived at an Ethernet port.
#pragma once

#include "packet.hpp"

namespace irpverbs::hca_software::roce {

struct arrival {
    ip_route route;
    const_bytes payload; // of UDP; valid until the next ones are received
};

inline constexpr std::size_t most_arrivals = 32; // of a call

} // namespace irpverbs::hca_software::roce
