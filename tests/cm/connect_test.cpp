// A connection from the request to its end, between two hosts of the software fabric.
#include "cm_end.hpp"

#include <ci/qp_changes.hpp>
#include <support/both_machines.hpp>

namespace {

using namespace irpverbs::testing;

class CmConnections : public BothMachines {
protected:
    attached hcas;
    two_ends ends{hcas};

    static void expect_message(const cm_end& from, IB_QP* sender, const cm_end& to,
                               IB_QP* receiver) {
        ib_recv_wr_t receive{nullptr, 1, nullptr, 0};
        EXPECT_EQ(CiPostRecv(receiver, &receive, nullptr), STATUS_SUCCESS);
        ib_send_wr_t send{};
        send.wr_type = WR_SEND;
        send.send_opt = IB_SEND_OPT_SIGNALED;
        EXPECT_EQ(CiPostSend(sender, &send, nullptr), STATUS_SUCCESS);
        EXPECT_EQ(next_completion(to.cq).Status, ULONG{IB_WC_SUCCESS});
        EXPECT_EQ(next_completion(from.cq).Status, ULONG{IB_WC_SUCCESS});
    }

    static NTSTATUS change(IB_QP* qp, const ib_qp_mod_t& wanted) {
        return verb_call([&](IRP* irp) { return CiModifyQp(qp, &wanted, nullptr, irp); }).status();
    }
    /// The steps of a client that changes the states itself.
    static void change_to_rts(IB_CM_CONNECTION* link, IB_QP* qp) {
        EXPECT_EQ(change(qp, irpverbs::ci::to_init(IB_QPT_RELIABLE_CONN, {})), STATUS_SUCCESS);
        for (const ib_qp_state_t next : {IB_QPS_RTR, IB_QPS_RTS}) {
            ib_qp_mod_t wanted{};
            EXPECT_EQ(CmQueryQpChange(link, next, &wanted), STATUS_SUCCESS);
            EXPECT_EQ(change(qp, wanted), STATUS_SUCCESS);
        }
    }
};

TEST_P(CmConnections, ConnectAcceptComplete_QueuePairsAreReadyOnBothSides) {
    const open_listener listener(ends.second);
    IB_QP* const active_qp = ends.one.make_qp();
    IB_QP* const passive_qp = ends.two.make_qp();
    connect_to wanted(active_qp, ends.one.path_to(ends.two));
    wanted.p_pdata = "hello";
    wanted.pdata_length = 6;
    wanted.resp_res = 4;
    wanted.init_depth = 3;
    pending_connect connect(ends.first, wanted);
    pending_request request(listener);
    open_connection passive = request.connection();
    EXPECT_EQ(text_in(request.request.pdata), "hello");
    EXPECT_EQ(request.request.pdata_length, IB_CM_REQ_PDATA_SIZE);
    EXPECT_EQ(request.request.svc_id, service);
    EXPECT_EQ(request.request.qpn, active_qp->Num);
    EXPECT_EQ(request.request.ca_guid, ends.one.guid);
    EXPECT_EQ(request.request.primary_path.DLID, ends.one.lid());
    EXPECT_EQ(request.request.resp_res, 4);
    EXPECT_EQ(request.request.init_depth, 3);

    pending_accept accept(passive, passive_qp, "welcome");
    EXPECT_STREQ(name_of(connect.status()), "STATUS_SUCCESS");
    open_connection active = connect.connection();
    EXPECT_EQ(text_in(connect.reply.pdata), "welcome");
    EXPECT_EQ(connect.reply.pdata_length, IB_CM_REP_PDATA_SIZE);
    EXPECT_EQ(cm_end::state(active_qp), ib_qp_state_t{IB_QPS_RTR});
    EXPECT_EQ(active.complete(), STATUS_SUCCESS);
    EXPECT_EQ(accept.status(), STATUS_SUCCESS);

    const ib_qp_attr_t one = cm_end::attributes(active_qp);
    const ib_qp_attr_t two = cm_end::attributes(passive_qp);
    EXPECT_EQ(one.state, ib_qp_state_t{IB_QPS_RTS});
    EXPECT_EQ(two.state, ib_qp_state_t{IB_QPS_RTS});
    EXPECT_EQ(one.dest_num, passive_qp->Num);
    EXPECT_EQ(two.dest_num, active_qp->Num);
    EXPECT_EQ(one.rq_psn, two.sq_psn);
    EXPECT_EQ(two.rq_psn, one.sq_psn);
    EXPECT_EQ(one.init_depth, 1); // no more than the passive end allows
    EXPECT_EQ(two.resp_res, 1);
    EXPECT_EQ(one.rnr_retry_cnt, 7);
}

TEST_P(CmConnections, DataCrossInBothDirections) {
    for (const ib_qp_type_t type : {IB_QPT_RELIABLE_CONN, IB_QPT_UNRELIABLE_CONN}) {
        connected_pair pair(ends, type);
        expect_message(ends.one, pair.active_qp, ends.two, pair.passive_qp);
        expect_message(ends.two, pair.passive_qp, ends.one, pair.active_qp);
    }
}

TEST_P(CmConnections, ClientChangesTheStates_PackageTouchesNoQueuePair) {
    const open_listener listener(ends.second);
    IB_QP* const active_qp = ends.one.make_qp();
    IB_QP* const passive_qp = ends.two.make_qp();
    connect_to wanted(nullptr, ends.one.path_to(ends.two));
    wanted.qpn = active_qp->Num;
    wanted.init_depth = 3;
    pending_connect connect(ends.first, wanted);
    pending_request request(listener);
    open_connection passive = request.connection();
    change_to_rts(passive, passive_qp);
    pending_accept accept(passive, *passive_qp);
    EXPECT_STREQ(name_of(connect.status()), "STATUS_SUCCESS");
    EXPECT_EQ(connect.reply.qpn, passive_qp->Num);
    open_connection active = connect.connection();
    EXPECT_EQ(cm_end::state(active_qp), ib_qp_state_t{IB_QPS_RESET});
    change_to_rts(active, active_qp);
    EXPECT_EQ(active.complete(), STATUS_SUCCESS);
    EXPECT_EQ(accept.status(), STATUS_SUCCESS);
    expect_message(ends.one, active_qp, ends.two, passive_qp);
    expect_message(ends.two, passive_qp, ends.one, active_qp);
    EXPECT_EQ(cm_end::attributes(passive_qp).resp_res, 3) << "as many as the peer offers";

    EXPECT_EQ(active.disconnect(), std::pair(STATUS_SUCCESS, ULONG_PTR{1}));
    EXPECT_EQ(passive.next_event().type, ULONG{IB_CM_EVENT_DISCONNECTED});
    EXPECT_EQ(cm_end::state(active_qp), ib_qp_state_t{IB_QPS_RTS});
    EXPECT_EQ(cm_end::state(passive_qp), ib_qp_state_t{IB_QPS_RTS});
}

TEST_P(CmConnections, QueryOfAQueuePairsChange_OnlyTheStatesWithAPeer) {
    const connected_pair pair(ends);
    ib_qp_mod_t change{};
    EXPECT_EQ(CmQueryQpChange(pair.active, IB_QPS_RTR, &change), STATUS_SUCCESS);
    EXPECT_EQ(change.dest_qp, pair.passive_qp->Num);
    EXPECT_EQ(change.primary_av.dlid, ends.two.lid());
    EXPECT_EQ(CmQueryQpChange(pair.active, IB_QPS_INIT, &change), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(CmQueryQpChange(pair.active, IB_QPS_RTS, nullptr), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(CmQueryQpChange(nullptr, IB_QPS_RTS, &change), STATUS_INVALID_PARAMETER);
}

TEST_P(CmConnections, Disconnect_StopsBothQueuePairsAndNotifiesThePeer) {
    connected_pair pair(ends);
    EXPECT_EQ(pair.active.disconnect("bye"), std::pair(STATUS_SUCCESS, ULONG_PTR{1}));
    const ib_cm_event_t event = pair.passive.next_event();
    EXPECT_EQ(event.type, ULONG{IB_CM_EVENT_DISCONNECTED});
    EXPECT_EQ(text_in(event.pdata), "bye");
    EXPECT_EQ(cm_end::state(pair.active_qp), ib_qp_state_t{IB_QPS_ERROR});
    EXPECT_EQ(cm_end::state(pair.passive_qp), ib_qp_state_t{IB_QPS_ERROR});
    EXPECT_EQ(pair.passive.disconnect().first, STATUS_SUCCESS) << "the peer has disconnected";
    EXPECT_EQ(pair.active.next_event().type, ULONG{IB_CM_EVENT_TIMEWAIT_EXIT});
    EXPECT_EQ(pair.passive.next_event().type, ULONG{IB_CM_EVENT_TIMEWAIT_EXIT});
}

TEST_P(CmConnections, ClosedConnection_DisconnectsThePeer) {
    connected_pair pair(ends);
    pair.passive.close();
    EXPECT_EQ(cm_end::state(pair.passive_qp), ib_qp_state_t{IB_QPS_ERROR});
    EXPECT_EQ(pair.active.next_event().type, ULONG{IB_CM_EVENT_DISCONNECTED});
}

TEST_P(CmConnections, NoListener_RequestIsRejected) {
    const connect_to wanted(ends.one.make_qp(), ends.one.path_to(ends.two));
    pending_connect connect(ends.first, wanted);
    EXPECT_STREQ(name_of(connect.status()), "STATUS_REQUEST_NOT_ACCEPTED");
    EXPECT_EQ(connect.reply.rej_reason, IB_CM_REJ_INVALID_SERVICE_ID);
    EXPECT_EQ(cm_end::state(wanted.h_qp), ib_qp_state_t{IB_QPS_RESET});
}

TEST_P(CmConnections, ClientRejects_ReasonAndInformationArrive) {
    const open_listener listener(ends.second);
    const connect_to wanted(ends.one.make_qp(), ends.one.path_to(ends.two));
    pending_connect connect(ends.first, wanted);
    pending_request request(listener);
    const open_connection passive = request.connection();
    EXPECT_EQ(passive.reject(0, "no"), STATUS_SUCCESS);
    EXPECT_STREQ(name_of(connect.status()), "STATUS_REQUEST_NOT_ACCEPTED");
    EXPECT_EQ(connect.reply.rej_reason, IB_CM_REJ_CONSUMER_DEFINED);
    EXPECT_EQ(connect.reply.info_length, 2);
    EXPECT_EQ(text_in(connect.reply.info), "no");
}

TEST_P(CmConnections, CancelledConnect_PeersRequestEnds) {
    const open_listener listener(ends.second);
    const connect_to wanted(ends.one.make_qp(), ends.one.path_to(ends.two));
    pending_connect connect(ends.first, wanted);
    pending_request request(listener);
    const open_connection passive = request.connection();
    connect.call.cancel();
    EXPECT_STREQ(name_of(connect.status()), "STATUS_CANCELLED");
    EXPECT_EQ(passive.next_event().type, ULONG{IB_CM_EVENT_DISCONNECTED});
    EXPECT_EQ(pending_accept(passive, ends.two.make_qp()).status(), STATUS_REQUEST_ABORTED);
    EXPECT_EQ(cm_end::state(wanted.h_qp), ib_qp_state_t{IB_QPS_RESET});
}

TEST_P(CmConnections, CancelledAccept_PeerIsRejected) {
    const open_listener listener(ends.second);
    const connect_to wanted(ends.one.make_qp(), ends.one.path_to(ends.two));
    pending_connect connect(ends.first, wanted);
    pending_request request(listener);
    open_connection passive = request.connection();
    IB_QP* const qp = ends.two.make_qp();
    pending_accept accept(passive, qp);
    EXPECT_EQ(connect.status(), STATUS_SUCCESS);
    open_connection active = connect.connection();
    accept.call.cancel();
    EXPECT_STREQ(name_of(accept.status()), "STATUS_CANCELLED");
    EXPECT_EQ(active.next_event().type, ULONG{IB_CM_EVENT_DISCONNECTED});
    EXPECT_EQ(active.complete(), STATUS_REQUEST_ABORTED);
    EXPECT_EQ(cm_end::state(qp), ib_qp_state_t{IB_QPS_ERROR});
}

IRPVERBS_ON_BOTH_MACHINES(CmConnections);

} // namespace
