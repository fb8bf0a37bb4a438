// The active end against a peer whose messages the test writes.
#include "raw_peer.hpp"

#include <support/both_machines.hpp>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

class CmActive : public BothMachines {
protected:
    attached hcas;
    cm_end end{hcas, 0};
    cm_end other{hcas, 1};
    open_cm manager{end.ca};
    raw_peer peer{other, end};
    connect_to wanted{end.make_qp(), end.path_to(other)};
};

TEST_P(CmActive, Request_HasTheValuesOfTheCall) {
    wanted.resp_res = 4;
    wanted.retry_cnt = 5;
    wanted.rnr_retry_cnt = 6;
    wanted.max_cm_retries = 2;
    wanted.remote_resp_timeout = 15;
    pending_connect connect(manager, wanted);
    const auto req = peer.receive<cm::req_message>();
    EXPECT_EQ(req.service_id, service);
    EXPECT_EQ(req.ca_guid, end.guid);
    EXPECT_EQ(req.qpn, wanted.h_qp->Num);
    EXPECT_EQ(req.responder_resources, 4);
    EXPECT_EQ(req.retry_count, 5);
    EXPECT_EQ(req.rnr_retry_count, 6);
    EXPECT_EQ(req.max_cm_retries, 2);
    EXPECT_EQ(req.remote_response_timeout, 15);
    EXPECT_EQ(req.primary.local_lid, end.lid());
    EXPECT_EQ(req.primary.remote_lid, other.lid());
    EXPECT_EQ(req.primary.local_gid, end.gid());
    EXPECT_TRUE(req.primary.subnet_local);
    EXPECT_EQ(req.primary.local_ack_timeout, 11); // a path of 4 ms each way
    EXPECT_FALSE(req.has_alternate());
    connect.call.cancel();
    EXPECT_EQ(peer.receive<cm::rej_message>().reason, IB_CM_REJ_TIMEOUT);
}

TEST_P(CmActive, NoReply_RequestIsResentThenRejected) {
    wanted.max_cm_retries = 2;
    pending_connect connect(manager, wanted);
    const auto req = peer.receive<cm::req_message>();
    for (int retry = 0; retry < 2; ++retry)
        EXPECT_EQ(peer.receive<cm::req_message>(), req);
    EXPECT_EQ(peer.receive<cm::rej_message>().reason, IB_CM_REJ_TIMEOUT);
    EXPECT_STREQ(name_of(connect.status()), "STATUS_IO_TIMEOUT");
    EXPECT_EQ(cm_end::state(wanted.h_qp), ib_qp_state_t{IB_QPS_RESET});
}

TEST_P(CmActive, ReplyWithOthersIds_IsNoReply) {
    pending_connect connect(manager, wanted);
    const auto req = peer.receive<cm::req_message>();
    cm::rep_message rep = raw_peer::reply_to(req);
    rep.remote_id = req.local_id + 1;
    peer.send(rep);
    EXPECT_EQ(peer.receive<cm::rej_message>().reason, IB_CM_REJ_INVALID_COMM_ID);
    EXPECT_FALSE(connect.call.done());
    peer.send(raw_peer::reply_to(req));
    EXPECT_EQ(connect.status(), STATUS_SUCCESS);
    const open_connection link = connect.connection();
    EXPECT_EQ(cm_end::attributes(wanted.h_qp).dest_num, 0x4321u);
}

TEST_P(CmActive, ReplyWithImpossibleValues_IsRejected) {
    pending_connect connect(manager, wanted);
    cm::rep_message rep = raw_peer::reply_to(peer.receive<cm::req_message>());
    rep.qpn = 1;
    peer.send(rep);
    const auto rej = peer.receive<cm::rej_message>();
    EXPECT_EQ(rej.reason, IB_CM_REJ_UNSUPPORTED);
    EXPECT_EQ(rej.rejected, cm::message_kind::rep);
    EXPECT_EQ(rej.remote_id, rep.local_id);
    EXPECT_STREQ(name_of(connect.status()), "STATUS_INVALID_NETWORK_RESPONSE");
}

