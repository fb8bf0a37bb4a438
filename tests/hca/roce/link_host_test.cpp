// A host on an Ethernet link: address resolution for IPv4 and IPv6, echo requests, groups, and
// frames that are none of its own.
#include "link_ends.hpp"

#include <roce/arp.hpp>

#include <support/both_machines.hpp>

#include <algorithm>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;
using hca_software::load16;
using hca_software::store;

constexpr std::size_t header = roce::ethernet_header_size;
constexpr std::size_t type_offset = roce::ethernet_type_offset;
constexpr USHORT of_arp = roce::type_arp;
const frame_bytes eight_bytes{1, 2, 3, 4, 5, 6, 7, 8};

// A tenth longer, so that what is due at the end has happened.
void pass(LONGLONG seconds) {
    LARGE_INTEGER interval;
    interval.QuadPart = -(seconds * 10 + 1) * 1'000'000;
    KeDelayExecutionThread(KernelMode, FALSE, &interval);
}

roce::hardware_address destination_of(const frame_bytes& frame) {
    roce::hardware_address made;
    std::copy_n(frame.begin(), made.size(), made.begin());
    return made;
}

// Time is the machine's: it passes at once.
class LinkHost : public BothMachines, protected linked_hosts {
protected:
    /// Both know each other's addresses.
    void resolve(bool is_version_4) {
        one.send(two.address(is_version_4), eight_bytes);
        std::size_t payloads = two.receive().size();
        one.receive();
        payloads += two.receive().size();
        EXPECT_EQ(payloads, 1u);
        ASSERT_TRUE(next_frame(one.link).empty());
    }
    /// A packet of UDP from one to two as it is on the link.
    frame_bytes packet(bool is_version_4, const frame_bytes& content = eight_bytes) {
        resolve(is_version_4);
        one.send(two.address(is_version_4), content);
        return next_frame(two.link);
    }
    bool arrives(const frame_bytes& frame) {
        roce::arrival got;
        return two.host.receive(frame, got);
    }
    /// An ICMP message between the two, with its checksums.
    frame_bytes message(bool is_version_4, const frame_bytes& content, UCHAR hop_limit = 64) const {
        frame_bytes made(header + roce::ipv6_header_size);
        std::ranges::copy(two.hardware, made.begin());
        std::ranges::copy(one.hardware, &made[6]);
        store<2>(&made[type_offset], is_version_4 ? roce::type_ipv4 : roce::type_ipv6);
        const roce::ip_route route{
            {one.address(is_version_4), two.address(is_version_4), 0, hop_limit, 0}};
        made.resize(header + roce::write_ip(
                                 route, is_version_4 ? roce::protocol_icmp : roce::protocol_icmpv6,
                                 content.size(), &made[header]));
        made.insert(made.end(), content.begin(), content.end());
        return made;
    }
    static frame_bytes arp_frame(const roce::arp_message& what) {
        const auto content = roce::write_arp(what);
        frame_bytes made(header);
        std::ranges::copy(roce::broadcast_address, made.begin());
        std::ranges::copy(what.from, &made[6]);
        made[6] &= 0xFE;
        store<2>(&made[type_offset], of_arp);
        made.insert(made.end(), content.begin(), content.end());
        return made;
    }
    frame_bytes advertisement(bool overrides, UCHAR hop_limit, UCHAR last_of_hardware) const {
        const hca_software::global_route way{one.version_6, two.version_6, 0, hop_limit, 0};
        roce::hardware_address stated = one.hardware;
        stated[5] = last_of_hardware;
        return message(false,
                       roce::write_neighbor({false, one.version_6, stated, true, overrides}, way),
                       hop_limit);
    }
};

