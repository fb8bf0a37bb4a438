// Socket addresses of GIDs.
#pragma once

#include <ci/ib_types.h>

#include <netinet/in.h>
#include <sys/socket.h>

namespace irpverbs::hca_software::roce {

struct socket_address {
    sockaddr_storage value{};
    socklen_t size = sizeof(value);

    sockaddr* get() { return reinterpret_cast<sockaddr*>(&value); }
};

/// `scope` is the index of the interface of a link-local address.
socket_address address_of(const ib_gid_t& gid, USHORT port, unsigned scope);

/// The GID and the UDP port of an address of AF_INET or AF_INET6.
ib_gid_t gid_of(const sockaddr& address);
USHORT port_of(const sockaddr& address);

} // namespace irpverbs::hca_software::roce