// Source: IBA A14.3.2.
TEST_P(CmActive, XrcInitiator_RequestsATargetThatTheReplyNamesInAFieldOfItsOwn) {
    wanted.h_qp = nullptr;
    wanted.qpn = 0x1234;
    wanted.qp_type = IB_QPT_XRC_INI;
    pending_connect connect(manager, wanted);
    const auto req = peer.receive<cm::req_message>();
    EXPECT_EQ(req.qpn, 0x1234u);
    EXPECT_EQ(req.transport, cm::transport_service::extended);
    EXPECT_EQ(req.extended_transport, 1);
    EXPECT_FALSE(req.end_to_end_flow_control);
    cm::rep_message rep = raw_peer::reply_to(req);
    rep.qpn = 0;
    rep.eecn = 0x4321;
    peer.send(rep);
    EXPECT_EQ(connect.status(), STATUS_SUCCESS);
    EXPECT_EQ(connect.reply.qpn, 0x4321u);
    const open_connection link = connect.connection();
    ib_qp_mod_t change{};
    EXPECT_EQ(CmQueryQpChange(link, IB_QPS_RTR, &change), STATUS_SUCCESS);
    EXPECT_EQ(change.dest_qp, 0x4321u);
    EXPECT_EQ(change.opts & IB_MOD_QP_RESP_RES, 0u) << "an initiator does not respond";
    EXPECT_EQ(CmQueryQpChange(link, IB_QPS_RTS, &change), STATUS_SUCCESS);
    EXPECT_NE(change.opts & IB_MOD_QP_RETRY_CNT, 0u);
}

// Neither field stands for the other one.
TEST_P(CmActive, ReplyThatNamesNoQueuePairOfTheType_IsRejected) {
    wanted.h_qp = nullptr;
    wanted.qpn = 0x1234;
    for (const ib_qp_type_t type : {IB_QPT_RELIABLE_CONN, IB_QPT_XRC_INI}) {
        wanted.qp_type = type;
        pending_connect connect(manager, wanted);
        cm::rep_message rep = raw_peer::reply_to(peer.receive<cm::req_message>());
        rep.qpn = type == IB_QPT_XRC_INI ? 0x4321 : 0;
        rep.eecn = type == IB_QPT_XRC_INI ? 0 : 0x4321;
        peer.send(rep);
        EXPECT_EQ(peer.receive<cm::rej_message>().reason, IB_CM_REJ_UNSUPPORTED);
        EXPECT_STREQ(name_of(connect.status()), "STATUS_INVALID_NETWORK_RESPONSE");
    }
}

TEST_P(CmActive, TypesThatRequestNothing_AreRefused) {
    wanted.h_qp = nullptr;
    wanted.qpn = 0x1234;
    for (const ib_qp_type_t type : {IB_QPT_XRC_TGT, IB_QPT_UNRELIABLE_DGRM}) {
        wanted.qp_type = type;
        EXPECT_EQ(pending_connect(manager, wanted).status(), STATUS_INVALID_PARAMETER);
    }
    wanted.qp_type = IB_QPT_XRC_INI;
    wanted.flags = IB_CM_PEER_TO_PEER;
    EXPECT_EQ(pending_connect(manager, wanted).status(), STATUS_INVALID_PARAMETER);
}

TEST_P(CmActive, RepeatedReply_GetsTheRtuAgain) {
    wanted.flags = IB_CM_ESTABLISH;
    pending_connect connect(manager, wanted);
    const cm::rep_message rep = raw_peer::reply_to(peer.receive<cm::req_message>());
    peer.send(rep);
    const auto rtu = peer.receive<cm::rtu_message>();
    peer.send(rep);
    EXPECT_EQ(peer.receive<cm::rtu_message>(), rtu);
    EXPECT_EQ(connect.status(), STATUS_SUCCESS);
    const open_connection link = connect.connection();
    EXPECT_EQ(cm_end::state(wanted.h_qp), ib_qp_state_t{IB_QPS_RTS});
}

