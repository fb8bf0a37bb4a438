// Echo messages of ICMP and ICMPv6, and neighbor discovery. Sources: RFC 792, RFC 4443, RFC 4861.
#pragma once

#include "hardware_address.hpp"
#include "ip_packet.hpp"

#include <vector>

namespace irpverbs::hca_software::roce {

/// A message of neighbor discovery.
struct neighbor_message {
    bool is_solicitation = true;
    ib_gid_t target{};
    std::optional<hardware_address> hardware; // of the target, or of the sender of a solicitation
    bool is_solicited = false;                // an advertisement that responds
    bool overrides = true;                    // an advertisement that replaces a known address
};

inline constexpr UCHAR neighbor_hop_limit = 255; // the message has passed no router

/// The group that the solicitations for an address are sent to. Source: RFC 4291 2.7.1.
ib_gid_t solicited_group(const ib_gid_t& address);
inline constexpr ib_gid_t all_nodes{0xFF02ull << 48, 1};

/// None: the packet is no such message, or an invalid one.
std::optional<neighbor_message> parse_neighbor(const ip_packet& packet);
/// The message behind the IPv6 header of this route.
std::vector<UCHAR> write_neighbor(const neighbor_message& what, const global_route& route);

/// The reply to an echo request, behind an IP header. None: the packet is no such request.
std::optional<std::vector<UCHAR>> reply_to_echo(const ip_packet& packet);

} // namespace irpverbs::hca_software::roce
