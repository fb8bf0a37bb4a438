// A datagram as a packet on the wire.
#pragma once

#include <ci/ib_types.h>

#include <array>
#include <cstdint>
#include <span>

namespace irpverbs::ci {

/// The source or the destination of a datagram.
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

using wire_mad = std::span<const std::uint8_t, 256>;

inline constexpr std::size_t max_wire_bytes = 8 + 40 + 12 + 8 + 256 + 4 + 2;

/// From the local route header to the variant CRC. Source: IBA 7.7, 8.3, 9.2, 9.3, 7.8.
class wire_packet {
public:
    wire_packet(const wire_route& route, wire_mad mad);

    std::span<const std::uint8_t> bytes() const { return {bytes_.data(), size_}; }

private:
    void put(std::uint64_t value, unsigned bytes);
    void put_local_route(const wire_route& route);
    void put_global_route(const wire_route& route);
    void put_transport(const wire_route& route);

    std::array<std::uint8_t, max_wire_bytes> bytes_{};
    std::size_t size_ = 0;
};

/// The two CRCs at a packet's end, as numbers whose lowest byte is first on the wire. Source: IBA
/// 7.8.1, 7.8.2.
std::uint32_t invariant_crc(std::span<const std::uint8_t> packet_before, bool global);
std::uint16_t variant_crc(std::span<const std::uint8_t> packet_before);

} // namespace irpverbs::ci
