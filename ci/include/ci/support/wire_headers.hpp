// The parts of a packet on the wire that do not depend on its transport service: route headers in
// front, CRCs at the end.
#pragma once

#include <ci/ib_types.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace irpverbs::ci {

/// The source or the destination of a packet.
struct wire_end {
    ib_lid_t lid = 0;
    ib_qpn_t qp = 0;
    ib_gid_t gid{};
};

struct wire_route {
    wire_end from;
    wire_end to;
    ib_pkey_t p_key = 0;
    ib_qkey_t q_key = 0;
    std::uint8_t service_level = 0;
    bool managing = false; // QP0: on virtual lane 15
    bool global = false;   // the members below, and the GIDs, are valid
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 0;
    std::uint32_t flow_label = 0;
};

inline constexpr std::size_t local_route_size = 8;
inline constexpr std::size_t global_route_size = 40;
inline constexpr std::size_t invariant_crc_size = 4;
inline constexpr std::size_t variant_crc_size = 2;
inline constexpr std::uint8_t after_global_route = 0x1B; // its next header: the base transport

inline std::size_t route_size(bool global) {
    return local_route_size + (global ? global_route_size : 0);
}

/// Writes the route headers of a packet that has `transport` bytes between them and the invariant
/// CRC, a multiple of 4. Returns their number of bytes, for which `to` has room. Source: IBA 7.7,
/// 8.3.
std::size_t write_route(const wire_route& route, std::size_t transport, std::uint8_t* to);

/// The CRCs of all bytes in front of them, as numbers whose lowest byte is first on the wire. A
/// packet for the invariant CRC has at least 12 bytes behind its route headers. Source: IBA 7.8.1,
/// 7.8.2.
std::uint32_t invariant_crc(std::span<const std::uint8_t> packet_before, bool global);
std::uint16_t variant_crc(std::span<const std::uint8_t> packet_before);

/// Writes both CRCs behind the first `size` bytes of a packet; returns the number of its bytes.
std::size_t write_crcs(std::uint8_t* packet, std::size_t size, bool global);

} // namespace irpverbs::ci
