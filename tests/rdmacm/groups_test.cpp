// Multicast groups.
#include "ids.hpp"

#include <membership.hpp>

namespace {

using namespace irpverbs::testing;
using irpverbs::rdmacm::from_gid;
using irpverbs::rdmacm::from_ipv4;
using irpverbs::rdmacm::group_of;

constexpr const char* group = "239.1.2.3";

TEST(RdmaGroups, AddressNamesTheGroupInItsPartition) {
    const ib_gid_t four = group_of(from_ipv4(0xEF010203), 0x8001, RDMA_PS_UDP);
    EXPECT_EQ(four.gid_prefix, 0xFF12'4001'8001'0000u);
    EXPECT_EQ(four.gid_guid, 0x0F01'0203u);
    EXPECT_EQ(group_of(from_ipv4(0xEF010203), 0x8001, RDMA_PS_IPOIB).gid_prefix,
              0xFF12'401B'8001'0000u);
    const ib_gid_t six = group_of(from_gid({0xFF15'1111'2222'3333, 0x4444}), 0xFFFF, RDMA_PS_UDP);
    EXPECT_EQ(six.gid_prefix, 0xFF12'6001'FFFF'3333u);
    EXPECT_EQ(six.gid_guid, 0x4444u);
    const ib_gid_t assigned{0xFF12'A01B'0000'0000, 7};
    EXPECT_EQ(group_of(from_gid(assigned), 0xFFFF, RDMA_PS_UDP).gid_prefix, assigned.gid_prefix);
    EXPECT_EQ(group_of(from_ipv4(0), 0xFFFF, RDMA_PS_UDP).gid_prefix, 0u);
}

/// An id of datagrams at a host, with its queue pair.
struct member {
    explicit member(const char* host) : at(events, RDMA_PS_UDP) {
        EXPECT_EQ(at.bind(address(host)), 0);
        at.create_qp();
    }
    /// The way to the group.
    ibv_ah_attr join(const char* name) {
        EXPECT_EQ(rdma_join_multicast(at, address(name), this), 0);
        const taken_event joined(events);
        EXPECT_EQ(joined.name(), "RDMA_CM_EVENT_MULTICAST_JOIN");
        EXPECT_EQ(joined->status, 0);
        EXPECT_EQ(joined->param.ud.private_data, this);
        EXPECT_EQ(joined->param.ud.qp_num, 0xFFFFFFu);
        EXPECT_EQ(joined->param.ud.qkey, unsigned{RDMA_UDP_QKEY});
        return joined->param.ud.ah_attr;
    }

    channel events;
    id at;
};

void expect_datagram(member& from, ibv_ah_attr way, const member& to) {
    message sent(from.at);
    message received(to.at);
    received.receive(to.at);
    ibv_ah* const ah = ibv_create_ah(from.at->pd, &way);
    ASSERT_NE(ah, nullptr);
    EXPECT_EQ(rdma_post_ud_send(from.at, nullptr, sent.bytes.data(), 8, sent.region(),
                                IBV_SEND_SIGNALED, ah, 0xFFFFFF),
              0);
    ibv_wc wc{};
    EXPECT_EQ(rdma_get_send_comp(from.at, &wc), 1);
    EXPECT_EQ(rdma_get_recv_comp(to.at, &wc), 1);
    EXPECT_EQ(wc.byte_len, 48u);
    EXPECT_EQ(ibv_destroy_ah(ah), 0);
}

TEST(RdmaGroups, MembersReceiveDatagramsOfOthers) {
    member sender(first_host);
    member receiver(second_host);
    receiver.join(group);
    const ibv_ah_attr way = sender.join(group);
    EXPECT_GE(way.dlid, 0xC000);
    EXPECT_EQ(way.is_global, 1);
    expect_datagram(sender, way, receiver);
}

TEST(RdmaGroups, LeavingIdOfAPort_LeavesItsOtherMembers) {
    member sender(first_host);
    member receiver(second_host);
    member other(second_host);
    receiver.join(group);
    other.join(group);
    const ibv_ah_attr way = sender.join(group);
    EXPECT_EQ(rdma_leave_multicast(other.at, address(group)), 0);
    expect_datagram(sender, way, receiver);
    EXPECT_EQ(rdma_leave_multicast(other.at, address(group)), -1);
    EXPECT_EQ(errno, EADDRNOTAVAIL);
}

TEST(RdmaGroups, SenderOnly_ReceivesNothing) {
    member sender(first_host);
    member receiver(second_host);
    receiver.join(group);
    address name(group);
    rdma_cm_join_mc_attr_ex attr{};
    attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
    attr.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
    attr.addr = name;
    EXPECT_EQ(rdma_join_multicast_ex(sender.at, &attr, nullptr), 0);
    const taken_event joined(sender.events);
    EXPECT_EQ(joined.name(), "RDMA_CM_EVENT_MULTICAST_JOIN");
    expect_datagram(sender, joined->param.ud.ah_attr, receiver);
    attr.join_flags = RDMA_MC_JOIN_FLAG_RESERVED;
    EXPECT_EQ(rdma_join_multicast_ex(sender.at, &attr, nullptr), -1);
    attr.comp_mask = 0;
    EXPECT_EQ(rdma_join_multicast_ex(sender.at, &attr, nullptr), -1);
}

TEST(RdmaGroups, AddressOfAGroup_IsResolvedWithoutAPath) {
    channel events;
    const id any(events, RDMA_PS_UDP);
    address name(group);
    EXPECT_EQ(rdma_resolve_addr(any, nullptr, name, 1000), 0);
    EXPECT_EQ(events.next(), "RDMA_CM_EVENT_ADDR_RESOLVED");
    EXPECT_NE(any->verbs, nullptr);
}

// The kernel makes a group of each address; the example of the programming manual joins that of its
// receiver.
TEST(RdmaGroups, AddressOfAPort_NamesAGroupToo) {
    member receiver(second_host);
    receiver.join(second_host);
    member sender(first_host);
    expect_datagram(sender, sender.join(second_host), receiver);
}

TEST(RdmaGroups, WrongJoins_AreRefused) {
    member one(first_host);
    sockaddr other{};
    other.sa_family = AF_UNIX;
    EXPECT_EQ(rdma_join_multicast(one.at, &other, nullptr), -1);
    channel events;
    const id unbound(events, RDMA_PS_UDP);
    EXPECT_EQ(rdma_join_multicast(unbound, address(group), nullptr), -1);
    const id connected(events, RDMA_PS_TCP);
    EXPECT_EQ(connected.bind(address(first_host)), 0);
    EXPECT_EQ(rdma_join_multicast(connected, address(group), nullptr), -1);
}

} // namespace
