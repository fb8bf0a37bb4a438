// The wire of an Ethernet port: what its packets of UDP are sent and received with.
#pragma once

#include "arrival.hpp"
#include "interface.hpp"

#include <memory>

namespace irpverbs::hca_software::roce {

class ethernet_port;

class wire {
public:
    wire() = default;
    virtual ~wire() = default;
    wire(const wire&) = delete;
    wire& operator=(const wire&) = delete;

    /// Opens it for the interface's addresses. A failure is explained in `problem`. IRQL:
    /// PASSIVE_LEVEL, as the next two.
    virtual NTSTATUS open(const interface& on, std::string& problem) = 0;
    /// Packets arrive at ethernet_port::receive from now on. False: a simulated machine has no
    /// descriptors.
    virtual bool start() = 0;
    /// Packets no longer arrive.
    virtual void close() = 0;

    /// Sends a payload from `way.from` to `way.to`. Returns an errno; 0: it is sent. Never blocks.
    /// IRQL: <= DISPATCH_LEVEL, as the next.
    virtual int send(const global_route& way, const_bytes payload) = 0;
    /// The UDP port from which packets of this GID come.
    virtual USHORT source_port(const ib_gid_t& from) const = 0;

    /// The packets of a group arrive until `leave`; each call counts.
    /// STATUS_INSUFFICIENT_RESOURCES: no memory, or the system refuses. IRQL: PASSIVE_LEVEL.
    virtual NTSTATUS join(const ib_gid_t& group) = 0;
    virtual void leave(const ib_gid_t& group) = 0;
};

} // namespace irpverbs::hca_software::roce
