// Several connection managers on one port of a software HCA: the manager that a message reaches.
#include "connection_managers.hpp"

namespace {

using namespace irpverbs::testing;
using namespace irpverbs::testing::connection_managers;

using ConnectionRoutes = ConnectionManagers;

TEST_P(ConnectionRoutes, ServiceOfTheSecondManager_FirstsRejectionIsNotSent) {
    mad_client first(one, manager()), second(one, manager());
    peer.send(to_one(), request(5));
    expect_request(first, 5);
    first.send(to_two(), rejection(5, unknown_service));
    expect_request(second, 5);
    second.send(to_two(), reply(9, 5));
    EXPECT_EQ(next(peer), seen(REP, 5u));
    peer.send(to_one(), message(RTU, 5, 9));
    EXPECT_EQ(next(second), seen(RTU, 9u));
}

TEST_P(ConnectionRoutes, ServiceOfNoManager_LastRejectionIsSent) {
    mad_client first(one, manager()), second(one, manager());
    for (const ULONG id : {5u, 6u}) {
        peer.send(to_one(), request(id));
        expect_request(first, id);
        first.send(to_two(), rejection(id, unknown_service));
        expect_request(second, id);
        second.send(to_two(), rejection(id, unknown_service));
        EXPECT_EQ(next(peer), seen(REJ, id));
    }
}

TEST_P(ConnectionRoutes, RejectionForAnotherReason_IsSent) {
    mad_client first(one, manager());
    const mad_client second(one, manager());
    peer.send(to_one(), request(5));
    expect_request(first, 5);
    first.send(to_two(), rejection(5, no_resources));
    EXPECT_EQ(next(peer), seen(REJ, 5u));
}

TEST_P(ConnectionRoutes, RequestsOfBothManagers_RepliesReachTheirSenders) {
    mad_client first(one, manager()), second(one, manager());
    first.send(to_two(), request(1));
    second.send(to_two(), request(2));
    expect_request(peer, 1);
    expect_request(peer, 2);
    peer.send(to_one(), reply(21, 2));
    peer.send(to_one(), reply(11, 1));
    EXPECT_EQ(next(first), seen(REP, 1u));
    EXPECT_EQ(next(second), seen(REP, 2u));
}

TEST_P(ConnectionRoutes, DatagramServiceOfTheSecondManager_IsResolvedThere) {
    mad_client first(one, manager()), second(one, manager());
    peer.send(to_one(), message(SIDR_REQ, 7, 0));
    EXPECT_EQ(next_sender(first), seen(SIDR_REQ, 7u));
    first.send(to_two(), resolution(7, sidr_not_supported));
    EXPECT_EQ(next_sender(second), seen(SIDR_REQ, 7u));
    second.send(to_two(), resolution(7, 0));
    const mad got = peer.receive().data;
    EXPECT_EQ(got.get<4>(24), 7u);
    EXPECT_EQ(got.get<1>(28), 0u);
}

TEST_P(ConnectionRoutes, ManagerRemovedWithOfferedRequest_NextManagerReceivesIt) {
    auto first = std::make_unique<mad_client>(one, manager());
    mad_client second(one, manager());
    peer.send(to_one(), request(5));
    expect_request(*first, 5);
    first.reset();
    expect_request(second, 5);
}

TEST_P(ConnectionRoutes, ManagerRemoved_RequestsOfAnotherManagerStayThere) {
    auto first = std::make_unique<mad_client>(one, manager());
    mad_client second(one, manager()), third(one, manager());
    peer.send(to_one(), request(5));
    expect_request(*first, 5);
    first->send(to_two(), rejection(5, unknown_service));
    expect_request(second, 5);
    first.reset();
    expect_nothing_for(second);
    connect(third, 1, 11); // nothing came before the reply
}

// A peer that is not there replies to nothing, so that the IDs of such requests would add up.
TEST_P(ConnectionRoutes, RequestsWithoutReply_OldestIsForgottenAndNoConnection) {
    constexpr ULONG most = 16'384;
    mad_client first(one, manager()), second(one, manager());
    connect(second, 1, 11);
    second.send(to_two(), request(2));
    expect_request(peer, 2);
    second.send(to_two(), request(3));
    expect_request(peer, 3);
    for (ULONG id = 4; id <= most + 2; ++id)
        second.send(to_lid(unused_lid), request(id));
    peer.send(to_one(), reply(12, 2));
    EXPECT_EQ(next(first), seen(REP, 2u)) << "forgotten: it reaches the first manager";
    peer.send(to_one(), reply(13, 3));
    EXPECT_EQ(next(second), seen(REP, 3u));
    peer.send(to_one(), message(DREQ, 11, 1));
    EXPECT_EQ(next(second), seen(DREQ, 1u)) << "a connection is not forgotten";
}

// Its DREP may never arrive.
TEST_P(ConnectionRoutes, DisconnectingConnection_IsForgottenAsOthersWithoutReply) {
    constexpr ULONG most = 16'384;
    mad_client first(one, manager()), second(one, manager());
    connect(second, 1, 11);
    for (int i = 0; i < 2; ++i) { // repeated
        second.send(to_two(), message(DREQ, 1, 11));
        EXPECT_EQ(next(peer), seen(DREQ, 11u));
    }
    for (ULONG id = 4; id <= most + 1; ++id)
        second.send(to_lid(unused_lid), request(id));
    peer.send(to_one(), message(MRA, 11, 1));
    EXPECT_EQ(next(second), seen(MRA, 1u));
    second.send(to_lid(unused_lid), request(most + 2));
    peer.send(to_one(), message(DREP, 11, 1));
    EXPECT_EQ(next(first), seen(DREP, 1u)) << "forgotten: it reaches the first manager";
}

TEST_P(ConnectionRoutes, LateRejectionOfTheFirstManager_IsNotSent) {
    mad_client first(one, manager()), second(one, manager());
    peer.send(to_one(), request(5));
    peer.send(to_one(), request(5));
    expect_request(first, 5);
    expect_request(first, 5);
    first.send(to_two(), rejection(5, unknown_service));
    first.send(to_two(), rejection(5, unknown_service));
    expect_request(second, 5);
    second.send(to_two(), reply(9, 5));
    EXPECT_EQ(next(peer), seen(REP, 5u));
}

TEST_P(ConnectionRoutes, RepeatedRequest_ReachesTheManagerThatWasAskedLast) {
    mad_client first(one, manager()), second(one, manager());
    peer.send(to_one(), request(5));
    expect_request(first, 5);
    first.send(to_two(), rejection(5, unknown_service));
    expect_request(second, 5);
    peer.send(to_one(), request(5));
    expect_request(second, 5);
}

TEST_P(ConnectionRoutes, RepeatedRequest_IsOneOffer) {
    auto first = std::make_unique<mad_client>(one, manager());
    mad_client second(one, manager());
    for (int i = 0; i < 2; ++i) {
        peer.send(to_one(), request(5));
        expect_request(*first, 5);
    }
    first.reset();
    expect_request(second, 5);
    expect_nothing_for(second);
}

TEST_P(ConnectionRoutes, RequestsOfTwoPeers_WithOneId_AreTwoOffers) {
    open_hca three{hcas.fdo(2)};
    mad_client other(three, manager());
    mad_client first(one, manager()), second(one, manager());
    for (mad_client* const each : {&peer, &other}) {
        each->send(to_one(), request(5));
        expect_request(first, 5);
    }
    first.send(to_lid(three.lid()), rejection(5, unknown_service));
    EXPECT_EQ(second.receive().from.Lid, three.lid());
    second.send(to_lid(three.lid()), rejection(5, unknown_service));
    EXPECT_EQ(next(other), seen(REJ, 5u));
}

TEST_P(ConnectionRoutes, RequestsOfBothKinds_WithOneId_AreTwoOffers) {
    mad_client first(one, manager()), second(one, manager());
    peer.send(to_one(), request(5));
    expect_request(first, 5);
    peer.send(to_one(), message(SIDR_REQ, 5, 0));
    EXPECT_EQ(next_sender(first), seen(SIDR_REQ, 5u));
    first.send(to_two(), resolution(5, sidr_not_supported));
    EXPECT_EQ(next_sender(second), seen(SIDR_REQ, 5u));
}

TEST_P(ConnectionRoutes, MoreRequestsThanAreRemembered_OldestIsForgotten) {
    constexpr ULONG remembered = 256;
    auto first = std::make_unique<mad_client>(one, manager());
    mad_client second(one, manager());
    for (ULONG id = 1; id <= remembered + 1; ++id) {
        peer.send(to_one(), request(id));
        expect_request(*first, id);
    }
    first.reset();
    expect_request(second, 2);
}

TEST_P(ConnectionRoutes, RequestThatItsSenderRejects_IsNotOfferedAgain) {
    auto first = std::make_unique<mad_client>(one, manager());
    mad_client second(one, manager());
    peer.send(to_one(), request(5));
    expect_request(*first, 5);
    peer.send(to_one(), message(REJ, 5, 0).put<2>(34, timeout));
    EXPECT_EQ(next_sender(*first), seen(REJ, 5u));
    first.reset();
    expect_nothing_for(second);
}

TEST_P(ConnectionRoutes, RejectionByTheIdOfTheRequest_ReachesTheManagerThatWasAsked) {
    mad_client first(one, manager()), second(one, manager());
    peer.send(to_one(), request(5));
    expect_request(first, 5);
    first.send(to_two(), rejection(5, unknown_service));
    expect_request(second, 5);
    peer.send(to_one(), message(REJ, 5, 0).put<2>(34, timeout));
    EXPECT_EQ(next_sender(second), seen(REJ, 5u));
}

TEST_P(ConnectionRoutes, DelayedRequest_IsItsManagers) {
    mad_client first(one, manager());
    auto second = std::make_unique<mad_client>(one, manager());
    mad_client third(one, manager());
    peer.send(to_one(), request(5));
    expect_request(first, 5);
    first.send(to_two(), rejection(5, unknown_service));
    expect_request(*second, 5);
    second->send(to_two(), message(MRA, 9, 5));
    EXPECT_EQ(next(peer), seen(MRA, 5u));
    peer.send(to_one(), message(REJ, 5, 9).put<2>(34, timeout));
    EXPECT_EQ(next(*second), seen(REJ, 9u));
    second.reset();
    expect_nothing_from(third); // a request that is delayed is no connection, and has been taken
}

TEST_P(ConnectionRoutes, ResolutionOfTheSecondManager_IsReceivedThere) {
    const mad_client first(one, manager());
    mad_client second(one, manager());
    second.send(to_two(), message(SIDR_REQ, 7, 0));
    EXPECT_EQ(next_sender(peer), seen(SIDR_REQ, 7u));
    peer.send(to_one(), resolution(7, 0));
    EXPECT_EQ(next_sender(second), seen(SIDR_REP, 7u));
}

TEST_P(ConnectionRoutes, IdOfTwoManagers_IsOfTheOneThatHasSentItLast) {
    mad_client first(one, manager()), second(one, manager());
    for (mad_client* const each : {&first, &second}) {
        each->send(to_two(), request(1));
        expect_request(peer, 1);
    }
    peer.send(to_one(), reply(11, 1));
    EXPECT_EQ(next(second), seen(REP, 1u));
}

TEST_P(ConnectionRoutes, IdOfAManagerOfAnotherPort_DoesNotLeadThere) {
    mad_client elsewhere(one, manager(2));
    mad_client first(one, manager());
    elsewhere.send(to_two(), request(1));
    expect_request(peer, 1);
    peer.send(to_one(), reply(11, 1));
    EXPECT_EQ(next(first), seen(REP, 1u));
    peer.send(to_lid(one.lid(2)), request(5));
    expect_request(elsewhere, 5);
}

TEST_P(ConnectionRoutes, MessagesWithTheIdOfAnotherManager_ItsConnectionStays) {
    mad_client first(one, manager()), second(one, manager());
    connect(second, 1, 11);
    for (const USHORT attribute : {REJ, DREP}) {
        first.send(to_two(), message(attribute, 1, 0));
        EXPECT_EQ(next_sender(peer), seen(attribute, 1u));
        peer.send(to_one(), message(RTU, 11, 1));
        EXPECT_EQ(next(second), seen(RTU, 1u));
    }
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
    EXPECT_EQ(unresolved.get<1>(28), sidr_not_supported);
    peer.send(to_one(), message(DREQ, 7, 8));
    EXPECT_EQ(next(peer), seen(DREP, 7u));
}

IRPVERBS_ON_BOTH_MACHINES(ConnectionRoutes);

} // namespace
