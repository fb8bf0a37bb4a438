// The passive end against a peer whose messages the test writes.
#include "raw_peer.hpp"

#include <support/both_machines.hpp>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

class CmPassive : public BothMachines {
protected:
    attached hcas;
    cm_end end{hcas, 0};
    cm_end other{hcas, 1};
    open_cm manager{end.ca};
    open_listener listener{manager};
    raw_peer peer{other, end};

    open_connection next_request() {
        pending_request request(listener);
        return request.connection();
    }
    /// An established connection with the peer.
    open_connection established(const cm::req_message& req, cm::rep_message& rep) {
        peer.send(req);
        open_connection link = next_request();
        pending_accept accept(link, end.make_qp());
        rep = peer.receive<cm::rep_message>();
        peer.send(raw_peer::ready_for(rep));
        EXPECT_STREQ(name_of(accept.status()), "STATUS_SUCCESS");
        return link;
    }
    std::uint16_t reason_for(const cm::req_message& req) {
        peer.send(req);
        const auto rej = peer.receive<cm::rej_message>();
        EXPECT_EQ(rej.remote_id, req.local_id);
        EXPECT_EQ(rej.rejected, cm::message_kind::req);
        return rej.reason;
    }
};

TEST_P(CmPassive, DuplicateRequest_IsNoSecondRequest) {
    peer.send(peer.request());
    peer.send(peer.request());
    const open_connection link = next_request();
    pending_request second(listener);
    EXPECT_FALSE(second.call.completes_within(20));
    EXPECT_EQ(manager.counters().duplicates, 1u);
    second.call.cancel();
    EXPECT_EQ(second.call.status(), STATUS_CANCELLED);
}

TEST_P(CmPassive, SlowClient_PeerIsAskedForTimeAndAgainForDuplicates) {
    peer.send(peer.request());
    const open_connection link = next_request();
    const auto mra = peer.receive<cm::mra_message>();
    EXPECT_EQ(mra.remote_id, 0x77u);
    EXPECT_EQ(mra.acknowledged, cm::message_kind::req);
    EXPECT_EQ(mra.service_timeout, 24);
    peer.send(peer.request());
    EXPECT_EQ(peer.receive<cm::mra_message>(), mra);
}

TEST_P(CmPassive, XrcInitiator_GetsATarget) {
    cm::req_message req = peer.request();
    req.transport = cm::transport_service::extended;
    req.extended_transport = 1;
    peer.send(req);
    pending_request request(listener);
    const open_connection link = request.connection();
    EXPECT_EQ(request.request.qp_type, ib_qp_type_t{IB_QPT_XRC_TGT});
    ib_cm_accept_t wanted;
    CmInitializeAccept(&wanted);
    wanted.qpn = 0x1234;
    wanted.qp_type = IB_QPT_RELIABLE_CONN;
    EXPECT_EQ(verb_call([&](IRP* irp) { return CmAccept(link, &wanted, irp); }).status(),
              STATUS_INVALID_PARAMETER);
    wanted.qp_type = IB_QPT_XRC_TGT;
    verb_call accept([&](IRP* irp) { return CmAccept(link, &wanted, irp); });
    const auto rep = peer.receive<cm::rep_message>();
    EXPECT_EQ(rep.eecn, 0x1234u);
    EXPECT_EQ(rep.qpn, 0u);
    EXPECT_TRUE(rep.srq);
    peer.send(raw_peer::ready_for(rep));
    EXPECT_EQ(accept.status(), STATUS_SUCCESS);
    ib_qp_mod_t change{};
    EXPECT_EQ(CmQueryQpChange(link, IB_QPS_RTS, &change), STATUS_SUCCESS);
    EXPECT_EQ(change.opts & IB_MOD_QP_RETRY_CNT, 0u) << "a target requests nothing";
}

TEST_P(CmPassive, LostRtu_NotifyEstablishedCompletesTheAccept) {
    peer.send(peer.request());
    const open_connection link = next_request();
    IB_QP* const qp = end.make_qp();
    pending_accept accept(link, qp);
    peer.receive<cm::rep_message>();
    CmNotifyEstablished(link);
    EXPECT_EQ(accept.status(), STATUS_SUCCESS);
    EXPECT_EQ(cm_end::state(qp), ib_qp_state_t{IB_QPS_RTS});
}

