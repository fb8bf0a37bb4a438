// RoCEv2 packets: those that the kernel's soft-RoCE made, and those that are damaged.
#include <roce/interface.hpp>
#include <roce/packet.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace {

using namespace irpverbs::hca_software;
using roce::ip_route;

using byte_list = std::vector<UCHAR>;

byte_list from_hex(const std::string& text) {
    byte_list made;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2)
        made.push_back(static_cast<UCHAR>(std::stoul(text.substr(i, 2), nullptr, 16)));
    return made;
}

/// The IP packets of a capture of link type 101.
std::vector<byte_list> packets_of(const std::string& name) {
    std::ifstream file(std::string(CAPTURES) + "/" + name, std::ios::binary);
    const byte_list all{std::istreambuf_iterator<char>(file), {}};
    constexpr std::size_t file_header = 24;
    constexpr std::size_t record_header = 16;
    std::vector<byte_list> found;
    for (std::size_t at = file_header; at + record_header <= all.size();) {
        const auto size = boost::endian::load_little_u32(&all[at + 8]);
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(at + record_header);
        found.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(size));
        at += record_header + size;
    }
    return found;
}

/// A packet as a UDP socket shows it; the identification is what the IP header has.
struct seen_packet {
    explicit seen_packet(const byte_list& ip) {
        const bool is_version_4 = ip[0] >> 4 == 4;
        const std::size_t size = is_version_4 ? 20 : 40;
        const auto mapped = [&](std::size_t at) {
            return ib_gid_t{0, std::uint64_t{0xFFFF} << 32 | load<4>(&ip[at])};
        };
        const auto whole = [&](std::size_t at) {
            return ib_gid_t{load<8>(&ip[at]), load<8>(&ip[at + 8])};
        };
        route.global.from = is_version_4 ? mapped(12) : whole(8);
        route.global.to = is_version_4 ? mapped(16) : whole(24);
        route.from_port = load16(&ip[size]);
        identification = is_version_4 ? load16(&ip[4]) : USHORT{0};
        payload.assign(ip.begin() + static_cast<std::ptrdiff_t>(size + 8), ip.end());
    }

    bool is_right() { return roce::has_right_crc(route, payload); }
    std::optional<transport::packet> parse() const {
        return transport::parse_transport(std::span(payload).first(payload.size() - 4));
    }

    ip_route route;
    USHORT identification = 0;
    byte_list payload;
};

const char* const acknowledgement_over_ipv4 =
    "450000305ed940004011c7450a4e00010a4e0002e2d712b7001c0000"
    "1100ffff00007a870085fb051f000001487b3f8b";
const char* const acknowledgement_over_ipv6 =
    "60000000001c1140fd780000000000000000000000000001fd780000000000000000000000000002"
    "cb5d12b7001c00001100ffff0000f98500a297ac1f00000141c837ef";

TEST(RocePackets, AcknowledgementOfTheKernel_HasTheseNumbers) {
    for (const char* each : {acknowledgement_over_ipv4, acknowledgement_over_ipv6}) {
        seen_packet seen(from_hex(each));
        EXPECT_TRUE(seen.is_right());
        EXPECT_EQ(seen.route.identification, seen.identification);
        const auto packet = seen.parse();
        ASSERT_TRUE(packet);
        EXPECT_EQ(packet->row().what, transport::operation::acknowledge);
        EXPECT_EQ(packet->acknowledge.syndrome, 0x1F);
        EXPECT_EQ(packet->acknowledge.msn, 1u);
        EXPECT_FALSE(packet->migrated);
    }
}

TEST(RocePackets, WrittenRoute_IsTheKernels) {
    for (const char* each : {acknowledgement_over_ipv4, acknowledgement_over_ipv6}) {
        const byte_list bytes = from_hex(each);
        seen_packet seen(bytes);
        ASSERT_TRUE(seen.is_right());
        std::array<UCHAR, roce::max_route_size> made{};
        const std::size_t size = roce::write_route(seen.route, seen.payload.size(), made.data());
        EXPECT_EQ(byte_list(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(size)),
                  byte_list(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)));
    }
}

TEST(RocePackets, CapturesOfTheKernel_HaveRightCrcsAndParse) {
    for (const char* name : {"rc.pcap", "rc6.pcap", "ud.pcap", "cm.pcap"}) {
        const std::vector<byte_list> all = packets_of(name);
        EXPECT_GT(all.size(), 4u) << name;
        for (const byte_list& each : all) {
            seen_packet seen(each);
            EXPECT_TRUE(seen.is_right()) << name;
            EXPECT_EQ(seen.route.identification, seen.identification) << name;
            EXPECT_TRUE(seen.parse()) << name;
        }
    }
}

