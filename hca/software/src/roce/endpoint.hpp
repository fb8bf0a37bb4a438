// A UDP socket of an Ethernet port, and the watch that receives from it.
#pragma once

#include "udp_socket.hpp"

#include <dispatch/descriptor_watch.hpp>

#include <memory>

namespace irpverbs::hca_software::roce {

class ethernet_port;

struct endpoint {
    endpoint(ethernet_port& its_owner, reception how) : owner(its_owner), socket(how) {}

    /// Packets arrive at ethernet_port::receive from now on. False: a simulated machine has no
    /// sockets. IRQL: PASSIVE_LEVEL.
    bool start();

    ethernet_port& owner;
    udp_socket socket;
    std::unique_ptr<dispatch::descriptor_watch> watch;
};

} // namespace irpverbs::hca_software::roce
