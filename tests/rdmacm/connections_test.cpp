// Connections from the request to their end.
#include "cm_id.hpp"
#include "ids.hpp"

#include <fcntl.h>

namespace {

using namespace irpverbs::testing;
namespace rdmacm = irpverbs::rdmacm;

TEST(RdmaConnections, ConnectAcceptDisconnect_DataCrossAndBothEndsGetTheEvents) {
    connected_ids ends;
    expect_message(ends.active, ends.passive, "to the server");
    expect_message(ends.passive, ends.active, "to the client");
    EXPECT_EQ(rdma_disconnect(ends.active), 0);
    EXPECT_EQ(ends.client.next(), "RDMA_CM_EVENT_DISCONNECTED");
    EXPECT_EQ(ends.server.next(), "RDMA_CM_EVENT_DISCONNECTED");
    EXPECT_EQ(rdma_disconnect(ends.passive), 0) << "the peer has disconnected";
    EXPECT_EQ(ends.client.next(), "RDMA_CM_EVENT_TIMEWAIT_EXIT");
    EXPECT_EQ(ends.server.next(), "RDMA_CM_EVENT_TIMEWAIT_EXIT");
    EXPECT_FALSE(ends.server.is_readable()) << "the end is reported once";
}

TEST(RdmaConnections, Request_HasTheAddressesOfBothEnds) {
    two_ids ends;
    const id passive(ends.request());
    EXPECT_EQ(text_of(rdma_get_local_addr(passive)), first_host);
    EXPECT_EQ(text_of(rdma_get_peer_addr(passive)), second_host);
    EXPECT_EQ(rdma_get_src_port(passive), rdma_get_src_port(ends.listener));
    EXPECT_EQ(rdma_get_dst_port(passive), rdma_get_src_port(ends.active));
    EXPECT_NE(passive->verbs, ends.active->verbs);
    EXPECT_EQ(passive->port_num, 1);
    EXPECT_EQ(ends.active->route.num_paths, 1);
    EXPECT_EQ(ntohs(ends.active->route.path_rec->dlid), 1);
    EXPECT_EQ(std::memcmp(&ends.active->route.addr.addr.ibaddr.dgid,
                          &passive->route.addr.addr.ibaddr.sgid, sizeof(ibv_gid)),
              0);
}

TEST(RdmaConnections, AddressIsAGid_ConnectionIsMade) {
    channel server;
    channel client;
    const char* const gid = "fe80::200:0:0:101"; // of host1
    const id listener(server);
    EXPECT_EQ(listener.bind(address(gid)), 0);
    EXPECT_EQ(rdma_listen(listener, 0), 0);
    const id active(client);
    active.resolve(address(gid, ntohs(rdma_get_src_port(listener))));
    active.create_qp();
    EXPECT_EQ(rdma_connect(active, nullptr), 0);
    const taken_event requested(server);
    const id passive(requested->id);
    EXPECT_EQ(text_of(rdma_get_local_addr(passive)), gid);
}

// Connects to a service: its request arrives at the channel, with the address as its own.
void expect_request(const channel& at, const address& to) {
    channel client;
    const id active(client);
    active.resolve(to);
    active.create_qp();
    EXPECT_EQ(rdma_connect(active, nullptr), 0);
    const taken_event requested(at);
    const id passive(requested->id);
    address expected = to;
    EXPECT_EQ(text_of(rdma_get_local_addr(passive)), text_of(expected));
}

TEST(RdmaConnections, ServiceOnAllAddresses_AcceptsOnEachPort) {
    channel server;
    const id listener(server);
    EXPECT_EQ(listener.bind(address("0.0.0.0", 4711)), 0);
    EXPECT_EQ(rdma_listen(listener, 0), 0);
    for (const char* each : {first_host, second_host, "127.0.0.1"})
        expect_request(server, address(each, 4711));
}

// tgtd listens so.
TEST(RdmaConnections, ServicesOfTwoFamilies_GetTheirOwnRequests) {
    channel fours;
    channel sixes;
    int yes = 1;
    const id four(fours);
    EXPECT_EQ(four.bind(address("0.0.0.0", 4712)), 0);
    EXPECT_EQ(rdma_listen(four, 0), 0);
    const id six(sixes);
    EXPECT_EQ(rdma_set_option(six, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &yes, sizeof yes), 0);
    EXPECT_EQ(six.bind(address("::", 4712)), 0);
    EXPECT_EQ(rdma_listen(six, 0), 0);
    expect_request(fours, address(first_host, 4712));
    expect_request(sixes, address("fe80::200:0:0:101", 4712)); // the GID of host1
}

TEST(RdmaConnections, ServiceOfAnyAddress_IsOfItsFamily) {
    channel server;
    channel client;
    const id listener(server);
    EXPECT_EQ(listener.bind(address("0.0.0.0", 4713)), 0);
    EXPECT_EQ(rdma_listen(listener, 0), 0);
    const id active(client);
    active.resolve(address("fe80::200:0:0:101", 4713));
    active.create_qp();
    EXPECT_EQ(rdma_connect(active, nullptr), 0);
    EXPECT_EQ(client.next(), "RDMA_CM_EVENT_REJECTED");
}

TEST(RdmaConnections, Rejection_ArrivesWithItsDataAndReason) {
    two_ids ends;
    const id passive(ends.request());
    EXPECT_EQ(rdma_reject(passive, "no", 3), 0);
    const taken_event rejected(ends.client);
    EXPECT_EQ(rejected.name(), "RDMA_CM_EVENT_REJECTED");
    EXPECT_EQ(rejected->status, 28); // by the consumer
    EXPECT_EQ(rejected.data(), "no");
}

TEST(RdmaConnections, RejectionForOptions_HasItsOwnReason) {
    two_ids ends;
    const id passive(ends.request());
    EXPECT_EQ(rdma_reject_ece(passive, nullptr, 0), 0);
    EXPECT_EQ(taken_event(ends.client)->status, 35);
}

TEST(RdmaConnections, NoListener_RequestIsRejected) {
    two_ids ends;
    const address closed = ends.servers_address();
    ends.active.resolve(closed);
    ends.active.create_qp();
    ends.listener.destroy();
    EXPECT_EQ(rdma_connect(ends.active, nullptr), 0);
    const taken_event rejected(ends.client);
    EXPECT_EQ(rejected.name(), "RDMA_CM_EVENT_REJECTED");
    EXPECT_EQ(rejected->status, 8); // the service id
}

TEST(RdmaConnections, AddressWithoutPort_IsAnError) {
    channel client;
    const id active(client);
    address unused("198.18.99.99");
    EXPECT_EQ(rdma_resolve_addr(active, nullptr, unused, 1000), 0);
    const taken_event failed(client);
    EXPECT_EQ(failed.name(), "RDMA_CM_EVENT_ADDR_ERROR");
    EXPECT_EQ(failed->status, -EHOSTUNREACH);
    address elsewhere("10.0.0.1");
    EXPECT_EQ(rdma_resolve_addr(active, nullptr, elsewhere, 1000), -1);
    EXPECT_EQ(errno, ENETUNREACH);
}

TEST(RdmaConnections, DestroyedRequest_IsRejected) {
    two_ids ends;
    { const id passive(ends.request()); }
    EXPECT_EQ(taken_event(ends.client).name(), "RDMA_CM_EVENT_REJECTED");
}

TEST(RdmaConnections, DestroyedListener_RejectsRequestsThatNoProgramHasSeen) {
    two_ids ends;
    ends.active.resolve(ends.servers_address());
    ends.active.create_qp();
    EXPECT_EQ(rdma_connect(ends.active, nullptr), 0);
    pollfd watched{static_cast<rdma_event_channel*>(ends.server)->fd, POLLIN, 0};
    EXPECT_EQ(poll(&watched, 1, -1), 1);
    ends.listener.destroy();
    EXPECT_FALSE(ends.server.is_readable());
    EXPECT_EQ(taken_event(ends.client).name(), "RDMA_CM_EVENT_REJECTED");
}

TEST(RdmaConnections, DestroyedConnector_WithdrawsItsRequest) {
    two_ids ends;
    const id passive(ends.request());
    ends.active.destroy();
    EXPECT_EQ(ends.server.next(), "RDMA_CM_EVENT_REJECTED");
    EXPECT_EQ(rdma_disconnect(passive), 0);
}

TEST(RdmaConnections, DestroyedEnd_DisconnectsThePeer) {
    connected_ids ends;
    ends.passive.destroy();
    EXPECT_EQ(ends.client.next(), "RDMA_CM_EVENT_DISCONNECTED");
}

TEST(RdmaConnections, QueuePairIsDestroyedBeforeItsId) {
    connected_ids ends;
    EXPECT_EQ(ibv_destroy_qp(std::exchange(ends.active->qp, nullptr)), 0);
    EXPECT_EQ(rdma_disconnect(ends.active), 0);
    EXPECT_EQ(ends.client.next(), "RDMA_CM_EVENT_DISCONNECTED");
    EXPECT_EQ(ends.server.next(), "RDMA_CM_EVENT_DISCONNECTED");
}

TEST(RdmaConnections, SecondRequest_WaitsForTheFirst) {
    two_ids ends;
    const id first(ends.request("one"));
    const id other(ends.client);
    other.resolve(ends.servers_address());
    other.create_qp();
    rdma_conn_param param = with_data("two");
    EXPECT_EQ(rdma_connect(other, &param), 0);
    const taken_event requested(ends.server);
    EXPECT_EQ(requested.data(), "two");
    const id second(requested->id);
}

TEST(RdmaConnections, LongPrivateData_IsRefused) {
    two_ids ends;
    ends.active.resolve(ends.servers_address());
    rdma_conn_param param{};
    const std::array<char, 255> data{};
    param.private_data = data.data();
    param.private_data_len = 57;
    EXPECT_EQ(rdma_connect(ends.active, &param), -1);
    EXPECT_EQ(errno, EINVAL);
}

TEST(RdmaConnections, OwnQueuePair_ProgramChangesItsStates) {
    two_ids ends;
    ends.active.resolve(ends.servers_address());
    const auto made = [](rdma_cm_id* of, ibv_cq* cq) {
        ibv_qp_init_attr attr{};
        attr.send_cq = attr.recv_cq = cq;
        attr.qp_type = IBV_QPT_RC;
        attr.cap = {2, 2, 1, 1, 0};
        return ibv_create_qp(of->pd, &attr);
    };
    const auto change = [](rdma_cm_id* of, ibv_qp* qp, ibv_qp_state state) {
        ibv_qp_attr attr{};
        attr.qp_state = state;
        int mask = 0;
        EXPECT_EQ(rdma_init_qp_attr(of, &attr, &mask), 0);
        EXPECT_EQ(ibv_modify_qp(qp, &attr, mask), 0);
    };
    constexpr std::array steps{IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS};
    ibv_cq* const client_cq = ibv_create_cq(ends.active->verbs, 4, nullptr, nullptr, 0);
    ibv_qp* const client_qp = made(ends.active, client_cq);
    rdma_conn_param param{};
    param.qp_num = client_qp->qp_num;
    EXPECT_EQ(rdma_connect(ends.active, &param), 0);
    const taken_event requested(ends.server);
    EXPECT_EQ(requested->param.conn.qp_num, client_qp->qp_num);
    const id passive(requested->id);
    ibv_cq* const server_cq = ibv_create_cq(passive->verbs, 4, nullptr, nullptr, 0);
    ibv_qp* const server_qp = made(passive, server_cq);
    for (const ibv_qp_state each : steps)
        change(passive, server_qp, each);
    param.qp_num = server_qp->qp_num;
    EXPECT_EQ(rdma_accept(passive, &param), 0);
    {
        const taken_event response(ends.client);
        EXPECT_EQ(response.name(), "RDMA_CM_EVENT_CONNECT_RESPONSE");
        EXPECT_EQ(response->param.conn.qp_num, server_qp->qp_num);
    }
    for (const ibv_qp_state each : steps)
        change(ends.active, client_qp, each);
    EXPECT_EQ(rdma_establish(ends.active), 0);
    EXPECT_EQ(ends.server.next(), "RDMA_CM_EVENT_ESTABLISHED");
    ibv_qp_init_attr init{};
    for (ibv_qp* each : {client_qp, server_qp}) {
        ibv_qp_attr attr{};
        EXPECT_EQ(ibv_query_qp(each, &attr, IBV_QP_DEST_QPN | IBV_QP_MIN_RNR_TIMER, &init), 0);
        EXPECT_EQ(attr.dest_qp_num, (each == client_qp ? server_qp : client_qp)->qp_num);
        EXPECT_EQ(attr.min_rnr_timer, 0) << "655 ms";
    }
    for (ibv_qp* each : {client_qp, server_qp})
        EXPECT_EQ(ibv_destroy_qp(each), 0);
    for (ibv_cq* each : {client_cq, server_cq})
        EXPECT_EQ(ibv_destroy_cq(each), 0);
}

TEST(RdmaConnections, EventsThatWait_FollowTheIdToItsNewChannel) {
    connected_ids ends;
    EXPECT_EQ(rdma_disconnect(ends.active), 0);
    pollfd watched{static_cast<rdma_event_channel*>(ends.client)->fd, POLLIN, 0};
    EXPECT_EQ(poll(&watched, 1, -1), 1);
    channel other;
    EXPECT_EQ(rdma_migrate_id(ends.active, other), 0);
    EXPECT_EQ(other.next(), "RDMA_CM_EVENT_DISCONNECTED");
    ends.active.destroy();
}

TEST(RdmaConnections, ChannelThatDoesNotBlock_HasNoEvent) {
    channel empty;
    rdma_event_channel* const shown = empty;
    EXPECT_EQ(fcntl(shown->fd, F_SETFL, O_NONBLOCK), 0);
    rdma_cm_event* event = nullptr;
    EXPECT_EQ(rdma_get_cm_event(shown, &event), -1);
    EXPECT_EQ(errno, EAGAIN);
}

// ---- one operation at a time, each once

constexpr int repetitions = 20; // the first one is still in progress in some

TEST(RdmaConnections, AddressThatIsBeingResolved_IsNotResolvedTwice) {
    two_ids ends;
    address to = ends.servers_address();
    EXPECT_EQ(rdma_resolve_addr(ends.active, nullptr, to, 1000), 0);
    for (int i = 0; i < repetitions; ++i) {
        EXPECT_EQ(rdma_resolve_addr(ends.active, nullptr, to, 1000), -1);
        EXPECT_EQ(errno, EINVAL);
    }
    EXPECT_EQ(ends.client.next(), "RDMA_CM_EVENT_ADDR_RESOLVED");
    EXPECT_EQ(rdma_resolve_route(ends.active, 1000), 0);
    EXPECT_EQ(rdma_resolve_route(ends.active, 1000), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(ends.client.next(), "RDMA_CM_EVENT_ROUTE_RESOLVED");
    EXPECT_FALSE(ends.client.is_readable());
}

TEST(RdmaConnections, AddressThatWasNotFound_IsResolvedAgain) {
    channel client;
    const id active(client);
    EXPECT_EQ(rdma_resolve_addr(active, nullptr, address("198.18.99.99"), 1000), 0);
    EXPECT_EQ(client.next(), "RDMA_CM_EVENT_ADDR_ERROR");
    active.resolve(address(first_host, 7));
}

TEST(RdmaConnections, RequestInProgress_IsNotSentTwice) {
    two_ids ends;
    ends.active.resolve(ends.servers_address());
    ends.active.create_qp();
    EXPECT_EQ(rdma_connect(ends.active, nullptr), 0);
    for (int i = 0; i < repetitions; ++i) {
        EXPECT_EQ(rdma_connect(ends.active, nullptr), -1);
        EXPECT_EQ(errno, EINVAL);
    }
    const taken_event requested(ends.server);
    const id passive(requested->id);
    EXPECT_EQ(rdma_reject(passive, nullptr, 0), 0);
    EXPECT_EQ(ends.client.next(), "RDMA_CM_EVENT_REJECTED");
    EXPECT_EQ(rdma_connect(ends.active, nullptr), -1) << "an id connects once";
    EXPECT_EQ(errno, EINVAL);
}

TEST(RdmaConnections, RequestWithoutARoute_IsRefused) {
    two_ids ends;
    EXPECT_EQ(rdma_resolve_addr(ends.active, nullptr, ends.servers_address(), 1000), 0);
    EXPECT_EQ(ends.client.next(), "RDMA_CM_EVENT_ADDR_RESOLVED");
    ends.active.create_qp();
    EXPECT_EQ(rdma_connect(ends.active, nullptr), -1);
    EXPECT_EQ(errno, EINVAL);
}

TEST(RdmaConnections, SecondAccept_IsRefused) {
    two_ids ends;
    const id passive(ends.request());
    passive.create_qp();
    EXPECT_EQ(rdma_accept(passive, nullptr), 0);
    for (int i = 0; i < repetitions; ++i) {
        EXPECT_EQ(rdma_accept(passive, nullptr), -1);
        EXPECT_EQ(errno, EINVAL);
    }
    EXPECT_EQ(ends.client.next(), "RDMA_CM_EVENT_ESTABLISHED");
    EXPECT_EQ(ends.server.next(), "RDMA_CM_EVENT_ESTABLISHED");
}

TEST(RdmaConnections, RepeatedDisconnect_ReportsOneEnd) {
    connected_ids ends;
    for (int i = 0; i < repetitions; ++i) {
        EXPECT_EQ(rdma_disconnect(ends.active), 0);
        EXPECT_EQ(rdma_disconnect(ends.passive), 0);
    }
    EXPECT_EQ(ends.client.next(), "RDMA_CM_EVENT_DISCONNECTED");
    EXPECT_EQ(ends.server.next(), "RDMA_CM_EVENT_DISCONNECTED");
    EXPECT_EQ(ends.client.next(), "RDMA_CM_EVENT_TIMEWAIT_EXIT");
    EXPECT_EQ(ends.server.next(), "RDMA_CM_EVENT_TIMEWAIT_EXIT");
}

// The IRPs of the two events may complete on two processors at once.
TEST(RdmaConnections, TimeWaitEndsBeforeTheEndIsKnown_EndIsReportedFirst) {
    const connected_ids ends;
    rdmacm::cm_id& active = rdmacm::cm_id::of(ends.active);
    active.report_exit(std::make_unique<rdmacm::queued_event>());
    active.report_disconnected(std::make_unique<rdmacm::queued_event>());
    EXPECT_EQ(ends.client.next(), "RDMA_CM_EVENT_DISCONNECTED");
    EXPECT_EQ(ends.client.next(), "RDMA_CM_EVENT_TIMEWAIT_EXIT");
}

TEST(RdmaConnections, DisconnectBeforeTheReply_HasNoEvent) {
    two_ids ends;
    const id passive(ends.request());
    EXPECT_EQ(rdma_disconnect(ends.active), 0);
    EXPECT_EQ(ends.active->qp->state, IBV_QPS_ERR);
    EXPECT_EQ(rdma_reject(passive, nullptr, 0), 0);
    EXPECT_EQ(ends.client.next(), "RDMA_CM_EVENT_REJECTED");
}

TEST(RdmaConnections, ParametersBeyondTheDevice_AreRefused) {
    two_ids ends;
    ends.active.resolve(ends.servers_address());
    EXPECT_EQ(rdma_connect(ends.active, nullptr), -1) << "no queue pair is known";
    EXPECT_EQ(errno, EINVAL);
    ends.active.create_qp();
    ibv_device_attr limits{};
    EXPECT_EQ(ibv_query_device(ends.active->verbs, &limits), 0);
    rdma_conn_param param = with_data("much");
    param.responder_resources = static_cast<std::uint8_t>(limits.max_qp_rd_atom + 1);
    EXPECT_EQ(rdma_connect(ends.active, &param), -1);
    EXPECT_EQ(errno, EINVAL);
    param.responder_resources = RDMA_MAX_RESP_RES;
    EXPECT_EQ(rdma_connect(ends.active, &param), 0) << "it may be sent after all";
}

TEST(RdmaConnections, RejectedRequest_FlushesReceives) {
    two_ids ends;
    const id passive(ends.request());
    message waiting(ends.active);
    waiting.receive(ends.active);
    EXPECT_EQ(rdma_reject(passive, nullptr, 0), 0);
    EXPECT_EQ(ends.client.next(), "RDMA_CM_EVENT_REJECTED");
    ibv_wc wc{};
    EXPECT_EQ(rdma_get_recv_comp(ends.active, &wc), 1);
    EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
}

TEST(RdmaConnections, NoPlaceForAnEvent_IsRefused) {
    channel empty;
    EXPECT_EQ(rdma_get_cm_event(empty, nullptr), -1);
    EXPECT_EQ(errno, EINVAL);
}

TEST(RdmaConnections, NotificationOfAnEvent_OnlyOfAnEstablishedQueuePair) {
    two_ids ends;
    const id passive(ends.request());
    EXPECT_EQ(rdma_notify(passive, IBV_EVENT_COMM_EST), 0) << "no effect before the reply";
    EXPECT_EQ(rdma_notify(passive, IBV_EVENT_QP_FATAL), -1);
    EXPECT_EQ(errno, EINVAL);
}

} // namespace