TEST(RocePackets, WrittenCrc_IsTheOneThatWasRemoved) {
    for (const char* name : {"rc.pcap", "rc6.pcap"})
        for (const byte_list& each : packets_of(name)) {
            seen_packet seen(each);
            seen.route.identification = seen.identification;
            byte_list payload = seen.payload;
            std::fill(payload.end() - 4, payload.end(), UCHAR{0});
            roce::write_invariant_crc(seen.route, payload);
            EXPECT_EQ(payload, seen.payload);
        }
}

// FECN, BECN and the reserved bits beside them are not covered.
TEST(RocePackets, AnyOtherFlippedBit_IsSeen) {
    constexpr std::size_t congestion = 4;
    for (const char* each : {acknowledgement_over_ipv4, acknowledgement_over_ipv6}) {
        const seen_packet right(from_hex(each));
        for (std::size_t bit = 0; bit < right.payload.size() * 8; ++bit) {
            seen_packet seen = right;
            seen.payload[bit / 8] ^= static_cast<UCHAR>(1u << bit % 8);
            EXPECT_EQ(seen.is_right(), bit / 8 == congestion) << bit;
        }
    }
}

TEST(RocePackets, PayloadsOfNoPacket_AreRefused) {
    const seen_packet right(from_hex(acknowledgement_over_ipv4));
    for (std::size_t size = 0; size < right.payload.size(); ++size) {
        seen_packet seen = right;
        seen.payload.resize(size);
        EXPECT_FALSE(seen.is_right()) << size;
    }
    seen_packet seen = right;
    seen.payload.resize(roce::max_udp_payload + 4);
    roce::write_invariant_crc(seen.route, seen.payload);
    EXPECT_FALSE(seen.is_right());
}

// Source: IBA A17.4.5.
TEST(RocePackets, ReceivedRoute_EndsWithTheIpHeader) {
    const byte_list version_4 = from_hex(acknowledgement_over_ipv4);
    seen_packet seen(version_4);
    ASSERT_TRUE(seen.is_right());
    const auto made = roce::received_route(seen.route, seen.payload.size());
    EXPECT_TRUE(std::all_of(made.begin(), made.begin() + 20, [](UCHAR each) { return each == 0; }));
    EXPECT_TRUE(std::equal(made.begin() + 20, made.end(), version_4.begin()));

    const byte_list version_6 = from_hex(acknowledgement_over_ipv6);
    const seen_packet other(version_6);
    const auto whole = roce::received_route(other.route, other.payload.size());
    EXPECT_TRUE(std::equal(whole.begin(), whole.end(), version_6.begin()));
}

TEST(RoceInterfaces, PathMtu_LeavesRoomForTheHeaders) {
    EXPECT_EQ(roce::path_mtu_of(256), 0);
    EXPECT_EQ(roce::path_mtu_of(340), IB_MTU_256);
    EXPECT_EQ(roce::path_mtu_of(1500), IB_MTU_1024);
    EXPECT_EQ(roce::path_mtu_of(4179), IB_MTU_2048);
    EXPECT_EQ(roce::path_mtu_of(4180), IB_MTU_4096);
    EXPECT_EQ(roce::path_mtu_of(65536), IB_MTU_4096);
}

TEST(RoceInterfaces, Texts_AreAddressesOrNone) {
    for (const char* each : {"127.0.0.1", "fd78::2"}) {
        const auto gid = roce::gid_of_text(each);
        ASSERT_TRUE(gid);
        EXPECT_EQ(roce::text_of(*gid), each);
        EXPECT_EQ(roce::is_ipv4(*gid), std::string(each) == "127.0.0.1");
    }
    for (const char* each : {"", "lo", "127.0.0", "127.0.0.1.1", "fd78::2%lo"})
        EXPECT_FALSE(roce::gid_of_text(each)) << each;
    EXPECT_TRUE(roce::is_link_local(*roce::gid_of_text("fe80::1")));
    EXPECT_FALSE(roce::is_link_local(*roce::gid_of_text("fd78::1")));
}

TEST(RoceInterfaces, LoopbackInterface_IsFoundByNameAndByAddress) {
    const auto by_name = roce::find_interface("lo");
    ASSERT_TRUE(by_name);
    EXPECT_TRUE(by_name->is_up);
    const auto by_address = roce::find_interface("127.0.0.9");
    ASSERT_TRUE(by_address);
    EXPECT_EQ(by_address->name, "lo");
    EXPECT_EQ(by_address->mtu, by_name->mtu);
    EXPECT_EQ(by_address->gids.size(), 1u);
    EXPECT_EQ(by_address->guid, 0x02005EFE7F000009u);
    EXPECT_FALSE(roce::find_interface("no-such-interface"));
    EXPECT_FALSE(roce::find_interface("192.0.2.1"));
}

} // namespace
