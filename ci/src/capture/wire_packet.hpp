// A datagram as a packet on the wire.
#pragma once

#include <ci/support/wire_headers.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace irpverbs::ci {

using wire_mad = std::span<const std::uint8_t, 256>;

inline constexpr std::size_t max_wire_bytes = 8 + 40 + 12 + 8 + 256 + 4 + 2;

/// From the local route header to the variant CRC. Source: IBA 7.7, 8.3, 9.2, 9.3, 7.8.
class wire_packet {
public:
    wire_packet(const wire_route& route, wire_mad mad);

    std::span<const std::uint8_t> bytes() const { return {bytes_.data(), size_}; }

private:
    void put(std::uint64_t value, unsigned bytes);
    void put_transport(const wire_route& route);

    std::array<std::uint8_t, max_wire_bytes> bytes_{};
    std::size_t size_ = 0;
};

} // namespace irpverbs::ci
