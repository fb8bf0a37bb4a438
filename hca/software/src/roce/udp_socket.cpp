#include "udp_socket.hpp"

#include "address.hpp"

#include <netinet/udp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace irpverbs::hca_software::roce {

namespace {

constexpr int wanted_buffer = 8 << 20;  // bytes
constexpr int no_checksum_needed = 102; // UDP_NO_CHECK6_RX, which netinet/udp.h may lack
constexpr std::size_t control_size = 2 * CMSG_SPACE(sizeof(int)) + 64;

bool set(int descriptor, int level, int option, int value) {
    return setsockopt(descriptor, level, option, &value, sizeof(value)) == 0;
}

// A traffic class or a hop limit as the kernel reports it: one byte, or an int.
int number_of(const cmsghdr& from) {
    if (from.cmsg_len < CMSG_LEN(sizeof(int))) return *CMSG_DATA(&from);
    int value = 0;
    std::memcpy(&value, CMSG_DATA(&from), sizeof(value));
    return value;
}

void read_control(msghdr& from, global_route& into) {
    for (cmsghdr* each = CMSG_FIRSTHDR(&from); each != nullptr; each = CMSG_NXTHDR(&from, each)) {
        const bool is_version_4 = each->cmsg_level == IPPROTO_IP;
        if (each->cmsg_type == (is_version_4 ? IP_TOS : IPV6_TCLASS))
            into.traffic_class = static_cast<UCHAR>(number_of(*each));
        if (each->cmsg_type == (is_version_4 ? IP_TTL : IPV6_HOPLIMIT))
            into.hop_limit = static_cast<UCHAR>(number_of(*each));
    }
}

} // namespace

struct udp_socket::buffers {
    struct slot {
        std::array<UCHAR, max_udp_payload + 4> bytes; // a longer packet is seen to be too long
        alignas(cmsghdr) std::array<UCHAR, control_size> control;
        sockaddr_storage from;
        iovec content;
    };

    /// Prepares all messages for a call.
    mmsghdr* prepare() {
        for (std::size_t i = 0; i < most_arrivals; ++i) {
            slot& each = slots[i];
            each.content = {each.bytes.data(), each.bytes.size()};
            messages[i] = {};
            msghdr& message = messages[i].msg_hdr;
            message.msg_name = &each.from;
            message.msg_namelen = sizeof(each.from);
            message.msg_iov = &each.content;
            message.msg_iovlen = 1;
            message.msg_control = each.control.data();
            message.msg_controllen = each.control.size();
        }
        return messages.data();
    }

    std::array<slot, most_arrivals> slots;
    std::array<mmsghdr, most_arrivals> messages;
};

udp_socket::udp_socket() = default;

udp_socket::~udp_socket() {
    if (descriptor_ >= 0) close(descriptor_);
}

int udp_socket::open(const ib_gid_t& local, unsigned scope) {
    local_ = local;
    scope_ = scope;
    buffers_ = std::make_unique<buffers>();
    descriptor_ =
        socket(is_ipv4(local) ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor_ < 0) return errno;
    if (const int error = set_options(); error != 0) return error;
    socket_address address = address_of(local, udp_port, scope);
    return bind(descriptor_, address.get(), address.size) == 0 ? 0 : errno;
}

// Peers leave out the checksum of UDP, also over IPv6. The buffer is as large as the system allows.
// An IPv6 address is bound also while the system looks for duplicates of it.
int udp_socket::set_options() const {
    const int at = descriptor_;
    if (!set(at, SOL_SOCKET, SO_RCVBUFFORCE, wanted_buffer))
        set(at, SOL_SOCKET, SO_RCVBUF, wanted_buffer);
    if (!set(at, SOL_SOCKET, SO_SNDBUFFORCE, wanted_buffer))
        set(at, SOL_SOCKET, SO_SNDBUF, wanted_buffer);
    const bool done = is_ipv4(local_)
                          ? set(at, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE) &&
                                set(at, IPPROTO_IP, IP_RECVTOS, 1) &&
                                set(at, IPPROTO_IP, IP_RECVTTL, 1)
                          : set(at, IPPROTO_IPV6, IPV6_V6ONLY, 1) &&
                                set(at, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE) &&
                                set(at, IPPROTO_IPV6, IPV6_FREEBIND, 1) &&
                                set(at, IPPROTO_IPV6, IPV6_RECVTCLASS, 1) &&
                                set(at, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1) &&
                                set(at, IPPROTO_UDP, no_checksum_needed, 1);
    return done ? 0 : errno;
}

int udp_socket::send(const global_route& way, const_bytes payload) const {
    const bool is_version_4 = is_ipv4(local_);
    if (is_ipv4(way.to) != is_version_4) return EAFNOSUPPORT;
    socket_address to = address_of(way.to, udp_port, scope_);
    iovec content{const_cast<UCHAR*>(payload.data()), payload.size()};
    alignas(cmsghdr) std::array<UCHAR, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_name = to.get();
    message.msg_namelen = to.size;
    message.msg_iov = &content;
    message.msg_iovlen = 1;
    if (way.traffic_class != 0) {
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr* const named = CMSG_FIRSTHDR(&message);
        named->cmsg_level = is_version_4 ? IPPROTO_IP : IPPROTO_IPV6;
        named->cmsg_type = is_version_4 ? IP_TOS : IPV6_TCLASS;
        named->cmsg_len = CMSG_LEN(sizeof(int));
        const int value = way.traffic_class;
        std::memcpy(CMSG_DATA(named), &value, sizeof(value));
    }
    return sendmsg(descriptor_, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ? 0 : errno;
}

std::size_t udp_socket::receive(arrival* to) {
    mmsghdr* const messages = buffers_->prepare();
    const int count = recvmmsg(descriptor_, messages, most_arrivals, MSG_DONTWAIT, nullptr);
    if (count <= 0) return 0;
    for (int i = 0; i < count; ++i) {
        const auto& from = *static_cast<const sockaddr*>(messages[i].msg_hdr.msg_name);
        arrival& made = to[i];
        made = {};
        made.route.global.from = gid_of(from);
        made.route.global.to = local_;
        made.route.from_port = port_of(from);
        read_control(messages[i].msg_hdr, made.route.global);
        made.payload = {buffers_->slots[static_cast<std::size_t>(i)].bytes.data(),
                        messages[i].msg_len};
    }
    return static_cast<std::size_t>(count);
}

} // namespace irpverbs::hca_software::roce