TEST_P(LinkHost, FirstPacket_WaitsForTheAddress) {
    for (const bool is_version_4 : {true, false}) {
        EXPECT_EQ(one.send(two.address(is_version_4), eight_bytes), 0);
        const frame_bytes request = next_frame(two.link);
        ASSERT_GT(request.size(), header);
        EXPECT_TRUE(roce::is_group(destination_of(request)));
        EXPECT_EQ(load16(&request[type_offset]), is_version_4 ? of_arp : USHORT{roce::type_ipv6});
        EXPECT_FALSE(arrives(request));
        EXPECT_TRUE(one.receive().empty()); // the response
        const std::vector<frame_bytes> got = two.receive();
        ASSERT_EQ(got.size(), 1u);
        EXPECT_EQ(got.front(), eight_bytes);
        EXPECT_EQ(two.send(one.address(is_version_4), eight_bytes),
                  0); // the request had its address
        EXPECT_EQ(one.receive().size(), 1u);
    }
}

TEST_P(LinkHost, RequestForTheAddress_IsAsTheStandardHasIt) {
    one.send(two.version_4, eight_bytes);
    const frame_bytes expected{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2, 0, 0, 0, 0x78, 1,    8,    6,
                               0,    1,    8,    0,    6,    4,    0, 1, 2, 0, 0,    0,    0x78, 1,
                               0x0A, 0x4E, 0,    1,    0,    0,    0, 0, 0, 0, 0x0A, 0x4E, 0,    2};
    EXPECT_EQ(next_frame(two.link), expected);
    one.send(two.version_6, eight_bytes);
    const frame_bytes solicitation = next_frame(two.link);
    ASSERT_EQ(solicitation.size(), header + 40 + 32);
    const roce::hardware_address group{0x33, 0x33, 0xFF, 0, 0, 2};
    EXPECT_EQ(destination_of(solicitation), group);
    EXPECT_EQ(solicitation[header + 7], 255); // hop limit
    EXPECT_EQ(solicitation[header + 40], 135);
}

TEST_P(LinkHost, PacketsThatWait_KeepTheirOrder_AndTheOldestGivesWay) {
    for (UCHAR i = 0; i <= roce::neighbors::most_waiting; ++i)
        one.send(two.version_4, {i, 0, 0, 0});
    two.receive();
    one.receive();
    const std::vector<frame_bytes> got = two.receive();
    ASSERT_EQ(got.size(), roce::neighbors::most_waiting);
    for (UCHAR i = 0; i < got.size(); ++i)
        EXPECT_EQ(got[i][0], i + 1);
}

TEST_P(LinkHost, LostRequest_IsRepeatedTwice_AndThePacketIsLost) {
    for (const bool is_version_4 : {true, false}) {
        for (int requests = 0; requests < 3; ++requests) {
            one.send(two.address(is_version_4), eight_bytes);
            EXPECT_TRUE(roce::is_group(destination_of(next_frame(two.link))));
            EXPECT_TRUE(next_frame(two.link).empty());
            pass(1);
        }
        EXPECT_TRUE(next_frame(two.link).empty());
        resolve(is_version_4); // with one packet, not four
    }
}

TEST_P(LinkHost, ResponseToARepeatedRequest_SendsThePacket) {
    one.send(two.version_4, eight_bytes);
    next_frame(two.link); // lost
    pass(1);
    two.receive();
    one.receive();
    EXPECT_EQ(two.receive(), std::vector<frame_bytes>{eight_bytes});
    pass(5);
    EXPECT_TRUE(next_frame(two.link).empty());
}

TEST_P(LinkHost, OldAddress_IsRequestedAgain_AndStillUsed) {
    resolve(true);
    pass(29);
    one.send(two.version_4, eight_bytes);
    EXPECT_EQ(two.receive().size(), 1u);
    EXPECT_TRUE(next_frame(one.link).empty());
    pass(1);
    one.send(two.version_4, eight_bytes);
    EXPECT_EQ(two.receive().size(), 1u);
    EXPECT_EQ(load16(&next_frame(one.link)[type_offset]), of_arp); // the response
}

TEST_P(LinkHost, RequestForAnotherHost_IsIgnored) {
    one.send(ipv4(0x0A4E0009), eight_bytes);
    one.send(ipv6(9), eight_bytes);
    two.receive();
    EXPECT_TRUE(next_frame(one.link).empty());
}

