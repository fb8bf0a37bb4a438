// IP packets that are addressed to a host which reads them itself.
#pragma once

#include "packet.hpp"

#include <optional>

namespace irpverbs::hca_software::roce {

struct ip_packet {
    ip_route route; // all but its UDP port
    UCHAR protocol = 0;
    const_bytes content; // of the bytes that were parsed
};

/// Parses a packet, behind which there may be other bytes. None: it is damaged, a fragment, or one
/// of IPv6 with an address of IPv4. Extension headers of IPv6 are its content.
std::optional<ip_packet> parse_ip(bool is_version_4, const_bytes bytes);

/// The sum of the pseudo header that the checksum of ICMPv6 begins with. Source: RFC 8200 8.1.
std::uint64_t pseudo_header_sum(const global_route& route, std::size_t content);

} // namespace irpverbs::hca_software::roce
