// A wire of UDP sockets: one for each address of an interface, and one for each multicast group.
#pragma once

#include "endpoint.hpp"
#include "multicast_groups.hpp"
#include "wire.hpp"

#include <list>

namespace irpverbs::hca_software::roce {

class socket_wire : public wire {
public:
    socket_wire(ethernet_port& owner, reception how)
        : owner_(owner), how_(how), groups_(owner, how) {}

    NTSTATUS open(const interface& on, std::string& problem) override;
    bool start() override;
    void close() override;
    int send(const global_route& way, const_bytes payload) override;
    USHORT source_port(const ib_gid_t& from) const override;
    NTSTATUS join(const ib_gid_t& group) override { return groups_.join(group, interface_); }
    void leave(const ib_gid_t& group) override { groups_.leave(group); }

private:
    const udp_socket* find(const ib_gid_t& local) const;

    ethernet_port& owner_;
    const reception how_;
    unsigned interface_ = 0;        // its index
    std::list<endpoint> endpoints_; // does not change after `open`
    multicast_groups groups_;
};

} // namespace irpverbs::hca_software::roce