TEST_P(LinkHost, OwnAddress_IsReachedWithoutTheLink) {
    for (const bool is_version_4 : {true, false})
        EXPECT_EQ(one.send(one.address(is_version_4), eight_bytes), 0);
    EXPECT_TRUE(next_frame(two.link).empty());
    EXPECT_EQ(one.receive(one.loop.second), (std::vector<frame_bytes>{eight_bytes, eight_bytes}));
}

TEST_P(LinkHost, AddressOfAnother_IsNoSource) {
    EXPECT_EQ(one.host.send({two.version_4, one.version_4}, eight_bytes), EADDRNOTAVAIL);
    EXPECT_EQ(one.host.send({one.version_4, two.version_6}, eight_bytes), EAFNOSUPPORT);
}

TEST_P(LinkHost, PacketToAGroup_ReachesMembersOnly) {
    const ib_gid_t groups[] = {ipv4(0xEF870001), {0xFF15ull << 48, 0x12345678}};
    const roce::hardware_address hardware[] = {{1, 0, 0x5E, 7, 0, 1},
                                               {0x33, 0x33, 0x12, 0x34, 0x56, 0x78}};
    for (int i = 0; i < 2; ++i) {
        one.send(groups[i], eight_bytes);
        const frame_bytes sent = next_frame(two.link);
        EXPECT_EQ(destination_of(sent), hardware[i]);
        EXPECT_FALSE(arrives(sent));
        for (int joined = 0; joined < 2; ++joined)
            two.host.join(groups[i]);
        two.host.leave(groups[i]);
        EXPECT_TRUE(arrives(sent));
        two.host.leave(groups[i]);
        EXPECT_FALSE(arrives(sent));
        one.host.join(groups[i]);
        one.send(groups[i], eight_bytes);
        EXPECT_EQ(one.receive(one.loop.second).size(), 1u);
        EXPECT_TRUE(two.receive().empty());
    }
}

TEST_P(LinkHost, EchoRequest_GetsItsReply) {
    const frame_bytes request_4{8, 0, 0xF4, 0xFC, 0, 1, 0, 2, 3}; // an odd number of bytes
    const frame_bytes request_6{128, 0, 0x81, 0xC4, 0, 1, 0, 2, 3};
    for (const bool is_version_4 : {true, false}) {
        frame_bytes request = message(is_version_4, is_version_4 ? request_4 : request_6);
        EXPECT_FALSE(arrives(request));
        const frame_bytes reply = next_frame(one.link);
        ASSERT_EQ(reply.size(), request.size()) << is_version_4;
        EXPECT_EQ(destination_of(reply), one.hardware);
        const auto parsed = roce::parse_ip(is_version_4, std::span(reply).subspan(header));
        ASSERT_TRUE(parsed);
        EXPECT_EQ(parsed->route.global.from, two.address(is_version_4));
        EXPECT_EQ(parsed->route.global.to, one.address(is_version_4));
        EXPECT_EQ(parsed->content[0], is_version_4 ? 0 : 129);
        EXPECT_EQ(load16(&parsed->content[2]), is_version_4 ? 0xFCFC : 0x80C4);
        request.back() ^= 1; // the checksum is wrong
        arrives(request);
        EXPECT_TRUE(next_frame(one.link).empty());
    }
}

// Source: RFC 4862 5.4.3.
TEST_P(LinkHost, AdvertisementToAHostThatLooksForDuplicates_GoesToAllNodes) {
    frame_bytes frame =
        message(false, roce::write_neighbor({true, two.version_6, std::nullopt},
                                            {{}, roce::solicited_group(two.version_6), 0, 255, 0}));
    const roce::ip_route route{{{}, roce::solicited_group(two.version_6), 0, 255, 0}};
    roce::write_ip(route, roce::protocol_icmpv6, 24, &frame[header]);
    arrives(frame);
    const frame_bytes response = next_frame(one.link);
    ASSERT_EQ(response.size(), header + 40 + 32);
    const roce::hardware_address all{0x33, 0x33, 0, 0, 0, 1};
    EXPECT_EQ(destination_of(response), all);
    EXPECT_EQ(response[header + 40], 136);
    EXPECT_EQ(response[header + 44], 0x20); // override, and not solicited
}

