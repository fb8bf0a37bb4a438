#include "udp_socket.hpp"

#include "address.hpp"
#include "raw_reception.hpp"

#include <boost/endian/conversion.hpp>
#include <linux/filter.h>
#include <netinet/udp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace irpverbs::hca_software::roce {

namespace {

constexpr int wanted_buffer = 8 << 20;  // bytes
constexpr int no_checksum_needed = 102; // UDP_NO_CHECK6_RX, which the C library's headers may lack
constexpr std::size_t control_size = 2 * CMSG_SPACE(sizeof(int)) + 64;

constexpr int ipv6_multicast_all = 29; // IPV6_MULTICAST_ALL, the same

template <class Value>
bool set(int descriptor, int level, int option, const Value& value) {
    return setsockopt(descriptor, level, option, &value, sizeof(value)) == 0;
}

ip_mreqn membership_of(const ib_gid_t& group, unsigned index) {
    ip_mreqn made{};
    made.imr_multiaddr.s_addr = boost::endian::native_to_big(static_cast<ULONG>(group.gid_guid));
    made.imr_ifindex = static_cast<int>(index);
    return made;
}

ipv6_mreq ipv6_membership_of(const ib_gid_t& group, unsigned index) {
    const socket_address address = address_of(group, udp_port, index);
    return {reinterpret_cast<const sockaddr_in6&>(address.value).sin6_addr, index};
}

/// Options of one message that is sent.
class sent_options {
public:
    void add(bool is_version_4, int option, int value) {
        auto& header = *reinterpret_cast<cmsghdr*>(&bytes_[used_]);
        header.cmsg_level = is_version_4 ? IPPROTO_IP : IPPROTO_IPV6;
        header.cmsg_type = option;
        header.cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(&header), &value, sizeof(value));
        used_ += CMSG_SPACE(sizeof(int));
    }
    void set(msghdr& of) {
        of.msg_control = used_ != 0 ? bytes_.data() : nullptr;
        of.msg_controllen = used_;
    }

private:
    static constexpr std::size_t most = 2; // traffic class, hop limit
    alignas(cmsghdr) std::array<UCHAR, most * CMSG_SPACE(sizeof(int))> bytes_{};
    std::size_t used_ = 0;
};

// A traffic class or a hop limit as the kernel reports it: one byte, or an int.
int number_of(const cmsghdr& from) {
    if (from.cmsg_len < CMSG_LEN(sizeof(int))) return *CMSG_DATA(&from);
    int value = 0;
    std::memcpy(&value, CMSG_DATA(&from), sizeof(value));
    return value;
}

void read_control(const msghdr& from, global_route& into) {
    msghdr seen = from; // CMSG_NXTHDR takes one that is not const
    for (cmsghdr* each = CMSG_FIRSTHDR(&seen); each != nullptr; each = CMSG_NXTHDR(&seen, each)) {
        const bool is_version_4 = each->cmsg_level == IPPROTO_IP;
        if (each->cmsg_type == (is_version_4 ? IP_TOS : IPV6_TCLASS))
            into.traffic_class = static_cast<UCHAR>(number_of(*each));
        if (each->cmsg_type == (is_version_4 ? IP_TTL : IPV6_HOPLIMIT))
            into.hop_limit = static_cast<UCHAR>(number_of(*each));
    }
}

