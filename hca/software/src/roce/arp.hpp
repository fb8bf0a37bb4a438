// Messages of the address resolution protocol, for IPv4 over Ethernet. Source: RFC 826.
#pragma once

#include "hardware_address.hpp"
#include "packet.hpp"

#include <optional>

namespace irpverbs::hca_software::roce {

struct arp_message {
    bool is_request = true;
    hardware_address from{};
    ib_gid_t from_ip{};
    hardware_address to{};
    ib_gid_t to_ip{};
};

inline constexpr std::size_t arp_size = 28;

/// None: it is none, or one of other kinds of addresses.
std::optional<arp_message> parse_arp(const_bytes bytes);
std::array<UCHAR, arp_size> write_arp(const arp_message& what);

} // namespace irpverbs::hca_software::roce
