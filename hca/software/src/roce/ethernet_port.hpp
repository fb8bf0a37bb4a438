// A port with an Ethernet interface in the place of a cable: RoCEv2, over UDP sockets or a TAP
// device.
#pragma once

#include "interface.hpp"
#include "wire.hpp"

#include <memory>
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

    /// Opens the wire, and gives the port the interface's attributes. IRQL: PASSIVE_LEVEL, as the
    /// next two. A failure is explained in `problem`.
    NTSTATUS open(std::unique_ptr<wire> by, interface on, std::string& problem);
    /// Packets arrive from now on.
    NTSTATUS start(std::string& problem);
    /// Packets no longer arrive.
    void close();

    /// Sends a packet to route.to from route.from. `payload` has the bytes from the
    /// base transport header to the last pad byte, and 4 bytes for the invariant CRC. False: the
    /// wire is full. A packet that the system refuses is lost. IRQL: <= DISPATCH_LEVEL.
    bool send(const global_route& route, std::span<UCHAR> payload) const;
    /// The UDP port from which packets of this GID come.
    USHORT source_port(const ib_gid_t& from) const;
    /// Sends a datagram of an agent; the caller holds the fabric's lock.
    void send(const datagram& what) const;

    /// The packets of a group arrive until `leave`; each call counts. STATUS_NOT_SUPPORTED: the
    /// port has no address of its family. STATUS_INSUFFICIENT_RESOURCES: the system refuses. IRQL
    /// of both: PASSIVE_LEVEL.
    NTSTATUS join(const ib_gid_t& group);
    void leave(const ib_gid_t& group) { wire_->leave(group); }

    /// The packets have arrived. Runs on the reactor.
    void receive(std::span<arrival> packets);

private:
    fabric& fabric_;
    port& port_;
    std::unique_ptr<wire> wire_; // does not change after `open`
};

} // namespace roce
} // namespace irpverbs::hca_software
