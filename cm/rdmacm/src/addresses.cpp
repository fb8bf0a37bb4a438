#include "addresses.hpp"

#include <boost/endian/conversion.hpp>

#include <algorithm>
#include <cstring>
#include <span>

namespace irpverbs::rdmacm {

namespace {

namespace endian = boost::endian;

constexpr std::array<std::uint8_t, 12> ipv4_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

std::uint32_t ipv4_of(const ip_endpoint& address) {
    return endian::load_big_u32(&address.bytes[12]);
}

} // namespace

bool ip_endpoint::is_any() const {
    const auto first = family == AF_INET ? bytes.begin() + 12 : bytes.begin();
    return std::all_of(first, bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

bool ip_endpoint::is_loopback() const {
    if (family == AF_INET) return bytes[12] == 127;
    return bytes.back() == 1 &&
           std::all_of(bytes.begin(), bytes.end() - 1, [](std::uint8_t byte) { return byte == 0; });
}

bool ip_endpoint::is_multicast() const {
    return family == AF_INET ? (bytes[12] & 0xF0) == 0xE0 : bytes[0] == 0xFF;
}

ib_lid_t ip_endpoint::lid() const {
    if (family != AF_INET || (ipv4_of(*this) & 0xFFFF'0000) != lid_network) return 0;
    return static_cast<ib_lid_t>(ipv4_of(*this));
}

ib_gid_t ip_endpoint::gid() const {
    return {endian::load_big_u64(bytes.data()), endian::load_big_u64(&bytes[8])};
}

ip_endpoint from_ipv4(std::uint32_t address) {
    ip_endpoint made{AF_INET};
    std::ranges::copy(ipv4_prefix, made.bytes.begin());
    endian::store_big_u32(&made.bytes[12], address);
    return made;
}

ip_endpoint from_gid(const ib_gid_t& gid) {
    ip_endpoint made{AF_INET6};
    endian::store_big_u64(made.bytes.data(), gid.gid_prefix);
    endian::store_big_u64(&made.bytes[8], gid.gid_guid);
    const bool is_ipv4 = std::ranges::equal(ipv4_prefix, std::span(made.bytes).first<12>());
    if (is_ipv4) made.family = AF_INET;
    return made;
}

ip_endpoint any_address(sa_family_t family) {
    return family == AF_INET ? from_ipv4(0) : ip_endpoint{AF_INET6};
}

std::optional<ip_endpoint> parse(const sockaddr* address) {
    if (address == nullptr) return std::nullopt;
    if (address->sa_family == AF_INET) {
        sockaddr_in in;
        std::memcpy(&in, address, sizeof(in));
        ip_endpoint made = from_ipv4(endian::big_to_native(in.sin_addr.s_addr));
        made.port = endian::big_to_native(in.sin_port);
        return made;
    }
    if (address->sa_family != AF_INET6) return std::nullopt;
    sockaddr_in6 in;
    std::memcpy(&in, address, sizeof(in));
    ip_endpoint made{AF_INET6};
    std::memcpy(made.bytes.data(), &in.sin6_addr, sizeof(in.sin6_addr));
    made.port = endian::big_to_native(in.sin6_port);
    return made;
}

void store(const ip_endpoint& from, sockaddr_storage& into) {
    into = {};
    if (from.family == AF_INET) {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_port = endian::native_to_big(from.port);
        in.sin_addr.s_addr = endian::native_to_big(ipv4_of(from));
        std::memcpy(&into, &in, sizeof(in));
        return;
    }
    sockaddr_in6 in{};
    in.sin6_family = from.family;
    in.sin6_port = endian::native_to_big(from.port);
    std::memcpy(&in.sin6_addr, from.bytes.data(), sizeof(in.sin6_addr));
    std::memcpy(&into, &in, sizeof(in));
}

ib_cm_ip_t wire_addresses(const ip_endpoint& from, const ip_endpoint& to) {
    ib_cm_ip_t made{};
    made.ip_version = from.family == AF_INET ? 4 : 6;
    made.src_port = from.port;
    const std::size_t skipped = from.family == AF_INET ? 12 : 0;
    std::copy(from.bytes.begin() + skipped, from.bytes.end(), made.src + skipped);
    std::copy(to.bytes.begin() + skipped, to.bytes.end(), made.dst + skipped);
    return made;
}

ip_endpoint from_wire(std::uint8_t version, const UCHAR (&bytes)[16], std::uint16_t port) {
    ip_endpoint made{AF_INET6};
    std::ranges::copy(bytes, made.bytes.begin());
    if (version == 4) made = from_ipv4(endian::load_big_u32(bytes + 12));
    made.port = port;
    return made;
}

std::optional<ip_endpoint> port_identity::own(sa_family_t family) const {
    for (const ib_gid_t& gid : gids) {
        const ip_endpoint address = from_gid(gid);
        if (address.family == family) return address;
    }
    if (family != AF_INET || lid == 0) return std::nullopt;
    return from_ipv4(lid_network | lid);
}

bool port_identity::has(const ip_endpoint& address) const {
    if (address.is_loopback()) return true;
    if (address.lid() != 0) return address.lid() == lid;
    return std::ranges::any_of(
        gids, [&](const ib_gid_t& gid) { return from_gid(gid).same_address(address); });
}

} // namespace irpverbs::rdmacm
