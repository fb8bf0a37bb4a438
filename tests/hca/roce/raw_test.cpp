// An HCA of "roce:" beside another program that has the UDP port: it receives by a raw socket.
#include "connected_end.hpp"
#include "datagram_end.hpp"
#include "loopback_hca.hpp"

#include <roce/raw_reception.hpp>

#include <support/both_machines.hpp>

#include <arpa/inet.h>
#include <sys/socket.h>

#include <optional>
#include <vector>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;
namespace roce = hca_software::roce;

/// A socket that has the port of RoCEv2 on an address, as the kernel's soft-RoCE has it.
class port_holder {
public:
    explicit port_holder(const loopback_address& address) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(4791);
        inet_pton(AF_INET, address.text().c_str(), &to.sin_addr);
        EXPECT_EQ(bind(descriptor_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
    }
    ~port_holder() { close(descriptor_); }
    port_holder(const port_holder&) = delete;
    port_holder& operator=(const port_holder&) = delete;

private:
    int descriptor_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
};

/// The second HCA receives by a raw socket, and another program has its port.
class RoceRaw : public BothMachines {
protected:
    void SetUp() override {
        const int raw = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_UDP);
        if (raw < 0) GTEST_SKIP() << "no CAP_NET_RAW";
        close(raw);
        holder.emplace(second_address);
        a.emplace(first_address);
        b.emplace(second_address, "?raw");
    }
    void connect(connected_end& one, connected_end& two) {
        one.connect(two);
        two.connect(one);
    }
    DEVICE_OBJECT* first() const { return HcaFromGuid(first_address.guid()); }
    DEVICE_OBJECT* second() const { return HcaFromGuid(second_address.guid()); }

    const loopback_address first_address{1};
    const loopback_address second_address{2};
    std::optional<port_holder> holder;
    std::optional<roce_hca> a;
    std::optional<roce_hca> b;
};

TEST_P(RoceRaw, PortOfAnotherProgram_IsShared) {
    connected_end one(first());
    connected_end two(second());
    connect(one, two);
    one.fill();
    for (const auto& [from, to] : {std::pair(&one, &two), std::pair(&two, &one)}) {
        EXPECT_EQ(to->post_receive(7, 3000), STATUS_SUCCESS);
        EXPECT_EQ(from->post(from->send(5, 3000)), STATUS_SUCCESS);
        const IB_WC received = to->next();
        EXPECT_EQ(received.Status, ULONG{IB_WC_SUCCESS});
        EXPECT_EQ(received.ByteCount, 3000u);
        EXPECT_EQ(from->next().Status, ULONG{IB_WC_SUCCESS});
        EXPECT_TRUE(to->has_bytes_of(*from, 3000));
    }
}

TEST_P(RoceRaw, Datagram_ArrivesBehindItsIpHeader) {
    datagram_end from(first());
    datagram_end to(second());
    from.start();
    to.start();
    ib_av_attr_t way{};
    way.port_num = 1;
    way.grh_valid = TRUE;
    way.grh.dest_gid = to.gid();
    way.grh.traffic_class = 0x20;
    EXPECT_EQ(to.post_receive(7), STATUS_SUCCESS);
    EXPECT_EQ(from.post(from.send(5, 1000, from.vector(way), to.qp->Num)), STATUS_SUCCESS);
    const IB_WC received = to.next();
    EXPECT_EQ(received.Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(received.ByteCount, 1040u);
    EXPECT_TRUE(to.has_bytes_of(from, 1000));
    EXPECT_EQ(to.route()[21], 0x20); // type of service
}

// Packets to other ports of the address are none of its own, nor are those that are too short.
TEST_P(RoceRaw, OtherPackets_AreNotCounted) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    inet_pton(AF_INET, second_address.text().c_str(), &to.sin_addr);
    const int sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    for (const USHORT port : {USHORT{4791}, USHORT{4792}})
        for (const std::size_t size : {0u, 3u, 100u}) {
            to.sin_port = htons(port);
            const std::vector<UCHAR> bytes(size);
            EXPECT_EQ(sendto(sender, bytes.data(), size, 0, reinterpret_cast<const sockaddr*>(&to),
                             sizeof(to)),
                      static_cast<ssize_t>(size));
        }
    close(sender);
    connected_end one(first());
    connected_end two(second());
    connect(one, two);
    EXPECT_EQ(two.post_receive(7, 8), STATUS_SUCCESS);
    EXPECT_EQ(one.post(one.send(5, 8)), STATUS_SUCCESS);
    EXPECT_EQ(two.next().Status, ULONG{IB_WC_SUCCESS});
}

IRPVERBS_ON_THE_REAL_MACHINE(RoceRaw);

// ---- headers

std::vector<UCHAR> ipv4_packet(std::size_t payload) {
    roce::ip_route route;
    route.global.from = route.global.to = loopback_address(1).gid();
    route.global.traffic_class = 0x20;
    route.global.hop_limit = 7;
    route.from_port = 0xC123;
    route.identification = 0x1234;
    std::vector<UCHAR> made(roce::size_of(route) + payload);
    roce::write_route(route, payload, made.data());
    return made;
}

TEST(RawReception, HeadersOfIpv4_AreRead) {
    const std::vector<UCHAR> packet = ipv4_packet(20);
    roce::ip_route read;
    EXPECT_EQ(roce::read_raw(packet, true, read).size(), 20u);
    EXPECT_EQ(read.global.traffic_class, 0x20);
    EXPECT_EQ(read.global.hop_limit, 7);
    EXPECT_EQ(read.from_port, 0xC123);
    EXPECT_EQ(read.identification, 0x1234);
    EXPECT_TRUE(read.has_identification);
}

TEST(RawReception, HeaderOfUdp_StandsAloneForIpv6) {
    const std::vector<UCHAR> packet = ipv4_packet(20);
    roce::ip_route read;
    const std::span<const UCHAR> udp = std::span(packet).subspan(roce::ipv4_header_size);
    EXPECT_EQ(roce::read_raw(udp, false, read).size(), 20u);
    EXPECT_EQ(read.from_port, 0xC123);
    EXPECT_FALSE(read.has_identification);
}

TEST(RawReception, HeadersWithOptions_AreSkipped) {
    std::vector<UCHAR> packet = ipv4_packet(20);
    packet.insert(packet.begin() + roce::ipv4_header_size, 8, UCHAR{1});
    packet[0] = 0x47; // 7 words
    roce::ip_route read;
    EXPECT_EQ(roce::read_raw(packet, true, read).size(), 20u);
}

TEST(RawReception, AnyShorterPacket_IsRefused) {
    const std::vector<UCHAR> packet = ipv4_packet(20);
    for (std::size_t size = 0; size < packet.size(); ++size) {
        const std::vector<UCHAR> part(packet.begin(),
                                      packet.begin() + static_cast<std::ptrdiff_t>(size));
        roce::ip_route read;
        EXPECT_TRUE(roce::read_raw(part, true, read).empty()) << size;
    }
}

TEST(RawReception, WrongHeaders_AreRefused) {
    struct change {
        std::size_t place;
        UCHAR value;
    };
    constexpr change changes[] = {{0, 0x44},  // 4 words of header
                                  {0, 0x4F},  // more than the packet
                                  {23, 0xB6}, // port 4790
                                  {25, 27}};  // the length of UDP
    for (const change& each : changes) {
        std::vector<UCHAR> packet = ipv4_packet(20);
        packet[each.place] = each.value;
        roce::ip_route read;
        EXPECT_TRUE(roce::read_raw(packet, true, read).empty()) << each.place;
    }
}

} // namespace
