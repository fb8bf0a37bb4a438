// Hosts on an Ethernet link that is a pair of packet sockets. Each end is read on request, so the
// frames on the link can be looked at.
#pragma once

#include <roce/link_host.hpp>

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <utility>
#include <vector>

namespace irpverbs::testing {

namespace roce = hca_software::roce;
using frame_bytes = std::vector<UCHAR>;

inline std::pair<roce::packet_descriptor, roce::packet_descriptor> packet_pair() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    return {roce::packet_descriptor(ends[0]), roce::packet_descriptor(ends[1])};
}

/// The next frame; empty: there is none.
inline frame_bytes next_frame(const roce::packet_descriptor& from) {
    frame_bytes made(10'000);
    made.resize(from.read(made).value_or(0));
    return made;
}

inline ib_gid_t ipv4(ULONG address) { return {0, std::uint64_t{0xFFFF} << 32 | address}; }
inline ib_gid_t ipv6(std::uint64_t last) { return {0xFD78ull << 48, last}; }

/// A host with one address of each family, at one end of a link.
struct host_on_link {
    host_on_link(UCHAR number, roce::packet_descriptor&& at)
        : hardware{2, 0, 0, 0, 0x78, number}, version_4(ipv4(0x0A4E0000u | number)),
          version_6(ipv6(number)), link(std::move(at)) {}

    const ib_gid_t& address(bool is_version_4) const {
        return is_version_4 ? version_4 : version_6;
    }
    int send(const ib_gid_t& to, const frame_bytes& payload) {
        return host.send({address(roce::is_ipv4(to)), to}, payload);
    }
    /// The payloads that have arrived, after all frames were read.
    std::vector<frame_bytes> receive(const roce::packet_descriptor& from) {
        std::vector<frame_bytes> payloads;
        for (frame_bytes each = next_frame(from); !each.empty(); each = next_frame(from))
            if (roce::arrival got; host.receive(each, got))
                payloads.emplace_back(got.payload.begin(), got.payload.end());
        return payloads;
    }
    std::vector<frame_bytes> receive() { return receive(link); }

    const roce::hardware_address hardware;
    const ib_gid_t version_4;
    const ib_gid_t version_6;
    roce::packet_descriptor link;
    std::pair<roce::packet_descriptor, roce::packet_descriptor> loop = packet_pair();
    roce::link_host host{hardware, {version_4, version_6}, link, loop.first};
};

/// Two of them.
struct linked_hosts {
    std::pair<roce::packet_descriptor, roce::packet_descriptor> link = packet_pair();
    host_on_link one{1, std::move(link.first)};
    host_on_link two{2, std::move(link.second)};
};

} // namespace irpverbs::testing
