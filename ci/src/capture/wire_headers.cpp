#include <ci/support/crc32.hpp>
#include <ci/support/wire_headers.hpp>

#include <boost/crc.hpp>

#include <algorithm>
#include <array>

namespace irpverbs::ci {

namespace {

constexpr std::size_t base_transport_size = 12;
constexpr std::size_t max_masked = local_route_size + global_route_size + base_transport_size;

std::uint8_t* put(std::uint8_t* to, std::uint64_t value, unsigned bytes) {
    while (bytes-- != 0)
        *to++ = static_cast<std::uint8_t>(value >> 8 * bytes);
    return to;
}

std::uint8_t* put_local(const wire_route& route, std::size_t behind, std::uint8_t* to) {
    const std::size_t words = (route_size(route.global) + behind) / 4;
    to = put(to, route.managing ? 0xF0 : 0, 1); // virtual lane
    to = put(to, (route.service_level & 0xFu) << 4 | (route.global ? 3u : 2u), 1);
    to = put(to, route.to.lid, 2);
    to = put(to, words & 0x7FF, 2);
    return put(to, route.from.lid, 2);
}

std::uint8_t* put_global(const wire_route& route, std::size_t behind, std::uint8_t* to) {
    to = put(to, 6u << 28 | std::uint32_t{route.traffic_class} << 20 | (route.flow_label & 0xFFFFF),
             4);
    to = put(to, behind, 2);
    to = put(to, after_global_route, 1);
    to = put(to, route.hop_limit, 1);
    for (const ib_gid_t& each : {route.from.gid, route.to.gid}) {
        to = put(to, each.gid_prefix, 8);
        to = put(to, each.gid_guid, 8);
    }
    return to;
}

/// Sets the fields that switches and routers may change to ones.
void mask(std::span<std::uint8_t> headers, bool global) {
    headers[0] |= 0xF0; // virtual lane
    if (global) {
        const auto route = headers.subspan(local_route_size);
        route[0] |= 0x0F; // traffic class, flow label
        std::ranges::fill(route.subspan(1, 3), std::uint8_t{0xFF});
        route[7] = 0xFF; // hop limit
    }
    headers[route_size(global) + 4] = 0xFF; // reserved, congestion
}

} // namespace

std::size_t write_route(const wire_route& route, std::size_t transport, std::uint8_t* to) {
    const std::size_t behind = transport + invariant_crc_size;
    std::uint8_t* end = put_local(route, behind, to);
    if (route.global) end = put_global(route, behind, end);
    return static_cast<std::size_t>(end - to);
}

std::uint32_t invariant_crc(std::span<const std::uint8_t> packet_before, bool global) {
    std::array<std::uint8_t, max_masked> masked{};
    const std::size_t size = route_size(global) + base_transport_size;
    std::copy_n(packet_before.begin(), size, masked.begin());
    mask(std::span(masked).first(size), global);
    crc32 crc;
    crc.add(std::span(masked).first(size));
    crc.add(packet_before.subspan(size));
    return crc.value();
}

std::uint16_t variant_crc(std::span<const std::uint8_t> packet_before) {
    boost::crc_optimal<16, 0x100B, 0xFFFF, 0xFFFF, true, true> crc;
    crc.process_bytes(packet_before.data(), packet_before.size());
    return crc.checksum();
}

std::size_t write_crcs(std::uint8_t* packet, std::size_t size, bool global) {
    const std::uint32_t invariant = invariant_crc({packet, size}, global);
    for (unsigned shift = 0; shift < 32; shift += 8)
        packet[size++] = static_cast<std::uint8_t>(invariant >> shift);
    const std::uint16_t variant = variant_crc({packet, size});
    packet[size++] = static_cast<std::uint8_t>(variant & 0xFF);
    packet[size++] = static_cast<std::uint8_t>(variant >> 8);
    return size;
}

} // namespace irpverbs::ci