TEST_P(LinkHost, Advertisement_ReplacesAnAddressIfItSaysSo) {
    resolve(false);
    two.receive();
    struct expected {
        bool overrides;
        UCHAR hop_limit;
        UCHAR stated;
        UCHAR used;
    };
    for (const auto& [overrides, hop_limit, stated, used] :
         {expected{false, 255, 7, 1}, {true, 254, 7, 1}, {true, 255, 7, 7}, {true, 255, 1, 1}}) {
        arrives(advertisement(overrides, hop_limit, stated));
        two.send(one.version_6, eight_bytes);
        EXPECT_EQ(destination_of(next_frame(one.link))[5], used);
    }
}

TEST_P(LinkHost, Announcement_CorrectsAnAddress) {
    resolve(true);
    resolve(false);
    host_on_link moved(1, std::move(one.link)); // the same addresses
    roce::link_host other({2, 0, 0, 0, 0x78, 9}, {moved.version_4, moved.version_6}, moved.link,
                          moved.loop.first);
    other.announce();
    two.receive();
    for (const bool is_version_4 : {true, false}) {
        two.send(moved.address(is_version_4), eight_bytes);
        EXPECT_EQ(destination_of(next_frame(moved.link))[5], 9);
    }
}

// Neither by ARP nor by neighbor discovery.
TEST_P(LinkHost, ClaimToOwnAddress_IsIgnored) {
    arrives(arp_frame({true, one.hardware, two.version_4, {}, two.version_4}));
    EXPECT_TRUE(next_frame(one.link).empty());
    two.send(two.version_4, eight_bytes);
    EXPECT_EQ(two.receive(two.loop.second).size(), 1u);
}

TEST_P(LinkHost, PaddingOfTheFrame_IsNotOfThePacket) {
    for (const bool is_version_4 : {true, false}) {
        frame_bytes frame = packet(is_version_4);
        frame.resize(frame.size() + 10, 0xEE);
        roce::arrival got;
        ASSERT_TRUE(two.host.receive(frame, got));
        EXPECT_TRUE(std::ranges::equal(got.payload, eight_bytes));
    }
}

TEST_P(LinkHost, AnyShorterFrame_IsRefused) {
    for (const bool is_version_4 : {true, false}) {
        const frame_bytes frame = packet(is_version_4);
        ASSERT_TRUE(arrives(frame));
        for (std::size_t size = 0; size < frame.size(); ++size)
            EXPECT_FALSE(
                arrives(frame_bytes(frame.begin(), frame.begin() + static_cast<long>(size))))
                << size;
    }
}

// The checksum of the IPv4 header is made right after a change.
TEST_P(LinkHost, ForeignFrames_AreRefused) {
    struct change {
        bool is_version_4;
        std::size_t place;
        UCHAR value;
        const char* what;
    };
    constexpr change changes[] = {
        {true, 5, 9, "hardware address"},  {true, 12, 0x81, "VLAN"},
        {true, 14, 0x65, "version"},       {true, 14, 0x44, "header size"},
        {true, 17, 19, "total length"},    {true, 20, 0x20, "more fragments"},
        {true, 21, 1, "offset"},           {true, 23, 6, "TCP"},
        {true, 33, 9, "destination"},      {true, 37, 0xB8, "UDP port"},
        {false, 5, 9, "hardware address"}, {false, 14, 0x40, "version"},
        {false, 20, 44, "fragment"},       {false, 20, 0, "hop-by-hop options"},
        {false, 53, 9, "destination"},     {false, 57, 0xB8, "UDP port"}};
    for (const change& each : changes) {
        frame_bytes frame = packet(each.is_version_4);
        ASSERT_TRUE(arrives(frame));
        frame[each.place] = each.value;
        if (each.is_version_4) {
            store<2>(&frame[header + 10], 0);
            ULONG sum = 0;
            for (std::size_t i = 0; i < 20; i += 2)
                sum += load16(&frame[header + i]);
            store<2>(&frame[header + 10], ~((sum & 0xFFFF) + (sum >> 16)) & 0xFFFF);
        }
        EXPECT_FALSE(arrives(frame)) << each.what;
    }
    frame_bytes damaged = packet(true);
    damaged[header + 1] ^= 1;
    EXPECT_FALSE(arrives(damaged)) << "checksum";
}

