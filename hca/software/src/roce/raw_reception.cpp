#include "raw_reception.hpp"

#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <span>

namespace irpverbs::hca_software::roce {

namespace {

constexpr ULONG whole_packet = 0xFFFF;
constexpr std::size_t port_offset = 2; // in the UDP header

// A filter that takes packets to udp_port, whose UDP header is found by one or two instructions.
sock_filter ipv4_filter[] = {BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0), // the size of the IPv4 header
                             BPF_STMT(BPF_LD | BPF_H | BPF_IND, port_offset),
                             BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, udp_port, 0, 1),
                             BPF_STMT(BPF_RET | BPF_K, whole_packet), BPF_STMT(BPF_RET | BPF_K, 0)};
sock_filter ipv6_filter[] = {BPF_STMT(BPF_LD | BPF_H | BPF_ABS, port_offset),
                             BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, udp_port, 0, 1),
                             BPF_STMT(BPF_RET | BPF_K, whole_packet), BPF_STMT(BPF_RET | BPF_K, 0)};

bool set_filter(int descriptor, std::span<sock_filter> instructions) {
    const sock_fprog filter{static_cast<USHORT>(instructions.size()), instructions.data()};
    return setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) == 0;
}

// The rest of a packet behind its IPv4 header; empty: it has none.
const_bytes read_ipv4(const_bytes packet, ip_route& into) {
    if (packet.size() < ipv4_header_size) return {};
    const std::size_t size = std::size_t{packet[0] & 0xFu} * 4;
    if (size < ipv4_header_size || size > packet.size()) return {};
    into.global.traffic_class = packet[1];
    into.identification = static_cast<USHORT>(load<2>(&packet[4]));
    into.has_identification = true;
    into.global.hop_limit = packet[8];
    return packet.subspan(size);
}

} // namespace

int open_raw(bool is_version_4) {
    const int made = socket(is_version_4 ? AF_INET : AF_INET6,
                            SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP);
    if (made < 0) return -1;
    if (is_version_4 ? set_filter(made, ipv4_filter) : set_filter(made, ipv6_filter)) return made;
    const int error = errno;
    close(made);
    errno = error;
    return -1;
}

const_bytes read_raw(const_bytes packet, bool is_version_4, ip_route& into) {
    return read_udp(is_version_4 ? read_ipv4(packet, into) : packet, into);
}

const_bytes read_udp(const_bytes datagram, ip_route& into) {
    if (datagram.size() < udp_header_size || load<2>(&datagram[port_offset]) != udp_port) return {};
    if (load<2>(&datagram[4]) != datagram.size()) return {};
    into.from_port = static_cast<USHORT>(load<2>(&datagram[0]));
    return datagram.subspan(udp_header_size);
}

} // namespace irpverbs::hca_software::roce
