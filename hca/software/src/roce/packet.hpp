// RoCEv2 packets as bytes: IP and UDP headers in front of the base transport header, and the
// invariant CRC over both. Source: IBA annex A17.
#pragma once

#include "../datagram.hpp"

#include "../transport/packet_format.hpp"

#include <ci/support/ip_gid.hpp>

namespace irpverbs::hca_software::roce {

using transport::const_bytes;

inline constexpr USHORT udp_port = 4791;

/// Ethernet has no LIDs: inside the HCA, this one is that of all groups.
inline constexpr ib_lid_t group_lid = IB_LID_MULTICAST_FIRST;

inline constexpr std::size_t udp_header_size = 8;
inline constexpr std::size_t ipv4_header_size = 20;
inline constexpr std::size_t ipv6_header_size = 40;
inline constexpr std::size_t max_route_size = ipv6_header_size + udp_header_size;
inline constexpr std::size_t max_udp_payload =
    transport::max_transport_size + ci::invariant_crc_size;

using ci::is_ipv4;

/// The IPv4 address in the four bytes there, mapped into a GID.
inline ib_gid_t ipv4_at(const UCHAR* from) {
    return {0, std::uint64_t{0xFFFF} << 32 | load<4>(from)};
}

enum ip_protocol : UCHAR { protocol_icmp = 1, protocol_udp = 17, protocol_icmpv6 = 58 };
enum ethernet_type : USHORT { type_ipv4 = 0x0800, type_arp = 0x0806, type_ipv6 = 0x86DD };

/// The IP and UDP headers of a packet. Both GIDs are addresses of one family.
struct ip_route {
    global_route global;
    USHORT from_port = udp_port;
    USHORT identification = 0; // of IPv4
    bool has_identification = false;

    bool uses_ipv4() const { return is_ipv4(global.from); }
};

/// The number of bytes of both headers.
inline std::size_t size_of(const ip_route& route) {
    return (route.uses_ipv4() ? ipv4_header_size : ipv6_header_size) + udp_header_size;
}

/// Writes the IP header of a packet with `content` bytes behind it, for which `to` has room. IPv4
/// packets are not to be fragmented. Returns its number of bytes.
std::size_t write_ip(const ip_route& route, UCHAR protocol, std::size_t content, UCHAR* to);

/// Writes both headers of a packet with `payload` bytes behind them, for which `to` has room. The
/// UDP checksum is left out. Returns their number of bytes.
std::size_t write_route(const ip_route& route, std::size_t payload, UCHAR* to);

/// Writes the 40 bytes in front of a received datagram: the IPv6 header, or 20 zeros and the IPv4
/// header. Source: IBA A17.4.5.
std::array<UCHAR, ci::global_route_size> received_route(const ip_route& route, std::size_t payload);

/// Returns the invariant CRC of the bytes from the base transport header to the last pad byte, at
/// least transport::base_transport_size, as a number whose lowest byte is first on the wire.
std::uint32_t invariant_crc(const ip_route& route, const_bytes transport);

/// Writes it behind them: it takes the last 4 bytes of `payload`.
void write_invariant_crc(const ip_route& route, std::span<UCHAR> payload);

inline constexpr std::size_t ethernet_header_size = 14;
inline constexpr std::size_t ethernet_type_offset = 12;
inline constexpr std::size_t max_frame_size =
    ethernet_header_size + max_route_size + max_udp_payload;

/// Writes a packet as an Ethernet frame for captures: its hardware addresses, which a UDP socket
/// does not show, are 0. Returns the number of bytes, at most max_frame_size, for which `to` has
/// room.
std::size_t write_frame(const ip_route& route, const transport::packet& what, std::span<UCHAR> to);

/// Checks a UDP payload: a whole number of words, and a right CRC. An UDP socket does not show the
/// identification of IPv4, which the CRC covers: if the route does not have it, it is found by the
/// CRC and stored, which leaves 16 of its 32 bits for the check. Packets are taken as not to be
/// fragmented.
bool has_right_crc(ip_route& route, const_bytes payload);

} // namespace irpverbs::hca_software::roce