TEST_P(CmPassive, NoRtu_ReplyIsResentThenRejected) {
    peer.send(peer.request());
    const open_connection link = next_request();
    IB_QP* const qp = end.make_qp();
    pending_accept accept(link, qp);
    const auto rep = peer.receive<cm::rep_message>();
    for (int retry = 0; retry < 2; ++retry)
        EXPECT_EQ(peer.receive<cm::rep_message>(), rep);
    const auto rej = peer.receive<cm::rej_message>();
    EXPECT_EQ(rej.reason, IB_CM_REJ_TIMEOUT);
    EXPECT_EQ(rej.info_length, 8);
    EXPECT_EQ(accept.status(), STATUS_IO_TIMEOUT);
    EXPECT_EQ(cm_end::state(qp), ib_qp_state_t{IB_QPS_ERROR});
}

TEST_P(CmPassive, MraOfThePeer_ExtendsTheWait) {
    peer.send(peer.request());
    const open_connection link = next_request();
    pending_accept accept(link, end.make_qp());
    const auto rep = peer.receive<cm::rep_message>();
    cm::mra_message mra;
    mra.local_id = rep.remote_id;
    mra.remote_id = rep.local_id;
    mra.acknowledged = cm::message_kind::rep;
    mra.service_timeout = 18; // 1 s
    peer.send(mra);
    EXPECT_FALSE(accept.call.completes_within(500)); // without MRA: 225 ms
    EXPECT_EQ(manager.counters().resent, 0u);
    peer.send(raw_peer::ready_for(rep));
    EXPECT_EQ(accept.status(), STATUS_SUCCESS);
}

TEST_P(CmPassive, RequestOfAConnectedQueuePair_IsStaleAndEndsTheConnection) {
    cm::rep_message rep;
    const open_connection link = established(peer.request(), rep);
    EXPECT_EQ(reason_for(peer.request(0x78)), IB_CM_REJ_STALE_CONN);
    const auto dreq = peer.receive<cm::dreq_message>();
    EXPECT_EQ(dreq.local_id, rep.local_id);
    EXPECT_EQ(dreq.remote_qpn, 0x4321u);
    EXPECT_EQ(link.next_event().type, ULONG{IB_CM_EVENT_DISCONNECTED});
}

TEST_P(CmPassive, DreqInPlaceOfRtu_EndsTheAcceptAndIsConfirmed) {
    peer.send(peer.request());
    const open_connection link = next_request();
    IB_QP* const qp = end.make_qp();
    pending_accept accept(link, qp);
    const auto rep = peer.receive<cm::rep_message>();
    cm::dreq_message dreq;
    dreq.local_id = rep.remote_id;
    dreq.remote_id = rep.local_id;
    peer.send(dreq);
    EXPECT_EQ(peer.receive<cm::drep_message>().remote_id, dreq.local_id);
    EXPECT_STREQ(name_of(accept.status()), "STATUS_REQUEST_ABORTED");
    EXPECT_EQ(cm_end::state(qp), ib_qp_state_t{IB_QPS_ERROR});
}

TEST_P(CmPassive, RepeatedDreq_IsConfirmedAgain) {
    cm::rep_message rep;
    const open_connection link = established(peer.request(), rep);
    cm::dreq_message dreq;
    dreq.local_id = rep.remote_id;
    dreq.remote_id = rep.local_id;
    for (int time = 0; time < 2; ++time) {
        peer.send(dreq);
        const auto drep = peer.receive<cm::drep_message>();
        EXPECT_EQ(drep.remote_id, dreq.local_id);
        EXPECT_EQ(drep.local_id, dreq.remote_id);
    }
    EXPECT_EQ(link.next_event().type, ULONG{IB_CM_EVENT_DISCONNECTED});
}

TEST_P(CmPassive, RequestForAPathDuringDisconnect_IsNoConfirmation) {
    cm::rep_message rep;
    const open_connection link = established(peer.request(), rep);
    verb_call disconnect([&](IRP* irp) { return CmDisconnect(link, nullptr, 0, irp); });
    peer.receive<cm::dreq_message>();
    cm::lap_message lap;
    lap.local_id = rep.remote_id;
    lap.remote_id = rep.local_id;
    peer.send(lap);
    EXPECT_EQ(peer.receive<cm::apr_message>().status, IB_CM_AP_INVALID_COMM_ID);
    EXPECT_FALSE(disconnect.done());
    cm::drep_message drep;
    drep.local_id = rep.remote_id;
    drep.remote_id = rep.local_id;
    peer.send(drep);
    EXPECT_EQ(disconnect.status(), STATUS_SUCCESS);
    EXPECT_EQ(disconnect.information(), 1u);
}

