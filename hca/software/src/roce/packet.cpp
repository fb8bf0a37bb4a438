#include "packet.hpp"

#include "internet_checksum.hpp"

#include <ci/support/crc32.hpp>

#include <algorithm>

namespace irpverbs::hca_software::roce {

namespace {

constexpr UCHAR default_hop_limit = 64;
constexpr USHORT do_not_fragment = 0x4000;
constexpr std::size_t identification_offset = 4; // in the IPv4 header
constexpr std::size_t checksum_offset = 10;

UCHAR hop_limit_of(const ip_route& route) {
    return route.global.hop_limit != 0 ? route.global.hop_limit : default_hop_limit;
}

void write_ipv4(const ip_route& route, UCHAR protocol, std::size_t content, UCHAR* to) {
    to[0] = 0x45; // version, words of the header
    to[1] = route.global.traffic_class;
    store<2>(to + 2, ipv4_header_size + content);
    store<2>(to + identification_offset, route.identification);
    store<2>(to + 6, do_not_fragment);
    to[8] = hop_limit_of(route);
    to[9] = protocol;
    store<2>(to + checksum_offset, 0);
    store<4>(to + 12, route.global.from.gid_guid & 0xFFFFFFFF);
    store<4>(to + 16, route.global.to.gid_guid & 0xFFFFFFFF);
    internet_checksum sum;
    sum.add({to, ipv4_header_size});
    store<2>(to + checksum_offset, sum.value());
}

void write_ipv6(const ip_route& route, UCHAR protocol, std::size_t content, UCHAR* to) {
    store<4>(to, 6u << 28 | ULONG{route.global.traffic_class} << 20 |
                     (route.global.flow_label & 0xFFFFF));
    store<2>(to + 4, content);
    to[6] = protocol;
    to[7] = hop_limit_of(route);
    store<8>(to + 8, route.global.from.gid_prefix);
    store<8>(to + 16, route.global.from.gid_guid);
    store<8>(to + 24, route.global.to.gid_prefix);
    store<8>(to + 32, route.global.to.gid_guid);
}

// Sets the fields to ones that routers may change: type of service, time to live, checksum; traffic
// class, flow label, hop limit. Source: IBA A17.3.3.
void mask_ipv4(UCHAR* header) {
    header[1] = header[8] = 0xFF;
    header[checksum_offset] = header[checksum_offset + 1] = 0xFF;
}

void mask_ipv6(UCHAR* header) {
    header[0] |= 0x0F;
    header[1] = header[2] = header[3] = header[7] = 0xFF;
}

// ---- the identification that explains a wrong CRC

constexpr std::uint32_t polynomial = 0xEDB88320; // its highest power is the lowest bit

constexpr std::uint32_t times_x(std::uint32_t of) {
    return of >> 1 ^ ((of & 1) != 0 ? polynomial : 0);
}

constexpr std::uint32_t divided_by_x(std::uint32_t of) {
    return (of & 1u << 31) != 0 ? (of ^ polynomial) << 1 | 1 : of << 1;
}

std::uint32_t product(std::uint32_t one, std::uint32_t other) {
    std::uint32_t sum = 0;
    for (; one != 0; one <<= 1, other = times_x(other))
        if ((one & 1u << 31) != 0) sum ^= other;
    return sum;
}

// Element n is x^-32n: that of the CRC's change in front of n words.
using inverse_powers = std::array<std::uint32_t, (max_route_size + max_udp_payload) / 4>;

constexpr inverse_powers make_inverse_powers() {
    inverse_powers made{};
    std::uint32_t power = 1u << 31;
    for (std::uint32_t& each : made) {
        each = power;
        for (int bit = 0; bit < 32; ++bit)
            power = divided_by_x(power);
    }
    return made;
}

// A CRC is linear: its difference is that of the bytes, which are followed by a number of others.
// So bytes that would make the difference are known; only the first two of a word are unknown.
bool find_identification(std::uint32_t difference, std::size_t words, USHORT& identification) {
    static constexpr inverse_powers powers = make_inverse_powers();
    const std::uint32_t word = product(difference, powers[words]);
    identification = static_cast<USHORT>((word & 0xFF) << 8 | (word >> 8 & 0xFF));
    return word >> 16 == 0;
}

} // namespace

std::size_t write_ip(const ip_route& route, UCHAR protocol, std::size_t content, UCHAR* to) {
    const bool is_version_4 = route.uses_ipv4();
    (is_version_4 ? write_ipv4 : write_ipv6)(route, protocol, content, to);
    return is_version_4 ? ipv4_header_size : ipv6_header_size;
}

std::size_t write_route(const ip_route& route, std::size_t payload, UCHAR* to) {
    UCHAR* const udp = to + write_ip(route, protocol_udp, udp_header_size + payload, to);
    store<2>(udp, route.from_port);
    store<2>(udp + 2, udp_port);
    store<2>(udp + 4, udp_header_size + payload);
    store<2>(udp + 6, 0);
    return size_of(route);
}

std::array<UCHAR, ci::global_route_size> received_route(const ip_route& route,
                                                        std::size_t payload) {
    std::array<UCHAR, ci::global_route_size> made{};
    write_ip(route, protocol_udp, udp_header_size + payload,
             route.uses_ipv4() ? &made[made.size() - ipv4_header_size] : &made[0]);
    return made;
}

std::uint32_t invariant_crc(const ip_route& route, const_bytes transport) {
    constexpr std::size_t local_route = ci::local_route_size; // as if there were one, of ones
    constexpr std::size_t congestion_offset = 4;              // FECN, BECN, reserved bits
    std::array<UCHAR, local_route + max_route_size + transport::base_transport_size> masked;
    std::fill_n(masked.begin(), local_route, UCHAR{0xFF});
    UCHAR* const ip = &masked[local_route];
    UCHAR* const base = ip + write_route(route, transport.size() + ci::invariant_crc_size, ip);
    (route.uses_ipv4() ? mask_ipv4 : mask_ipv6)(ip);
    base[-1] = base[-2] = 0xFF; // the checksum of UDP
    std::copy_n(transport.begin(), transport::base_transport_size, base);
    base[congestion_offset] = 0xFF;
    ci::crc32 crc;
    crc.add({masked.data(), base + transport::base_transport_size});
    crc.add(transport.subspan(transport::base_transport_size));
    return crc.value();
}

void write_invariant_crc(const ip_route& route, std::span<UCHAR> payload) {
    const std::size_t size = payload.size() - ci::invariant_crc_size;
    boost::endian::store_little_u32(&payload[size], invariant_crc(route, payload.first(size)));
}

std::size_t write_frame(const ip_route& route, const transport::packet& what, std::span<UCHAR> to) {
    const std::size_t size = transport::transport_size(what) + ci::invariant_crc_size;
    std::ranges::fill(to.first(ethernet_header_size), UCHAR{0});
    store<2>(&to[ethernet_type_offset], route.uses_ipv4() ? type_ipv4 : type_ipv6);
    const std::size_t headers =
        ethernet_header_size + write_route(route, size, &to[ethernet_header_size]);
    const std::span<UCHAR> payload = to.subspan(headers, size);
    transport::write_transport(what, payload);
    write_invariant_crc(route, payload);
    return headers + size;
}

bool has_right_crc(ip_route& route, const_bytes payload) {
    if (payload.size() < transport::base_transport_size + ci::invariant_crc_size ||
        payload.size() > max_udp_payload || payload.size() % 4 != 0)
        return false;
    const std::size_t size = payload.size() - ci::invariant_crc_size;
    if (!route.has_identification) route.identification = 0;
    const std::uint32_t difference =
        boost::endian::load_little_u32(&payload[size]) ^ invariant_crc(route, payload.first(size));
    if (difference == 0 || !route.uses_ipv4() || route.has_identification) return difference == 0;
    const std::size_t behind = size_of(route) - identification_offset + size;
    return find_identification(difference, behind / 4, route.identification);
}

} // namespace irpverbs::hca_software::roce