int open_udp(bool is_version_4) {
    return socket(is_version_4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

bool refuse_packets(int descriptor) {
    sock_filter none[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
    return set(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, sock_fprog{1, none});
}

// Peers leave out the checksum of UDP, also over IPv6; it is not the task of a raw socket, which is
// of one family, too.
bool set_udp_options(int at, bool is_version_4) {
    return is_version_4 ||
           (set(at, IPPROTO_IPV6, IPV6_V6ONLY, 1) && set(at, IPPROTO_UDP, no_checksum_needed, 1));
}

// The buffer is as large as the system allows. An IPv6 address is bound also while the system looks
// for duplicates of it.
bool set_receive_options(int at, bool is_version_4) {
    if (!set(at, SOL_SOCKET, SO_RCVBUFFORCE, wanted_buffer))
        set(at, SOL_SOCKET, SO_RCVBUF, wanted_buffer);
    if (is_version_4)
        return set(at, IPPROTO_IP, IP_RECVTOS, 1) && set(at, IPPROTO_IP, IP_RECVTTL, 1);
    return set(at, IPPROTO_IPV6, IPV6_FREEBIND, 1) && set(at, IPPROTO_IPV6, IPV6_RECVTCLASS, 1) &&
           set(at, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
}

bool set_send_options(int at, bool is_version_4, unsigned scope) {
    if (!set(at, SOL_SOCKET, SO_SNDBUFFORCE, wanted_buffer))
        set(at, SOL_SOCKET, SO_SNDBUF, wanted_buffer);
    if (is_version_4)
        return set(at, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE) &&
               set(at, IPPROTO_IP, IP_MULTICAST_IF, membership_of({}, scope));
    return set(at, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE) &&
           set(at, IPPROTO_IPV6, IPV6_MULTICAST_IF, static_cast<int>(scope));
}

} // namespace

struct udp_socket::buffers {
    struct slot {
        std::array<UCHAR, max_raw_headers + max_udp_payload + 4> bytes; // a longer packet is seen
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

udp_socket::udp_socket(reception how) : how_(how) {}

udp_socket::~udp_socket() {
    if (sends_ >= 0 && sends_ != receives_) close(sends_);
    if (receives_ >= 0) close(receives_);
}

int udp_socket::make(const ib_gid_t& local, unsigned scope) {
    local_ = local;
    scope_ = scope;
    buffers_ = std::make_unique<buffers>();
    const bool is_version_4 = is_ipv4(local);
    const bool is_raw = how_ == reception::raw;
    receives_ = is_raw ? open_raw(is_version_4) : open_udp(is_version_4);
    const bool done = receives_ >= 0 && (is_raw || set_udp_options(receives_, is_version_4)) &&
                      set_receive_options(receives_, is_version_4);
    return done ? 0 : errno;
}

int udp_socket::bind_to(int descriptor, USHORT port) const {
    socket_address address = address_of(local_, port, scope_);
    return bind(descriptor, address.get(), address.size) == 0 ? 0 : errno;
}

int udp_socket::open(const ib_gid_t& local, unsigned scope) {
    if (const int error = make(local, scope); error != 0) return error;
    const bool is_raw = how_ == reception::raw;
    if (const int error = bind_to(receives_, is_raw ? 0 : udp_port); error != 0) return error;
    sends_ = receives_;
    if (is_raw)
        if (const int error = open_sender(); error != 0) return error;
    return set_send_options(sends_, is_ipv4(local), scope) ? 0 : errno;
}

// A port without a socket would make the kernel send an ICMP message for each packet, so this
// socket takes it if it is free. It reads nothing.
int udp_socket::open_sender() {
    sends_ = open_udp(is_ipv4(local_));
    if (sends_ < 0 || !set_udp_options(sends_, is_ipv4(local_)) || !refuse_packets(sends_))
        return errno;
    if (bind_to(sends_, udp_port) == 0) return 0;
    if (const int error = bind_to(sends_, 0); error != 0) return error;
    sockaddr_storage bound{};
    socklen_t size = sizeof(bound);
    if (getsockname(sends_, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return errno;
    port_ = port_of(reinterpret_cast<const sockaddr&>(bound));
    return 0;
}

int udp_socket::open_group(const ib_gid_t& group, unsigned scope) {
    if (const int error = make(group, scope); error != 0) return error;
    const int at = receives_;
    bool done = set(at, SOL_SOCKET, SO_REUSEADDR, 1);
    if (is_ipv4(group))
        done = done && set(at, IPPROTO_IP, IP_MULTICAST_ALL, 0) &&
               set(at, IPPROTO_IP, IP_ADD_MEMBERSHIP, membership_of(group, scope));
    else
        done = done && set(at, IPPROTO_IPV6, ipv6_multicast_all, 0) &&
               set(at, IPPROTO_IPV6, IPV6_JOIN_GROUP, ipv6_membership_of(group, scope));
    return done ? bind_to(at, how_ == reception::raw ? 0 : udp_port) : errno;
}

int udp_socket::send(const global_route& way, const_bytes payload) const {
    const bool is_version_4 = is_ipv4(local_);
    if (is_ipv4(way.to) != is_version_4) return EAFNOSUPPORT;
    socket_address to = address_of(way.to, udp_port, scope_);
    iovec content{const_cast<UCHAR*>(payload.data()), payload.size()};
    sent_options options;
    if (way.traffic_class != 0)
        options.add(is_version_4, is_version_4 ? IP_TOS : IPV6_TCLASS, way.traffic_class);
    if (way.hop_limit != 0 && ci::is_group(way.to))
        options.add(is_version_4, is_version_4 ? IP_TTL : IPV6_HOPLIMIT, way.hop_limit);
    msghdr message{};
    message.msg_name = to.get();
    message.msg_namelen = to.size;
    message.msg_iov = &content;
    message.msg_iovlen = 1;
    options.set(message);
    return sendmsg(sends_, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ? 0 : errno;
}

bool udp_socket::read(const mmsghdr& from, const_bytes content, arrival& into) const {
    const auto& sender = *static_cast<const sockaddr*>(from.msg_hdr.msg_name);
    into = {};
    into.route.global.from = gid_of(sender);
    into.route.global.to = local_;
    into.route.from_port = port_of(sender);
    read_control(from.msg_hdr, into.route.global);
    into.payload =
        how_ == reception::raw ? read_raw(content, is_ipv4(local_), into.route) : content;
    return !into.payload.empty();
}

std::size_t udp_socket::receive(arrival* to) {
    mmsghdr* const messages = buffers_->prepare();
    const int count = recvmmsg(receives_, messages, most_arrivals, MSG_DONTWAIT, nullptr);
    std::size_t arrivals = 0;
    for (int i = 0; i < count; ++i) {
        const UCHAR* const bytes = buffers_->slots[static_cast<std::size_t>(i)].bytes.data();
        if (read(messages[i], {bytes, messages[i].msg_len}, to[arrivals])) ++arrivals;
    }
    return arrivals;
}

} // namespace irpverbs::hca_software::roce
