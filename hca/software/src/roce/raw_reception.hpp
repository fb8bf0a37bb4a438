// Reception of UDP packets by a raw socket, which gets a copy of what comes to a port that another
// program or the kernel has.
#pragma once

#include "packet.hpp"

namespace irpverbs::hca_software::roce {

/// Opens a raw socket for packets to udp_port. It needs CAP_NET_RAW, and is bound by its owner.
/// Returns its descriptor; -1: errno has the reason.
int open_raw(bool is_version_4);

/// Reads the headers that a raw socket shows in front of a UDP payload: those of IPv4 and UDP, or
/// of UDP alone. Returns the payload; empty: they are wrong.
const_bytes read_raw(const_bytes packet, bool is_version_4, ip_route& into);

/// Reads the UDP header of a packet to udp_port; the same.
const_bytes read_udp(const_bytes datagram, ip_route& into);

/// The most bytes of these headers.
inline constexpr std::size_t max_raw_headers = 60 + udp_header_size;

} // namespace irpverbs::hca_software::roce
