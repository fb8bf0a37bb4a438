// Packets as bytes.
#pragma once

#include "packet.hpp"

#include <ci/support/wire_headers.hpp>

#include <optional>

namespace irpverbs::hca_software::transport {

inline constexpr std::size_t base_transport_size = 12;
inline constexpr std::size_t max_transport_size = base_transport_size + 28 + 8 + max_mtu + 4;
inline constexpr std::size_t max_frame_size = ci::local_route_size + ci::global_route_size +
                                              max_transport_size + ci::invariant_crc_size +
                                              ci::variant_crc_size;

/// The number of bytes from the base transport header to the last pad byte.
std::size_t transport_size(const packet& of);

/// Writes the headers in front of the payload. `to` has room for them. Returns the number of bytes.
std::size_t write_headers(const packet& what, std::span<UCHAR> to);

/// Writes all of these bytes. `to` has room for all of them. Returns their number. Source:
/// IBA 9.2, 9.3.
std::size_t write_transport(const packet& what, std::span<UCHAR> to);

/// Reads them; the payload refers to `from`. None: the bytes are no packet of any service: shorter
/// than their headers, a reserved header version, more pad bytes than payload, a payload where the
/// opcode has none or the other way around. A reserved opcode of a known service has a payload of
/// all bytes behind the base transport header. The path MTU is not checked.
std::optional<packet> parse_transport(const_bytes from);

/// A packet with its routes.
struct frame {
    ci::wire_route route; // without keys and numbers of queue pairs
    packet content;
};

/// Writes a packet from the local route header to the variant CRC. Returns the number of bytes, at
/// most max_frame_size, for which `to` has room. Source: IBA 7.7, 8.3, 7.8.
std::size_t write_frame(const ci::wire_route& route, const packet& what, std::span<UCHAR> to);

/// None: also a length of a route header that is wrong, another link version or next header, or a
/// CRC that is wrong.
std::optional<frame> parse_frame(const_bytes from);

} // namespace irpverbs::hca_software::transport
