// The end of a connection manager on a port of a software HCA that others share: the HCA ends its
// connections.
#include "connection_managers.hpp"

namespace {

using namespace irpverbs::testing;
using namespace irpverbs::testing::connection_managers;

using RemovedConnectionManager = ConnectionManagers;

TEST_P(RemovedConnectionManager, PassiveManagerRemoved_PeerReceivesDisconnectRequest) {
    auto gone = std::make_unique<mad_client>(one, manager());
    accept(*gone, 9, 5);
    gone.reset();
    expect_disconnect(9, 5, 0x123456);
}

TEST_P(RemovedConnectionManager, ActiveManagerRemoved_PeerReceivesDisconnectRequest) {
    auto gone = std::make_unique<mad_client>(one, manager());
    connect(*gone, 1, 11);
    gone.reset();
    expect_disconnect(1, 11, 0xABCDEF);
}

// Its number stands in the field of an EE context. Source: IBA A14.3.2.
TEST_P(RemovedConnectionManager, ConnectionToAnXrcTarget_RequestNamesTheTarget) {
    auto gone = std::make_unique<mad_client>(one, manager());
    gone->send(to_two(), request(1));
    expect_request(peer, 1);
    peer.send(to_one(), message(REP, 11, 1).put<3>(40, 0x424344));
    EXPECT_EQ(next(*gone), seen(REP, 1u));
    gone.reset();
    expect_disconnect(1, 11, 0x424344);
}

TEST_P(RemovedConnectionManager, ManagerRemoved_ConnectionsOfAnotherStay) {
    auto gone = std::make_unique<mad_client>(one, manager());
    mad_client other(one, manager());
    accept(*gone, 9, 5);
    connect(other, 1, 11);
    gone.reset();
    expect_disconnect(9, 5, 0x123456);
    expect_nothing_from(other);
    expect_nothing_for(other); // the accepted request is not offered again
}

TEST_P(RemovedConnectionManager, ReplyThatIsDelayed_ConnectionIsDisconnectedWithItsManager) {
    auto gone = std::make_unique<mad_client>(one, manager());
    connect(*gone, 1, 11);
    gone->send(to_two(), message(MRA, 1, 11));
    EXPECT_EQ(next(peer), seen(MRA, 11u));
    gone.reset();
    expect_disconnect(1, 11, 0xABCDEF);
}

TEST_P(RemovedConnectionManager, DisconnectedBefore_RemovalSendsNothing) {
    auto gone = std::make_unique<mad_client>(one, manager());
    mad_client other(one, manager());
    connect(*gone, 1, 11);
    peer.send(to_one(), message(DREQ, 11, 1));
    EXPECT_EQ(next(*gone), seen(DREQ, 1u));
    gone->send(to_two(), message(DREP, 1, 11));
    EXPECT_EQ(next(peer), seen(DREP, 11u));
    gone.reset();
    expect_nothing_from(other);
}

TEST_P(RemovedConnectionManager, DisconnectRequestReceived_RemovalSendsNothing) {
    auto gone = std::make_unique<mad_client>(one, manager());
    mad_client other(one, manager());
    connect(*gone, 1, 11);
    peer.send(to_one(), message(DREQ, 11, 1));
    EXPECT_EQ(next(*gone), seen(DREQ, 1u));
    gone.reset();
    expect_nothing_from(other);
}

TEST_P(RemovedConnectionManager, DisconnectConfirmedByThePeer_RemovalSendsNothing) {
    auto gone = std::make_unique<mad_client>(one, manager());
    mad_client other(one, manager());
    connect(*gone, 1, 11);
    gone->send(to_two(), message(DREQ, 1, 11));
    EXPECT_EQ(next(peer), seen(DREQ, 11u));
    peer.send(to_one(), message(DREP, 11, 1));
    EXPECT_EQ(next(*gone), seen(DREP, 1u));
    gone.reset();
    expect_nothing_from(other);
}

TEST_P(RemovedConnectionManager, ConnectionsThatOneEndRejects_RemovalSendsNothing) {
    auto gone = std::make_unique<mad_client>(one, manager());
    mad_client other(one, manager());
    connect(*gone, 1, 11);
    peer.send(to_one(), message(REJ, 11, 1).put<2>(34, timeout));
    EXPECT_EQ(next(*gone), seen(REJ, 1u));
    connect(*gone, 2, 12);
    gone->send(to_two(), message(REJ, 2, 12).put<2>(34, timeout));
    EXPECT_EQ(next(peer), seen(REJ, 12u));
    gone.reset();
    expect_nothing_from(other);
}

TEST_P(RemovedConnectionManager, RequestWithoutReply_RemovalSendsNothing) {
    auto gone = std::make_unique<mad_client>(one, manager());
    mad_client other(one, manager());
    gone->send(to_two(), request(1));
    expect_request(peer, 1);
    gone.reset();
    expect_nothing_from(other);
}

TEST_P(RemovedConnectionManager, ManagerRemovedAfterItDelayedARequest_PeerReceivesNothing) {
    auto gone = std::make_unique<mad_client>(one, manager());
    mad_client other(one, manager());
    peer.send(to_one(), request(5));
    expect_request(*gone, 5);
    gone->send(to_two(), message(MRA, 9, 5));
    EXPECT_EQ(next(peer), seen(MRA, 5u));
    gone.reset();
    expect_nothing_from(other);
    expect_nothing_for(other);
}

IRPVERBS_ON_BOTH_MACHINES(RemovedConnectionManager);

} // namespace
