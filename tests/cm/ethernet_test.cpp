// Connections over Ethernet, between HCAs of "roce:". Real sockets exist on the real machine only.
#include "../hca/roce/loopback_hca.hpp"
#include "raw_peer.hpp"

#include <cm/ethernet.hpp>
#include <engine/ethernet_paths.hpp>

#include <support/both_machines.hpp>

#include <numeric>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

class CmOverEthernet : public BothMachines {
protected:
    const loopback_address first_address{1};
    const loopback_address second_address{2};
    const loopback_address third_address{3};
    const roce_hca first_hca{first_address};
    const roce_hca second_hca{second_address};
};

class CmEthernetEnds : public CmOverEthernet {
protected:
    two_ends ends{first_address.guid(), second_address.guid()};
};

/// The parameters of CmConnect with an address in the place of the path.
struct connect_to_address : connect_to {
    connect_to_address(IB_QP* qp, const ib_gid_t& address) : connect_to(qp, {}) {
        p_primary_path = nullptr;
        dest_gid = address;
    }
};

void expect_message(const cm_end& from, IB_QP* sender, const cm_end& to, IB_QP* receiver) {
    std::array<UCHAR, 3000> sent{};
    std::array<UCHAR, 3000> received{};
    sent.front() = sent.back() = 42;
    IB_MR* const source = register_mr(from.pd, sent.data(), sent.size(), IB_AC_LOCAL_WRITE);
    IB_MR* const target = register_mr(to.pd, received.data(), received.size(), IB_AC_LOCAL_WRITE);
    ib_local_ds_t into{reinterpret_cast<std::uintptr_t>(received.data()), 3000, target->LKey};
    ib_recv_wr_t receive{nullptr, 1, &into, 1};
    EXPECT_EQ(CiPostRecv(receiver, &receive, nullptr), STATUS_SUCCESS);
    ib_local_ds_t out{reinterpret_cast<std::uintptr_t>(sent.data()), 3000, source->LKey};
    ib_send_wr_t send{};
    send.wr_type = WR_SEND;
    send.send_opt = IB_SEND_OPT_SIGNALED;
    send.ds_array = &out;
    send.num_ds = 1;
    EXPECT_EQ(CiPostSend(sender, &send, nullptr), STATUS_SUCCESS);
    EXPECT_EQ(next_completion(to.cq).Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(next_completion(from.cq).Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(received, sent);
    EXPECT_EQ(deregister_mr(source), STATUS_SUCCESS);
    EXPECT_EQ(deregister_mr(target), STATUS_SUCCESS);
}

TEST_P(CmEthernetEnds, DestinationIsAnAddress_QueuePairsHaveTheWayToIt) {
    const open_cm first(ends.one.ca, 0); // there is no SA
    const open_listener listener(ends.second);
    const connect_to_address wanted(ends.one.make_qp(), second_address.gid());
    IB_QP* const passive_qp = ends.two.make_qp();
    pending_connect connect(first, wanted);
    pending_request requested(listener);
    const open_connection passive = requested.connection();
    const sa_path_record_t& path = requested.request.primary_path;
    EXPECT_EQ(path.SGID, second_address.gid());
    EXPECT_EQ(path.DGID, first_address.gid());
    EXPECT_EQ(path.SLID, 0);
    EXPECT_EQ(path.DLID, 0);
    EXPECT_EQ(path.Mtu, IB_MTU_4096);
    pending_accept accept(passive, passive_qp);
    EXPECT_STREQ(name_of(connect.status()), "STATUS_SUCCESS");
    const open_connection active = connect.connection();
    EXPECT_STREQ(name_of(active.complete()), "STATUS_SUCCESS");
    EXPECT_STREQ(name_of(accept.status()), "STATUS_SUCCESS");
    const ib_qp_attr_t attributes = cm_end::attributes(wanted.h_qp);
    EXPECT_EQ(attributes.state, ib_qp_state_t{IB_QPS_RTS});
    EXPECT_TRUE(attributes.primary_av.grh_valid);
    EXPECT_EQ(attributes.primary_av.grh.dest_gid, second_address.gid());
    expect_message(ends.one, wanted.h_qp, ends.two, passive_qp);
    expect_message(ends.two, passive_qp, ends.one, wanted.h_qp);
    EXPECT_EQ(active.disconnect(), std::pair(STATUS_SUCCESS, ULONG_PTR{1}));
    EXPECT_EQ(passive.next_event().type, ULONG{IB_CM_EVENT_DISCONNECTED});
}

TEST_P(CmEthernetEnds, NamedPath_NeedsNoLids) {
    const connected_pair pair(ends);
    expect_message(ends.one, pair.active_qp, ends.two, pair.passive_qp);
    expect_message(ends.two, pair.passive_qp, ends.one, pair.active_qp);
}

TEST_P(CmEthernetEnds, AddressOfAnotherKind_IsUnreachable) {
    for (const ib_gid_t& address : {ib_gid_t{}, ib_gid_t{0xFD78ull << 48, 2}}) {
        pending_connect connect(ends.first, connect_to_address(ends.one.make_qp(), address));
        EXPECT_STREQ(name_of(connect.status()), "STATUS_HOST_UNREACHABLE");
        resolve_at wanted({});
        wanted.p_path = nullptr;
        wanted.dest_gid = address;
        EXPECT_STREQ(name_of(pending_resolution(ends.first, wanted).status()),
                     "STATUS_HOST_UNREACHABLE");
    }
}

TEST_P(CmEthernetEnds, QueriedPath_IsThatOfIpAddressing) {
    const ib_gid_t address = second_address.gid();
    sa_path_record_t path{};
    EXPECT_EQ(CmQueryEthernetPath(ends.first, &address, &path), STATUS_SUCCESS);
    EXPECT_EQ(path.SGID, first_address.gid());
    EXPECT_EQ(path.DGID, address);
    const ib_gid_t other{0xFD78ull << 48, 2};
    EXPECT_EQ(CmQueryEthernetPath(ends.first, &other, &path), STATUS_HOST_UNREACHABLE);
    EXPECT_EQ(CmQueryEthernetPath(nullptr, &address, &path), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(CmQueryEthernetPath(ends.first, nullptr, &path), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(CmQueryEthernetPath(ends.first, &address, nullptr), STATUS_INVALID_PARAMETER);

    const ib_cm_ip_t ip = CmIpOfPath(&path, 4711);
    EXPECT_EQ(ip.ip_version, 4);
    EXPECT_EQ(ip.src_port, 4711);
    EXPECT_EQ(std::accumulate(ip.dst, ip.dst + 12, 0), 0);
    EXPECT_EQ(ip.dst[12], 127);
    EXPECT_EQ(ip.src[15], first_address.gid().gid_guid & 0xFF);
}

TEST_P(CmEthernetEnds, AlternatePaths_AreNotSupported) {
    connect_to wanted(ends.one.make_qp(), ends.one.path_to(ends.two));
    wanted.p_alt_path = &wanted.path;
    EXPECT_STREQ(name_of(pending_connect(ends.first, wanted).status()), "STATUS_NOT_SUPPORTED");
    const connected_pair pair(ends);
    EXPECT_STREQ(name_of(pending_path(pair.active, wanted.path).status()), "STATUS_NOT_SUPPORTED");
}

TEST_P(CmEthernetEnds, Resolution_ReturnsTheWayToTheAddress) {
    const open_listener listener(ends.second, of_datagrams);
    resolve_at wanted({});
    wanted.p_path = nullptr;
    wanted.dest_gid = second_address.gid();
    pending_resolution resolution(ends.first, wanted);
    pending_ud_request next(listener);
    const open_ud_request request = next.object();
    EXPECT_EQ(next.request.src_lid, 0);
    EXPECT_EQ(next.request.src_gid, first_address.gid());
    ib_cm_ud_response_t with{};
    with.qpn = 0x1234;
    EXPECT_EQ(request.respond(with), STATUS_SUCCESS);
    EXPECT_STREQ(name_of(resolution.status()), "STATUS_SUCCESS");
    EXPECT_TRUE(resolution.reply.av.grh_valid);
    EXPECT_EQ(resolution.reply.av.grh.dest_gid, second_address.gid());
}

/// One end, and a peer whose messages the test writes.
class CmEthernetPeer : public CmOverEthernet {
protected:
    cm_end end{first_address.guid()};
    cm_end other{second_address.guid()};
    open_cm manager{end.ca};
    raw_peer peer{other, end};
    connect_to_address wanted{end.make_qp(), second_address.gid()};
};

// As rdma_cm's.
TEST_P(CmEthernetPeer, Request_HasPermissiveLidsAndAGlobalRoute) {
    pending_connect connect(manager, wanted);
    const auto req = peer.receive<cm::req_message>();
    EXPECT_EQ(req.primary.local_lid, IB_LID_PERMISSIVE);
    EXPECT_EQ(req.primary.remote_lid, IB_LID_PERMISSIVE);
    EXPECT_EQ(req.primary.local_gid, first_address.gid());
    EXPECT_EQ(req.primary.remote_gid, second_address.gid());
    EXPECT_FALSE(req.primary.subnet_local);
    EXPECT_EQ(req.primary.hop_limit, 64);
    EXPECT_FALSE(req.has_alternate());
    connect.call.cancel();
    EXPECT_EQ(peer.receive<cm::rej_message>().reason, IB_CM_REJ_TIMEOUT);
}

TEST_P(CmEthernetPeer, LostMessages_AreSentAgain) {
    pending_connect connect(manager, wanted);
    const auto req = peer.receive<cm::req_message>(); // lost
    EXPECT_EQ(peer.receive<cm::req_message>(), req);
    const cm::rep_message rep = raw_peer::reply_to(req);
    peer.send(rep);
    EXPECT_STREQ(name_of(connect.status()), "STATUS_SUCCESS");
    const open_connection link = connect.connection();
    EXPECT_STREQ(name_of(link.complete()), "STATUS_SUCCESS");
    const auto rtu = peer.receive<cm::rtu_message>(); // lost
    peer.send(rep);
    EXPECT_EQ(peer.receive<cm::rtu_message>(), rtu);
    verb_call disconnect([&](IRP* irp) { return CmDisconnect(link, nullptr, 0, irp); });
    const auto dreq = peer.receive<cm::dreq_message>(); // lost
    EXPECT_EQ(peer.receive<cm::dreq_message>(), dreq);
    cm::drep_message drep;
    drep.local_id = dreq.remote_id;
    drep.remote_id = dreq.local_id;
    peer.send(drep);
    EXPECT_EQ(disconnect.status(), STATUS_SUCCESS);
    EXPECT_EQ(disconnect.information(), 1u);
}

TEST_P(CmEthernetPeer, RequestsOfAddresses_AreCheckedWithoutLids) {
    const open_listener listener(manager);
    cm::req_message req = peer.request();
    req.primary.remote_gid = third_address.gid();
    peer.send(req);
    auto rej = peer.receive<cm::rej_message>();
    EXPECT_EQ(rej.reason, IB_CM_REJ_INVALID_GID);
    EXPECT_EQ(rej.info_length, sizeof(ib_gid_t));
    req = peer.request();
    req.primary.local_gid = {0xFD78ull << 48, 2}; // this end has no IPv6 address
    peer.send(req);
    EXPECT_EQ(peer.receive<cm::rej_message>().reason, IB_CM_REJ_UNSUPPORTED);
    req = peer.request();
    req.primary.local_lid = req.primary.remote_lid = 0xC000;
    req.alternate = req.primary;
    peer.send(req);
    pending_request request(listener);
    const open_connection link = request.connection();
    EXPECT_EQ(request.request.alt_path.DLID, 0) << "none";
    pending_accept accept(link, end.make_qp());
    const auto rep = peer.receive<cm::rep_message>();
    EXPECT_EQ(rep.failover_accepted, IB_CM_FAILOVER_NOT_SUPPORTED);
    peer.send(raw_peer::ready_for(rep));
    EXPECT_STREQ(name_of(accept.status()), "STATUS_SUCCESS");
}

// A request for another service, which is rejected at once, shows that the others have arrived.
TEST_P(CmEthernetPeer, RequestsOfTwoAddresses_TakeTurns) {
    const roce_hca third_hca(third_address);
    const cm_end third(third_address.guid());
    raw_peer another(third, end);
    const open_listener listener(manager);
    peer.send(peer.request(1, 0x101));
    peer.send(peer.request(2, 0x102));
    another.send(another.request(3, 0x103));
    cm::req_message last = another.request(4, 0x104);
    last.service_id = service + 1;
    another.send(last);
    EXPECT_EQ(another.receive<cm::rej_message>().remote_id, 4u);
    for (const ib_qpn_t expected : {0x101u, 0x103u, 0x102u}) {
        pending_request request(listener);
        EXPECT_EQ(request.connection().reject(), STATUS_SUCCESS);
        EXPECT_EQ(request.request.qpn, expected);
    }
}

IRPVERBS_ON_THE_REAL_MACHINE(CmEthernetEnds);
IRPVERBS_ON_THE_REAL_MACHINE(CmEthernetPeer);

// ---- the choice of an address

TEST(EthernetPaths, SourceAddress_IsOfTheSameKindWithTheLongestPrefix) {
    const auto ipv4 = [](ULONG address) { return ib_gid_t{0, 0xFFFFull << 32 | address}; };
    const ib_gid_t link_local{0xFE80ull << 48, 1};
    const ib_gid_t unique_local{0xFD78ull << 48, 1};
    const ib_gid_t own[] = {link_local, ipv4(0x0A000001), ipv4(0xC0A80001), unique_local};
    const auto from = [&](const ib_gid_t& to) {
        return cm::engine::source_address(own, to).value_or(ib_gid_t{});
    };
    EXPECT_EQ(from(ipv4(0xC0A80077)), ipv4(0xC0A80001));
    EXPECT_EQ(from(ipv4(0x0A070707)), ipv4(0x0A000001));
    EXPECT_EQ(from({0xFE80ull << 48, 7}), link_local);
    EXPECT_EQ(from({0x2001ull << 48, 7}), unique_local);
    EXPECT_EQ(from({}), ib_gid_t{});
}

TEST(EthernetPaths, AddressesOfIpv6_AreTheGids) {
    sa_path_record_t path{};
    path.SGID = {0xFD78ull << 48, 1};
    path.DGID = {0xFD78ull << 48, 2};
    const ib_cm_ip_t ip = cm::ip_of_path(path);
    EXPECT_EQ(ip.ip_version, 6);
    EXPECT_EQ(ip.src[0], 0xFD);
    EXPECT_EQ(ip.src[15], 1);
    EXPECT_EQ(ip.dst[15], 2);
}

} // namespace