TEST_P(CmPassive, MessagesForNoConnection_EndThePeersConnection) {
    cm::dreq_message dreq;
    dreq.local_id = 5;
    dreq.remote_id = 6;
    peer.send(dreq);
    EXPECT_EQ(peer.receive<cm::drep_message>().remote_id, 5u);
    cm::rep_message rep;
    rep.local_id = 7;
    rep.remote_id = 8;
    peer.send(rep);
    const auto rej = peer.receive<cm::rej_message>();
    EXPECT_EQ(rej.reason, IB_CM_REJ_INVALID_COMM_ID);
    EXPECT_EQ(rej.rejected, cm::message_kind::rep);
    EXPECT_EQ(rej.remote_id, 7u);
    EXPECT_EQ(manager.counters().unexpected, 2u);
}

// The peer repeats its request until its last retry, also when several rejections are lost.
TEST_P(CmPassive, RequestRepeatedLongAfterRejection_IsNoSecondRequest) {
    cm::req_message req = peer.request();
    req.remote_response_timeout = req.local_response_timeout = 17; // 537 ms
    req.max_cm_retries = 15; // 9 s: a busy machine may stall for some of them
    peer.send(req);
    const open_connection link = next_request();
    EXPECT_EQ(link.reject(), STATUS_SUCCESS);
    const auto rej = peer.receive<cm::rej_message>();
    pending_request second(listener);
    for (int retry = 0; retry < 2; ++retry) {
        let_pass_ms(600); // longer than the wait for one response
        peer.send(req);
        EXPECT_EQ(peer.receive<cm::rej_message>(), rej);
    }
    EXPECT_FALSE(second.call.completes_within(20));
    second.call.cancel();
    EXPECT_EQ(second.call.status(), STATUS_CANCELLED);
}

TEST_P(CmPassive, RepeatedRequestAfterRejection_GetsTheSameRejection) {
    peer.send(peer.request());
    const open_connection link = next_request();
    EXPECT_EQ(link.reject(0, "no"), STATUS_SUCCESS);
    const auto rej = peer.receive<cm::rej_message>();
    peer.send(peer.request());
    EXPECT_EQ(peer.receive<cm::rej_message>(), rej);
}

struct impossible_value {
    const char* name;
    void (*change)(cm::req_message& of);
    std::uint16_t reason;
    std::uint8_t info_length = 0;
};

