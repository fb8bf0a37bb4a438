#include "arp.hpp"

#include <algorithm>

namespace irpverbs::hca_software::roce {

namespace {

// Ethernet, IPv4, and the sizes of their addresses.
constexpr std::uint64_t kind_of_addresses = 0x000108000604;
constexpr USHORT arp_request = 1;
constexpr USHORT arp_reply = 2;

} // namespace

std::optional<arp_message> parse_arp(const_bytes bytes) {
    if (bytes.size() < arp_size || load<6>(&bytes[0]) != kind_of_addresses) return std::nullopt;
    const USHORT operation = load16(&bytes[6]);
    if (operation != arp_request && operation != arp_reply) return std::nullopt;
    return arp_message{operation == arp_request, hardware_at(&bytes[8]), ipv4_at(&bytes[14]),
                       hardware_at(&bytes[18]), ipv4_at(&bytes[24])};
}

std::array<UCHAR, arp_size> write_arp(const arp_message& what) {
    std::array<UCHAR, arp_size> made;
    store<6>(&made[0], kind_of_addresses);
    store<2>(&made[6], what.is_request ? arp_request : arp_reply);
    std::ranges::copy(what.from, &made[8]);
    store<4>(&made[14], what.from_ip.gid_guid & 0xFFFFFFFF);
    std::ranges::copy(what.to, &made[18]);
    store<4>(&made[24], what.to_ip.gid_guid & 0xFFFFFFFF);
    return made;
}

} // namespace irpverbs::hca_software::roce