// Source: RFC 1122 3.2.1.3, RFC 4291 2.7.
TEST_P(LinkHost, PacketFromAGroup_IsRefused) {
    const ib_gid_t groups[] = {ipv4(0xEF870001), roce::all_nodes};
    for (const ib_gid_t& group : groups) {
        frame_bytes frame = packet(roce::is_ipv4(group));
        ASSERT_TRUE(arrives(frame));
        roce::write_route({{group, two.address(roce::is_ipv4(group))}}, eight_bytes.size(),
                          &frame[header]);
        EXPECT_FALSE(arrives(frame));
    }
    const hca_software::global_route way{roce::all_nodes, two.version_6, 0, 255, 0};
    frame_bytes frame = message(
        false, roce::write_neighbor({true, two.version_6, one.hardware}, way), way.hop_limit);
    roce::write_ip({way}, roce::protocol_icmpv6, 32, &frame[header]);
    arrives(frame);
    EXPECT_TRUE(next_frame(one.link).empty());
}

TEST_P(LinkHost, FrameFromAGroup_IsRefused) {
    for (const bool is_version_4 : {true, false}) {
        frame_bytes frame = packet(is_version_4);
        frame[6] |= 1;
        EXPECT_FALSE(arrives(frame));
    }
    roce::hardware_address group = one.hardware;
    group[0] |= 1;
    arrives(arp_frame({true, group, one.version_4, {}, two.version_4}));
    EXPECT_TRUE(next_frame(one.link).empty());
}

// They would be taken for packets of IPv4, and the response would have its header.
TEST_P(LinkHost, AddressesOfIpv4InIpv6_AreRefused) {
    frame_bytes frame = packet(false);
    for (const std::size_t place : {header + 8, header + 24}) {
        frame_bytes mapped = frame;
        store<8>(&mapped[place], two.version_4.gid_prefix);
        store<8>(&mapped[place + 8], two.version_4.gid_guid);
        EXPECT_FALSE(roce::parse_ip(false, std::span(mapped).subspan(header)));
    }
    const hca_software::global_route way{one.version_6, two.version_6, 0, 255, 0};
    arrives(message(false, roce::write_neighbor({true, two.version_4, one.hardware}, way), 255));
    EXPECT_TRUE(next_frame(one.link).empty());
}

// Source: RFC 5227 2.1.1.
TEST_P(LinkHost, ProbeForAnAddress_HasItsReply_AndStatesNone) {
    arrives(arp_frame({true, one.hardware, ipv4(0), {}, two.version_4}));
    const frame_bytes reply = next_frame(one.link);
    ASSERT_EQ(reply.size(), header + roce::arp_size);
    EXPECT_EQ(destination_of(reply), one.hardware);
    two.send(ipv4(0), eight_bytes);
    EXPECT_TRUE(roce::is_group(destination_of(next_frame(one.link)))); // a request
}

TEST_P(LinkHost, ManyNeighbors_AreForgottenAgain) {
    for (ULONG i = 0; i < 3 * roce::neighbors::most; ++i) {
        one.send(ipv4(0x0A4F0000 + i), eight_bytes);
        while (!next_frame(two.link).empty()) {
        }
    }
    resolve(true);
    EXPECT_EQ(two.receive().size(), 0u);
    one.send(two.version_4, eight_bytes);
    EXPECT_EQ(two.receive().size(), 1u);
}

IRPVERBS_ON_THE_SIMULATED_MACHINE(LinkHost);

TEST(HardwareAddress, Eui64_IsThatOfTheStandard) {
    EXPECT_EQ(roce::eui64_of({0x34, 0x56, 0x78, 0x9A, 0xBC, 0xDE}), 0x365678FFFE9ABCDEu);
}

} // namespace
