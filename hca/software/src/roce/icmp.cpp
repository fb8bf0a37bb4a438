#include "icmp.hpp"

#include "internet_checksum.hpp"

#include <algorithm>

namespace irpverbs::hca_software::roce {

namespace {

enum message_type : UCHAR {
    echo_reply = 0,
    echo_request = 8,
    echo_request_6 = 128,
    echo_reply_6 = 129,
    neighbor_solicitation = 135,
    neighbor_advertisement = 136,
};
constexpr std::size_t header_size = 8; // of each message here
constexpr std::size_t checksum_offset = 2;
constexpr std::size_t flags_offset = 4; // of an advertisement
constexpr UCHAR solicited_flag = 0x40;
constexpr UCHAR override_flag = 0x20;
constexpr std::size_t neighbor_size = header_size + 16;
constexpr std::size_t option_size = 8; // of a hardware address
constexpr UCHAR source_option = 1;
constexpr UCHAR target_option = 2;

USHORT checksum(const global_route& route, const_bytes message) {
    internet_checksum sum;
    if (!is_ipv4(route.from)) sum.add(pseudo_header_sum(route, message.size()));
    sum.add(message);
    return sum.value();
}

bool is_message(const ip_packet& packet) {
    const bool is_version_4 = packet.route.uses_ipv4();
    return packet.protocol == (is_version_4 ? protocol_icmp : protocol_icmpv6) &&
           packet.content.size() >= header_size && packet.content[1] == 0 &&
           checksum(packet.route.global, packet.content) == 0;
}

// False: an option has no length, or one beyond the end.
bool read_options(const_bytes options, UCHAR wanted, neighbor_message& into) {
    while (!options.empty()) {
        const std::size_t size = options.size() > 1 ? std::size_t{options[1]} * 8 : 0;
        if (size == 0 || size > options.size()) return false;
        if (options[0] == wanted && size == option_size) into.hardware = hardware_at(&options[2]);
        options = options.subspan(size);
    }
    return true;
}

} // namespace

ib_gid_t solicited_group(const ib_gid_t& address) {
    return {0xFF02ull << 48, 0x1FF000000 | (address.gid_guid & 0xFFFFFF)};
}

std::optional<neighbor_message> parse_neighbor(const ip_packet& packet) {
    const const_bytes bytes = packet.content;
    if (packet.route.uses_ipv4() || !is_message(packet) || bytes.size() < neighbor_size ||
        packet.route.global.hop_limit != neighbor_hop_limit)
        return std::nullopt;
    const UCHAR type = bytes[0];
    if (type != neighbor_solicitation && type != neighbor_advertisement) return std::nullopt;
    neighbor_message made;
    made.is_solicitation = type == neighbor_solicitation;
    made.target = {load<8>(&bytes[8]), load<8>(&bytes[16])};
    made.is_solicited = (bytes[flags_offset] & solicited_flag) != 0;
    made.overrides = (bytes[flags_offset] & override_flag) != 0;
    const UCHAR wanted = made.is_solicitation ? source_option : target_option;
    if (ci::is_group(made.target) || is_ipv4(made.target) ||
        !read_options(bytes.subspan(neighbor_size), wanted, made))
        return std::nullopt;
    return made;
}

std::vector<UCHAR> write_neighbor(const neighbor_message& what, const global_route& route) {
    std::vector<UCHAR> made(neighbor_size + (what.hardware ? option_size : 0));
    made[0] = what.is_solicitation ? neighbor_solicitation : neighbor_advertisement;
    if (what.is_solicited) made[flags_offset] |= solicited_flag;
    if (!what.is_solicitation && what.overrides) made[flags_offset] |= override_flag;
    store<8>(&made[8], what.target.gid_prefix);
    store<8>(&made[16], what.target.gid_guid);
    if (what.hardware) {
        made[neighbor_size] = what.is_solicitation ? source_option : target_option;
        made[neighbor_size + 1] = option_size / 8;
        std::ranges::copy(*what.hardware, &made[neighbor_size + 2]);
    }
    store<2>(&made[checksum_offset], checksum(route, made));
    return made;
}

std::optional<std::vector<UCHAR>> reply_to_echo(const ip_packet& packet) {
    const bool is_version_4 = packet.route.uses_ipv4();
    if (!is_message(packet) || packet.content[0] != (is_version_4 ? echo_request : echo_request_6))
        return std::nullopt;
    std::vector<UCHAR> made(packet.content.begin(), packet.content.end());
    made[0] = is_version_4 ? echo_reply : echo_reply_6;
    store<2>(&made[checksum_offset], 0);
    store<2>(&made[checksum_offset], checksum(packet.route.global, made)); // both ends are summed
    return made;
}

} // namespace irpverbs::hca_software::roce
