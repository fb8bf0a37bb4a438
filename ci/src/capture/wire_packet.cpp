#include "wire_packet.hpp"

#include <algorithm>

namespace irpverbs::ci {

namespace {

constexpr std::uint8_t only_datagram = 0x64;   // BTH opcode: UD SEND Only
constexpr std::size_t transport_size = 12 + 8; // base and datagram headers

} // namespace

void wire_packet::put(std::uint64_t value, unsigned bytes) {
    while (bytes-- != 0)
        bytes_[size_++] = static_cast<std::uint8_t>(value >> 8 * bytes);
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
    size_ = write_route(route, transport_size + wire_mad::extent, bytes_.data());
    put_transport(route);
    std::ranges::copy(mad, bytes_.begin() + static_cast<std::ptrdiff_t>(size_));
    size_ = write_crcs(bytes_.data(), size_ + mad.size(), route.global);
}

} // namespace irpverbs::ci
