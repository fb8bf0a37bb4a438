// A port with an Ethernet interface in the place of a cable: RoCEv2 over UDP sockets, one for each
// of its GIDs.
#pragma once

#include "interface.hpp"
#include "udp_socket.hpp"

#include <dispatch/descriptor_watch.hpp>

#include <list>
#include <span>
#include <string>

namespace irpverbs::hca_software {

class fabric;
struct port;

namespace roce {

class ethernet_port {
public:
    ethernet_port(fabric& where, port& at) : fabric_(where), port_(at) {}
    ethernet_port(const ethernet_port&) = delete;
    ethernet_port& operator=(const ethernet_port&) = delete;

    /// Opens the sockets, and gives the port the interface's attributes. IRQL: PASSIVE_LEVEL, as
    /// the next two. A failure is explained in `problem`.
    NTSTATUS open(const interface& on, std::string& problem);
    /// Packets arrive from now on.
    NTSTATUS start(std::string& problem);
    /// Packets no longer arrive.
    void close();

    /// Sends a packet to route.to from the socket of route.from. `payload` has the bytes from the
    /// base transport header to the last pad byte, and 4 bytes for the invariant CRC. False: the
    /// socket is full. A packet that the system refuses is lost. IRQL: <= DISPATCH_LEVEL.
    bool send(const global_route& route, std::span<UCHAR> payload) const;
    /// Sends a datagram of an agent; the caller holds the fabric's lock.
    void send(const datagram& what) const;

private:
    /// A socket and its watch.
    struct endpoint {
        ethernet_port* owner;
        udp_socket socket;
        std::unique_ptr<dispatch::descriptor_watch> watch;
    };

    NTSTATUS add_socket(const ib_gid_t& gid, unsigned scope, std::string& problem);
    void receive(udp_socket& from);

    fabric& fabric_;
    port& port_;
    std::list<endpoint> endpoints_; // does not change after `open`
};

} // namespace roce
} // namespace irpverbs::hca_software
