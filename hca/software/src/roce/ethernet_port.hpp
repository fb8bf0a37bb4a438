// A port with an Ethernet interface in the place of a cable: RoCEv2 over UDP sockets, one for each
// of its GIDs and each of its multicast groups.
#pragma once

#include "endpoint.hpp"
#include "interface.hpp"
#include "multicast_groups.hpp"

#include <list>
#include <span>
#include <string>

namespace irpverbs::hca_software {

class fabric;
struct port;

namespace roce {

class ethernet_port {
public:
    ethernet_port(fabric& where, port& at, reception how)
        : fabric_(where), port_(at), how_(how), groups_(*this, how) {}
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
    /// The UDP port from which packets of this GID come.
    USHORT source_port(const ib_gid_t& from) const;
    /// Sends a datagram of an agent; the caller holds the fabric's lock.
    void send(const datagram& what) const;

    /// The packets of a group arrive until `leave`; each call counts. STATUS_NOT_SUPPORTED: the
    /// port has no address of its family. STATUS_INSUFFICIENT_RESOURCES: the system refuses. IRQL
    /// of both: PASSIVE_LEVEL.
    NTSTATUS join(const ib_gid_t& group);
    void leave(const ib_gid_t& group) { groups_.leave(group); }

    /// Reads the packets of a socket. Runs on the reactor.
    void receive(udp_socket& from);

private:
    NTSTATUS add_socket(const ib_gid_t& gid, std::string& problem);
    const udp_socket* find(const ib_gid_t& local) const;

    fabric& fabric_;
    port& port_;
    const reception how_;
    unsigned interface_ = 0;        // its index
    std::list<endpoint> endpoints_; // does not change after `open`
    multicast_groups groups_;
};

} // namespace roce
} // namespace irpverbs::hca_software
