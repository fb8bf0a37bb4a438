#include "wire_packet.hpp"

#include <boost/crc.hpp>

#include <algorithm>

namespace irpverbs::ci {

namespace {

constexpr std::uint8_t only_datagram = 0x64; // BTH opcode: UD SEND Only
constexpr std::uint8_t after_global_route = 0x1B;
constexpr std::size_t local_route_size = 8;
constexpr std::size_t global_route_size = 40;
constexpr std::size_t transport_size = 12 + 8; // base and datagram headers
constexpr std::size_t invariant_crc_size = 4;

template <class Crc>
auto crc_of(std::span<const std::uint8_t> bytes) {
    Crc crc;
    crc.process_bytes(bytes.data(), bytes.size());
    return crc.checksum();
}

} // namespace

// The invariant CRC counts fields that switches and routers may change as ones.
std::uint32_t invariant_crc(std::span<const std::uint8_t> packet_before, bool global) {
    std::array<std::uint8_t, max_wire_bytes> masked{};
    std::ranges::copy(packet_before, masked.begin());
    masked[0] |= 0xF0; // virtual lane
    std::size_t base = local_route_size;
    if (global) {
        masked[base] |= 0x0F; // traffic class, flow label
        std::fill_n(masked.begin() + static_cast<std::ptrdiff_t>(base) + 1, 3, std::uint8_t{0xFF});
        masked[base + 7] = 0xFF; // hop limit
        base += global_route_size;
    }
    masked[base + 4] = 0xFF; // reserved, congestion
    return crc_of<boost::crc_32_type>(std::span(masked).first(packet_before.size()));
}

std::uint16_t variant_crc(std::span<const std::uint8_t> packet_before) {
    return crc_of<boost::crc_optimal<16, 0x100B, 0xFFFF, 0xFFFF, true, true>>(packet_before);
}

void wire_packet::put(std::uint64_t value, unsigned bytes) {
    while (bytes-- != 0)
        bytes_[size_++] = static_cast<std::uint8_t>(value >> 8 * bytes);
}

void wire_packet::put_local_route(const wire_route& route) {
    const std::size_t headers =
        local_route_size + (route.global ? global_route_size : 0) + transport_size;
    put(route.managing ? 0xF0 : 0, 1); // virtual lane
    put((route.service_level & 0xFu) << 4 | (route.global ? 3u : 2u), 1);
    put(route.to.lid, 2);
    put((headers + wire_mad::extent + invariant_crc_size) / 4, 2);
    put(route.from.lid, 2);
}

void wire_packet::put_global_route(const wire_route& route) {
    put(6u << 28 | std::uint32_t{route.traffic_class} << 20 | (route.flow_label & 0xFFFFF), 4);
    put(transport_size + wire_mad::extent + invariant_crc_size, 2);
    put(after_global_route, 1);
    put(route.hop_limit, 1);
    for (const ib_gid_t& each : {route.from.gid, route.to.gid}) {
        put(each.gid_prefix, 8);
        put(each.gid_guid, 8);
    }
}

void wire_packet::put_transport(const wire_route& route) {
    put(only_datagram, 1);
    put(0, 1); // no event, no migration, no padding
    put(route.p_key, 2);
    put(route.to.qp, 4);
    put(0, 4); // no acknowledgement, packet sequence number
    put(route.q_key, 4);
    put(route.from.qp, 4);
}

wire_packet::wire_packet(const wire_route& route, wire_mad mad) {
    put_local_route(route);
    if (route.global) put_global_route(route);
    put_transport(route);
    for (const std::uint8_t each : mad)
        put(each, 1);
    const std::uint32_t invariant = invariant_crc(bytes(), route.global);
    for (unsigned shift = 0; shift < 32; shift += 8)
        put(invariant >> shift & 0xFF, 1);
    const std::uint16_t variant = variant_crc(bytes());
    put(variant & 0xFF, 1);
    put(variant >> 8, 1);
}

} // namespace irpverbs::ci