// Source: IBA 12.6.7.2.
constexpr impossible_value impossible_values[] = {
    {"no id", [](auto& of) { of.local_id = 0; }, IB_CM_REJ_INVALID_COMM_ID},
    {"another service", [](auto& of) { of.service_id = 1; }, IB_CM_REJ_INVALID_SERVICE_ID},
    {"no CA", [](auto& of) { of.ca_guid = 0; }, IB_CM_REJ_UNSUPPORTED},
    {"QP0", [](auto& of) { of.qpn = 0; }, IB_CM_REJ_UNSUPPORTED},
    {"QP1", [](auto& of) { of.qpn = 1; }, IB_CM_REJ_UNSUPPORTED},
    {"the multicast QP", [](auto& of) { of.qpn = 0xFFFFFF; }, IB_CM_REJ_UNSUPPORTED},
    {"unknown P_Key", [](auto& of) { of.p_key = 0x1234; }, IB_CM_REJ_UNSUPPORTED},
    {"no LID", [](auto& of) { of.primary.local_lid = 0; }, IB_CM_REJ_UNSUPPORTED},
    {"multicast LID", [](auto& of) { of.primary.local_lid = 0xC000; }, IB_CM_REJ_UNSUPPORTED},
    {"RD", [](auto& of) { of.transport = cm::transport_service::rd; },
     IB_CM_REJ_INVALID_TRANSPORT_TYPE},
    {"extended transport 0", [](auto& of) { of.transport = cm::transport_service::extended; },
     IB_CM_REJ_INVALID_TRANSPORT_TYPE},
    {"extended transport 2",
     [](auto& of) {
         of.transport = cm::transport_service::extended;
         of.extended_transport = 2;
     },
     IB_CM_REJ_INVALID_TRANSPORT_TYPE},
    {"MTU 0", [](auto& of) { of.mtu = 0; }, IB_CM_REJ_INVALID_MTU, 1},
    {"MTU 6", [](auto& of) { of.mtu = 6; }, IB_CM_REJ_INVALID_MTU, 1},
    {"MTU 15", [](auto& of) { of.mtu = 15; }, IB_CM_REJ_INVALID_MTU, 1},
    {"another port's LID", [](auto& of) { of.primary.remote_lid = 0x999; }, IB_CM_REJ_INVALID_LID,
     2},
    {"another port's GID",
     [](auto& of) {
         of.primary.remote_gid = {1, 2};
     },
     IB_CM_REJ_INVALID_GID, 16},
    {"rate 1", [](auto& of) { of.primary.packet_rate = 1; }, IB_CM_REJ_INVALID_PACKET_RATE, 1},
    {"rate 63", [](auto& of) { of.primary.packet_rate = 63; }, IB_CM_REJ_INVALID_PACKET_RATE, 1},
    {"alternate path to no port", [](auto& of) { of.alternate.local_lid = 7; },
     IB_CM_REJ_INVALID_ALT_LID, 2},
    {"alternate path to a group",
     [](auto& of) {
         of.alternate.local_lid = 7;
         of.alternate.remote_lid = 0xC000;
     },
     IB_CM_REJ_INVALID_ALT_LID, 2},
    {"alternate rate 1",
     [](auto& of) {
         of.alternate = of.primary;
         of.alternate.packet_rate = 1;
     },
     IB_CM_REJ_INVALID_ALT_PACKET_RATE, 1},
};

TEST_P(CmPassive, ImpossibleValues_AreRejectedWithTheirReason) {
    for (const impossible_value& each : impossible_values) {
        SCOPED_TRACE(each.name);
        cm::req_message req = peer.request();
        each.change(req);
        peer.send(req);
        const auto rej = peer.receive<cm::rej_message>();
        EXPECT_EQ(rej.remote_id, req.local_id);
        EXPECT_EQ(rej.rejected, cm::message_kind::req);
        EXPECT_EQ(rej.reason, each.reason);
        EXPECT_EQ(rej.info_length, each.info_length);
    }
    EXPECT_EQ(manager.counters().rejected, std::size(impossible_values));
    EXPECT_EQ(manager.counters().connections, 0u);
}

TEST_P(CmPassive, FullBacklog_FurtherRequestsAreRejected) {
    const ib_cm_listen_t small{service + 1, 2, 0, 0, nullptr, 0};
    const open_listener crowded(manager, small);
    for (std::uint32_t id = 1; id <= 3; ++id) {
        cm::req_message req = peer.request(id, 0x100 + id);
        req.service_id = service + 1;
        req.remote_response_timeout = 25; // no MRA in between
        peer.send(req);
    }
    EXPECT_EQ(peer.receive<cm::rej_message>().reason, IB_CM_REJ_NO_RESOURCES);
    EXPECT_EQ(manager.counters().connections, 2u);
}

TEST_P(CmPassive, ClosedListener_RejectsWhatWaits) {
    cm::req_message req = peer.request();
    req.remote_response_timeout = 25;
    peer.send(req);
    while (manager.counters().connections == 0)
        let_pass_ms(1);
    listener.close();
    EXPECT_EQ(peer.receive<cm::rej_message>().reason, IB_CM_REJ_INVALID_SERVICE_ID);
}

TEST_P(CmPassive, TimeoutRejectionWithoutId_EndsTheRequest) {
    peer.send(peer.request());
    const open_connection link = next_request();
    cm::rej_message rej;
    rej.local_id = 0x77;
    rej.reason = IB_CM_REJ_TIMEOUT;
    rej.info_length = 8;
    for (unsigned i = 0; i < 8; ++i)
        rej.info[i] = static_cast<std::uint8_t>(other.guid >> (56 - 8 * i));
    peer.send(rej);
    EXPECT_EQ(link.next_event().type, ULONG{IB_CM_EVENT_DISCONNECTED});
}

IRPVERBS_ON_BOTH_MACHINES(CmPassive);

} // namespace
