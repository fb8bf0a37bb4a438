// The multicast groups of IP that an Ethernet port receives: a UDP socket for each, since those of
// the port's own addresses receive nothing else.
#pragma once

#include "endpoint.hpp"

#include <dispatch/ke.h>

#include <list>

namespace irpverbs::hca_software::roce {

class multicast_groups {
public:
    multicast_groups(ethernet_port& owner, reception how) : owner_(owner), how_(how) {}

    /// Adds a member to a group. The first one opens the socket, on the interface of this index,
    /// which makes the system report the membership to routers and switches (IGMP, MLD).
    /// STATUS_INSUFFICIENT_RESOURCES: the system has no socket or membership left. IRQL of both:
    /// PASSIVE_LEVEL. Threads: any.
    NTSTATUS join(const ib_gid_t& group, unsigned index);
    /// Removes a member; the last one closes the socket.
    void leave(const ib_gid_t& group);

private:
    struct group {
        group(ethernet_port& owner, reception how) : receiver(owner, how) {}

        endpoint receiver;
        ULONG members = 1;
    };
    using groups = std::list<group>;

    bool add_member(const ib_gid_t& to);
    groups::iterator find(const ib_gid_t& which);

    ethernet_port& owner_;
    const reception how_;
    KSPIN_LOCK lock_ = 0;
    groups groups_; // guarded by it
};

} // namespace irpverbs::hca_software::roce