TEST_P(CmActive, SlowClientAfterTheReply_PeerIsAskedForTime) {
    pending_connect connect(manager, wanted);
    const cm::rep_message rep = raw_peer::reply_to(peer.receive<cm::req_message>());
    peer.send(rep);
    EXPECT_EQ(connect.status(), STATUS_SUCCESS);
    const open_connection link = connect.connection();
    const auto mra = peer.receive<cm::mra_message>();
    EXPECT_EQ(mra.acknowledged, cm::message_kind::rep);
    EXPECT_EQ(link.complete("ready"), STATUS_SUCCESS);
    EXPECT_EQ(text_in(peer.receive<cm::rtu_message>().private_data.data()), "ready");
}

TEST_P(CmActive, GrantsOfTheReply_LimitTheQueuePair) {
    wanted.resp_res = 4;
    wanted.init_depth = 3;
    pending_connect connect(manager, wanted);
    cm::rep_message rep = raw_peer::reply_to(peer.receive<cm::req_message>());
    rep.responder_resources = 2;
    rep.initiator_depth = 1;
    rep.rnr_retry_count = 3;
    rep.starting_psn = 0x123456;
    peer.send(rep);
    EXPECT_EQ(connect.status(), STATUS_SUCCESS);
    const open_connection link = connect.connection();
    EXPECT_EQ(connect.reply.init_depth, 2);
    EXPECT_EQ(connect.reply.resp_res, 1);
    EXPECT_EQ(link.complete(), STATUS_SUCCESS);
    const ib_qp_attr_t attr = cm_end::attributes(wanted.h_qp);
    EXPECT_EQ(attr.init_depth, 2);
    EXPECT_EQ(attr.resp_res, 1);
    EXPECT_EQ(attr.rnr_retry_cnt, 3);
    EXPECT_EQ(attr.sq_psn, 0x123456u);
}

TEST_P(CmActive, NoDrep_DisconnectEndsUnconfirmed) {
    wanted.flags = IB_CM_ESTABLISH;
    wanted.max_cm_retries = 1;
    pending_connect connect(manager, wanted);
    peer.send(raw_peer::reply_to(peer.receive<cm::req_message>()));
    EXPECT_EQ(connect.status(), STATUS_SUCCESS);
    const open_connection link = connect.connection();
    EXPECT_EQ(link.disconnect(), std::pair(STATUS_SUCCESS, ULONG_PTR{0}));
    peer.receive<cm::rtu_message>();
    const auto dreq = peer.receive<cm::dreq_message>();
    EXPECT_EQ(peer.receive<cm::dreq_message>(), dreq);
}

TEST_P(CmActive, BothDisconnectAtOnce_BothAreConfirmed) {
    wanted.flags = IB_CM_ESTABLISH;
    pending_connect connect(manager, wanted);
    const cm::rep_message rep = raw_peer::reply_to(peer.receive<cm::req_message>());
    peer.send(rep);
    EXPECT_EQ(connect.status(), STATUS_SUCCESS);
    const open_connection link = connect.connection();
    verb_call call([&](IRP* irp) { return CmDisconnect(link, nullptr, 0, irp); });
    peer.receive<cm::rtu_message>();
    peer.receive<cm::dreq_message>();
    cm::dreq_message dreq;
    dreq.local_id = rep.local_id;
    dreq.remote_id = rep.remote_id;
    peer.send(dreq);
    EXPECT_EQ(peer.receive<cm::drep_message>().remote_id, rep.local_id);
    EXPECT_EQ(call.status(), STATUS_SUCCESS);
    EXPECT_EQ(call.information(), 1u);
}

TEST_P(CmActive, RejectionOfTheReplyTooLate_EndsTheEstablishedConnection) {
    wanted.flags = IB_CM_ESTABLISH;
    pending_connect connect(manager, wanted);
    const cm::rep_message rep = raw_peer::reply_to(peer.receive<cm::req_message>());
    peer.send(rep);
    EXPECT_EQ(connect.status(), STATUS_SUCCESS);
    const open_connection link = connect.connection();
    cm::rej_message rej;
    rej.local_id = rep.local_id;
    rej.remote_id = rep.remote_id;
    rej.reason = IB_CM_REJ_TIMEOUT;
    peer.send(rej);
    EXPECT_EQ(link.next_event().type, ULONG{IB_CM_EVENT_DISCONNECTED});
    EXPECT_EQ(link.disconnect().first, STATUS_SUCCESS);
}

IRPVERBS_ON_BOTH_MACHINES(CmActive);

} // namespace
