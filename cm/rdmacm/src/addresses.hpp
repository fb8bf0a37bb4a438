// IP addresses of ports. docs/decisions/rdmacm.md.
#pragma once

#include <ci/ib_types.h>
#include <cm/ip_address.h>

#include <array>
#include <cstdint>
#include <netinet/in.h>
#include <optional>
#include <vector>

namespace irpverbs::rdmacm {

/// The network of the IPv4 addresses of LIDs, 198.18.0.0/16: it is reserved for tests of networks
/// (RFC 2544), so that no real one has it. The last 16 bits are the LID.
inline constexpr std::uint32_t lid_network = 0xC612'0000;

/// An IP address and a port number.
struct ip_endpoint {
    sa_family_t family = AF_UNSPEC;       // AF_INET or AF_INET6
    std::array<std::uint8_t, 16> bytes{}; // IPv4 as ::ffff:a.b.c.d
    std::uint16_t port = 0;

    bool is_any() const;
    bool is_loopback() const;
    bool is_multicast() const;
    /// The LID of an address of `lid_network`. 0: it is another address.
    ib_lid_t lid() const;
    /// IPv4 is the GID of a port of Ethernet.
    ib_gid_t gid() const;
    bool same_address(const ip_endpoint& other) const {
        return family == other.family && bytes == other.bytes;
    }
};

/// No value: another family.
std::optional<ip_endpoint> parse(const sockaddr* address);
/// Writes a sockaddr_in or a sockaddr_in6.
void store(const ip_endpoint& from, sockaddr_storage& into);

ip_endpoint from_ipv4(std::uint32_t address);
ip_endpoint from_gid(const ib_gid_t& gid);
ip_endpoint any_address(sa_family_t family);

/// The addresses in the messages of communication management.
ib_cm_ip_t wire_addresses(const ip_endpoint& from, const ip_endpoint& to);
/// The address at `bytes` of a message.
ip_endpoint from_wire(std::uint8_t version, const UCHAR (&bytes)[16], std::uint16_t port);

/// A port's numbers that its addresses are made of.
struct port_identity {
    std::vector<ib_gid_t> gids;
    ib_lid_t lid = 0;

    /// The address of the port; no value: it has none of that family.
    std::optional<ip_endpoint> own(sa_family_t family) const;
    /// Whether the address is one of the port's; those of loopback are every port's.
    bool has(const ip_endpoint& address) const;
};

} // namespace irpverbs::rdmacm
