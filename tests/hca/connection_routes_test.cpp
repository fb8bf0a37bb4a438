// Several connection managers on one port of a software HCA, as several processes have them: the
// manager that a message reaches, and the end of one that has connections.
#include "mad_client.hpp"

#include <support/both_machines.hpp>

namespace {

using namespace irpverbs::testing;

constexpr UCHAR connections_class = 7;
constexpr UCHAR send = 3;
enum : USHORT { REQ = 0x10, REJ = 0x12, REP = 0x13, RTU = 0x14, DREQ = 0x15, DREP = 0x16 };
enum : USHORT { SIDR_REQ = 0x17, SIDR_REP = 0x18 };
constexpr USHORT unknown_service = 8;
constexpr USHORT no_resources = 3;

IB_MAD_AGENT_ATTR manager() {
    IB_MAD_AGENT_ATTR attr = agent_of(connections_class, {send});
    attr.ClassVersion = 2;
    return attr;
}

mad message(USHORT attribute, ULONG local, ULONG remote) {
    mad made(connections_class, send, attribute);
    made.at(2) = 2;
    return made.put<4>(24, local).put<4>(28, remote);
}
mad request(ULONG id) { return message(REQ, id, 0).put<3>(56, 0x123456); }
mad reply(ULONG local, ULONG remote) { return message(REP, local, remote).put<3>(36, 0xABCDEF); }
mad rejection(ULONG remote, USHORT reason) { return message(REJ, 0, remote).put<2>(34, reason); }

using seen = std::pair<USHORT, ULONG>; // attribute and communication ID

class ConnectionRoutes : public BothMachines {
protected:
    /// The attribute and the ID of the receiver.
    static seen next(mad_client& of) {
        const mad got = of.receive().data;
        return {static_cast<USHORT>(got.get<2>(16)), static_cast<ULONG>(got.get<4>(28))};
    }
    static seen next_sender(mad_client& of) {
        const mad got = of.receive().data;
        return {static_cast<USHORT>(got.get<2>(16)), static_cast<ULONG>(got.get<4>(24))};
    }
    IB_MAD_ADDRESS to_one() { return to_lid(one.lid()); }
    IB_MAD_ADDRESS to_two() { return to_lid(two.lid()); }

