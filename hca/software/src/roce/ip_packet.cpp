#include "ip_packet.hpp"

#include "internet_checksum.hpp"

namespace irpverbs::hca_software::roce {

namespace {

constexpr USHORT fragment_bits = 0x3FFF; // more fragments, and the offset

ib_gid_t ipv6_at(const UCHAR* from) { return {load<8>(from), load<8>(from + 8)}; }

std::optional<ip_packet> parse_ipv4(const_bytes bytes) {
    if (bytes.size() < ipv4_header_size || bytes[0] >> 4 != 4) return std::nullopt;
    const std::size_t header = std::size_t{bytes[0] & 0xFu} * 4;
    const std::size_t size = load16(&bytes[2]);
    if (header < ipv4_header_size || header > size || size > bytes.size()) return std::nullopt;
    internet_checksum sum;
    sum.add(bytes.first(header));
    if (sum.value() != 0 || (load16(&bytes[6]) & fragment_bits) != 0) return std::nullopt;
    ip_packet made;
    made.route.global = {ipv4_at(&bytes[12]), ipv4_at(&bytes[16]), 0, bytes[8], bytes[1]};
    made.route.identification = load16(&bytes[4]);
    made.route.has_identification = true;
    made.protocol = bytes[9];
    made.content = bytes.subspan(header, size - header);
    return made;
}

// An address of IPv4 in an IPv6 header would be taken for one of an IPv4 packet.
std::optional<ip_packet> parse_ipv6(const_bytes bytes) {
    if (bytes.size() < ipv6_header_size || bytes[0] >> 4 != 6) return std::nullopt;
    const std::size_t size = load16(&bytes[4]);
    if (size > bytes.size() - ipv6_header_size) return std::nullopt;
    const ULONG first = load32(bytes.data());
    ip_packet made;
    made.route.global = {ipv6_at(&bytes[8]), ipv6_at(&bytes[24]), first & 0xFFFFF, bytes[7],
                         static_cast<UCHAR>(first >> 20 & 0xFF)};
    if (is_ipv4(made.route.global.from) || is_ipv4(made.route.global.to)) return std::nullopt;
    made.protocol = bytes[6];
    made.content = bytes.subspan(ipv6_header_size, size);
    return made;
}

} // namespace

std::optional<ip_packet> parse_ip(bool is_version_4, const_bytes bytes) {
    return is_version_4 ? parse_ipv4(bytes) : parse_ipv6(bytes);
}

std::uint64_t pseudo_header_sum(const global_route& route, std::size_t content) {
    std::array<UCHAR, 32> addresses;
    store<8>(&addresses[0], route.from.gid_prefix);
    store<8>(&addresses[8], route.from.gid_guid);
    store<8>(&addresses[16], route.to.gid_prefix);
    store<8>(&addresses[24], route.to.gid_guid);
    std::uint64_t sum = content + protocol_icmpv6;
    for (std::size_t i = 0; i < addresses.size(); i += 2)
        sum += load16(&addresses[i]);
    return sum;
}

} // namespace irpverbs::hca_software::roce
