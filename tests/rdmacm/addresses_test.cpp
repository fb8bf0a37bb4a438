// IP addresses of ports: LIDs as IPv4, GIDs as IPv6.
#include <addresses.hpp>

#include <gtest/gtest.h>

#include <arpa/inet.h>

namespace {

using namespace irpverbs::rdmacm;

ip_endpoint ipv4(const char* text) {
    in_addr parsed{};
    EXPECT_EQ(inet_pton(AF_INET, text, &parsed), 1);
    return from_ipv4(ntohl(parsed.s_addr));
}

const port_identity port{{{0xFE80000000000000, 0x101}, {0, 0x0000FFFF0A000007}}, 0x1234};

TEST(Addresses, LidIsTheEndOfAnIpv4Address) {
    EXPECT_EQ(ipv4("198.18.18.52").lid(), 0x1234);
    EXPECT_EQ(ipv4("198.19.18.52").lid(), 0);
    EXPECT_TRUE(port.has(ipv4("198.18.18.52")));
    EXPECT_FALSE(port.has(ipv4("198.18.18.53")));
}

TEST(Addresses, GidIsAnIpv6Address) {
    EXPECT_TRUE(port.has(from_gid({0xFE80000000000000, 0x101})));
    EXPECT_FALSE(port.has(from_gid({0xFE80000000000000, 0x102})));
    EXPECT_EQ(port.own(AF_INET6)->gid().gid_guid, 0x101u);
}

TEST(Addresses, MappedGid_IsAnIpv4Address) {
    EXPECT_EQ(from_gid(port.gids[1]).family, AF_INET);
    EXPECT_TRUE(port.has(ipv4("10.0.0.7")));
    EXPECT_TRUE(port.own(AF_INET)->same_address(ipv4("10.0.0.7")));
}

TEST(Addresses, PortWithoutLid_HasNoIpv4Address) {
    const port_identity inactive{{{0xFE80000000000000, 0x101}}, 0};
    EXPECT_FALSE(inactive.own(AF_INET));
    EXPECT_TRUE(inactive.own(AF_INET6));
    EXPECT_FALSE(inactive.has(ipv4("198.18.0.0")));
}

TEST(Addresses, LoopbackIsEveryPorts) {
    EXPECT_TRUE(ipv4("127.0.0.1").is_loopback());
    EXPECT_TRUE(port.has(ipv4("127.1.2.3")));
    EXPECT_TRUE(from_gid({0, 1}).is_loopback());
    EXPECT_FALSE(from_gid({0, 2}).is_loopback());
}

TEST(Addresses, SocketAddressThereAndBack_IsTheSame) {
    for (ip_endpoint each : {ipv4("198.18.0.9"), from_gid({0xFE80000000000000, 0x101}),
                             any_address(AF_INET), any_address(AF_INET6)}) {
        each.port = 0x1234;
        sockaddr_storage stored;
        store(each, stored);
        const auto parsed = parse(reinterpret_cast<sockaddr*>(&stored));
        ASSERT_TRUE(parsed);
        EXPECT_TRUE(parsed->same_address(each));
        EXPECT_EQ(parsed->port, 0x1234);
        EXPECT_EQ(parsed->is_any(), each.is_any());
    }
    sockaddr other{};
    other.sa_family = AF_UNIX;
    EXPECT_FALSE(parse(&other));
    EXPECT_FALSE(parse(nullptr));
}

TEST(Addresses, MessageHasIpv4InItsLastBytes) {
    ip_endpoint from = ipv4("198.18.0.1");
    from.port = 7;
    const ib_cm_ip_t wire = wire_addresses(from, ipv4("198.18.0.3"));
    EXPECT_EQ(wire.ip_version, 4);
    EXPECT_EQ(wire.src_port, 7);
    EXPECT_EQ(wire.src[11], 0);
    EXPECT_EQ(wire.src[12], 198);
    EXPECT_TRUE(from_wire(4, wire.dst, 0).same_address(ipv4("198.18.0.3")));
    const ib_cm_ip_t six = wire_addresses(from_gid(port.gids[0]), from_gid(port.gids[0]));
    EXPECT_EQ(six.ip_version, 6);
    EXPECT_TRUE(from_wire(6, six.src, 0).same_address(from_gid(port.gids[0])));
}

} // namespace