    attached hcas;
    open_hca one{hcas.fdo(0)};
    open_hca two{hcas.fdo(1)};
    mad_client peer{two, manager()};
};

TEST_P(ConnectionRoutes, ServiceOfTheSecondManager_FirstsRejectionIsNotSent) {
    mad_client first(one, manager()), second(one, manager());
    peer.send(to_one(), request(5));
    EXPECT_EQ(next_sender(first), seen(REQ, 5u));
    first.send(to_two(), rejection(5, unknown_service));
    EXPECT_EQ(next_sender(second), seen(REQ, 5u));
    second.send(to_two(), reply(9, 5));
    EXPECT_EQ(next(peer), seen(REP, 5u));
    peer.send(to_one(), message(RTU, 5, 9));
    EXPECT_EQ(next(second), seen(RTU, 9u));
}

TEST_P(ConnectionRoutes, ServiceOfNoManager_LastRejectionIsSent) {
    mad_client first(one, manager()), second(one, manager());
    for (const ULONG id : {5u, 6u}) {
        peer.send(to_one(), request(id));
        EXPECT_EQ(next_sender(first), seen(REQ, id));
        first.send(to_two(), rejection(id, unknown_service));
        EXPECT_EQ(next_sender(second), seen(REQ, id));
        second.send(to_two(), rejection(id, unknown_service));
        EXPECT_EQ(next(peer), seen(REJ, id));
    }
}

TEST_P(ConnectionRoutes, RejectionForAnotherReason_IsSent) {
    mad_client first(one, manager());
    const mad_client second(one, manager());
    peer.send(to_one(), request(5));
    EXPECT_EQ(next_sender(first), seen(REQ, 5u));
    first.send(to_two(), rejection(5, no_resources));
    EXPECT_EQ(next(peer), seen(REJ, 5u));
}

TEST_P(ConnectionRoutes, RequestsOfBothManagers_RepliesReachTheirSenders) {
    mad_client first(one, manager()), second(one, manager());
    first.send(to_two(), request(1));
    second.send(to_two(), request(2));
    EXPECT_EQ(next_sender(peer), seen(REQ, 1u));
    EXPECT_EQ(next_sender(peer), seen(REQ, 2u));
    peer.send(to_one(), reply(21, 2));
    peer.send(to_one(), reply(11, 1));
    EXPECT_EQ(next(first), seen(REP, 1u));
    EXPECT_EQ(next(second), seen(REP, 2u));
}

TEST_P(ConnectionRoutes, DatagramServiceOfTheSecondManager_IsResolvedThere) {
    mad_client first(one, manager()), second(one, manager());
    peer.send(to_one(), message(SIDR_REQ, 7, 0));
    EXPECT_EQ(next_sender(first), seen(SIDR_REQ, 7u));
    mad refused(connections_class, send, SIDR_REP);
    refused.at(2) = 2;
    refused.put<4>(24, 7).put<1>(28, 1);
    first.send(to_two(), refused);
    EXPECT_EQ(next_sender(second), seen(SIDR_REQ, 7u));
    mad resolved = refused;
    resolved.put<1>(28, 0);
    second.send(to_two(), resolved);
    const mad got = peer.receive().data;
    EXPECT_EQ(got.get<4>(24), 7u);
    EXPECT_EQ(got.get<1>(28), 0u);
}

TEST_P(ConnectionRoutes, ManagerRemovedWithOfferedRequest_NextManagerReceivesIt) {
    auto first = std::make_unique<mad_client>(one, manager());
    mad_client second(one, manager());
    peer.send(to_one(), request(5));
    EXPECT_EQ(next_sender(*first), seen(REQ, 5u));
    first.reset();
    EXPECT_EQ(next_sender(second), seen(REQ, 5u));
}

TEST_P(ConnectionRoutes, PassiveManagerRemoved_PeerReceivesDisconnectRequest) {
    auto gone = std::make_unique<mad_client>(one, manager());
    peer.send(to_one(), request(5));
    EXPECT_EQ(next_sender(*gone), seen(REQ, 5u));
    gone->send(to_two(), reply(9, 5));
    EXPECT_EQ(next(peer), seen(REP, 5u));
    gone.reset();
    const mad got = peer.receive().data;
    EXPECT_EQ(got.get<2>(16), DREQ);
    EXPECT_EQ(got.get<4>(24), 9u);
    EXPECT_EQ(got.get<4>(28), 5u);
    EXPECT_EQ(got.get<3>(32), 0x123456u);
}

TEST_P(ConnectionRoutes, ActiveManagerRemoved_PeerReceivesDisconnectRequest) {
    auto gone = std::make_unique<mad_client>(one, manager());
    gone->send(to_two(), request(1));
    EXPECT_EQ(next_sender(peer), seen(REQ, 1u));
    peer.send(to_one(), reply(11, 1));
    EXPECT_EQ(next(*gone), seen(REP, 1u));
    gone.reset();
    const mad got = peer.receive().data;
    EXPECT_EQ(got.get<2>(16), DREQ);
    EXPECT_EQ(got.get<4>(24), 1u);
    EXPECT_EQ(got.get<4>(28), 11u);
    EXPECT_EQ(got.get<3>(32), 0xABCDEFu);
}

TEST_P(ConnectionRoutes, DisconnectedBefore_RemovalSendsNothing) {
    auto gone = std::make_unique<mad_client>(one, manager());
    mad_client other(one, manager());
    gone->send(to_two(), request(1));
    EXPECT_EQ(next_sender(peer), seen(REQ, 1u));
    peer.send(to_one(), reply(11, 1));
    EXPECT_EQ(next(*gone), seen(REP, 1u));
    peer.send(to_one(), message(DREQ, 11, 1));
    EXPECT_EQ(next(*gone), seen(DREQ, 1u));
    gone->send(to_two(), message(DREP, 1, 11));
    EXPECT_EQ(next(peer), seen(DREP, 11u));
    gone.reset();
    other.send(to_two(), request(2));
    EXPECT_EQ(next_sender(peer), seen(REQ, 2u));
}

TEST_P(ConnectionRoutes, NoManager_RequestsAreRefused) {
    peer.send(to_one(), request(5));
    const mad rejected = peer.receive().data;
    EXPECT_EQ(rejected.get<2>(16), REJ);
    EXPECT_EQ(rejected.get<4>(28), 5u);
    EXPECT_EQ(rejected.get<2>(34), unknown_service);
    peer.send(to_one(), message(SIDR_REQ, 6, 0));
    const mad unresolved = peer.receive().data;
    EXPECT_EQ(unresolved.get<2>(16), SIDR_REP);
    EXPECT_EQ(unresolved.get<4>(24), 6u);
    EXPECT_EQ(unresolved.get<1>(28), 1u);
    peer.send(to_one(), message(DREQ, 7, 8));
    EXPECT_EQ(next(peer), seen(DREP, 7u));
}

IRPVERBS_ON_BOTH_MACHINES(ConnectionRoutes);

} // namespace
