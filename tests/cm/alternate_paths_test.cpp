// Alternate paths: in a request, by CmLoadPath, and against a peer whose messages the test writes.
#include "raw_peer.hpp"

#include <ci/qp_changes.hpp>

#include <hca/software.h>
#include <support/both_machines.hpp>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

/// Moves an empty message, which takes a receive.
void move_message(const cm_end& from, IB_QP* sender, const cm_end& to, IB_QP* receiver) {
    ib_recv_wr_t receive{nullptr, 1, nullptr, 0};
    EXPECT_EQ(CiPostRecv(receiver, &receive, nullptr), STATUS_SUCCESS);
    ib_send_wr_t send{};
    send.wr_type = WR_SEND;
    send.send_opt = IB_SEND_OPT_SIGNALED;
    EXPECT_EQ(CiPostSend(sender, &send, nullptr), STATUS_SUCCESS);
    EXPECT_EQ(next_completion(to.cq).Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(next_completion(from.cq).Status, ULONG{IB_WC_SUCCESS});
}

class CmAlternatePaths : public BothMachines {
protected:
    attached hcas;
    two_ends ends{hcas};

    void move_messages(const connected_pair& over) {
        move_message(ends.one, over.active_qp, ends.two, over.passive_qp);
        move_message(ends.two, over.passive_qp, ends.one, over.active_qp);
    }
    static void expect_states(const connected_pair& of, ib_apm_state_t state) {
        EXPECT_EQ(cm_end::attributes(of.active_qp).apm_state, state);
        EXPECT_EQ(cm_end::attributes(of.passive_qp).apm_state, state);
    }
    /// The connection leaves its first path when the cable is pulled.
    void expect_armed(const connected_pair& of) {
        move_messages(of);
        expect_states(of, IB_APM_ARMED);
        EXPECT_EQ(HcaSoftwareSetLink(ends.one.guid, 1, FALSE), STATUS_SUCCESS);
        move_messages(of);
        expect_states(of, IB_APM_MIGRATED);
        EXPECT_EQ(cm_end::attributes(of.active_qp).primary_port, 2);
        EXPECT_EQ(HcaSoftwareSetLink(ends.one.guid, 1, TRUE), STATUS_SUCCESS);
    }
    /// Loads the path of the second port, as the active end.
    void load(const connected_pair& of, ULONG expected = IB_CM_AP_LOADED, UCHAR life_time = 10) {
        sa_path_record_t path = ends.one.second_path_to(ends.two);
        path.PacketLifeTime = life_time;
        pending_path load(of.active, path, "other way");
        const ib_cm_event_t event = of.passive.next_event();
        EXPECT_EQ(event.type, ULONG{IB_CM_EVENT_PATH_REQUESTED});
        EXPECT_EQ(text_in(event.pdata), "other way");
        EXPECT_EQ(event.alt_path.DLID, ends.one.second_path_to(ends.two).SLID);
        EXPECT_EQ(event.alt_path.SLID, ends.two.lid());
        ib_cm_path_response_t response{};
        response.status = static_cast<UCHAR>(expected);
        response.info_length = 2;
        response.info[1] = 7;
        std::memcpy(response.pdata, "why", 4);
        EXPECT_STREQ(name_of(of.passive.respond_path(&response)), "STATUS_SUCCESS");
        EXPECT_STREQ(name_of(load.status()), expected == IB_CM_AP_LOADED
                                                 ? "STATUS_SUCCESS"
                                                 : "STATUS_REQUEST_NOT_ACCEPTED");
        EXPECT_EQ(load.response.status, expected);
        EXPECT_EQ(load.response.info_length, 2);
        EXPECT_EQ(load.response.info[1], 7);
        EXPECT_EQ(text_in(load.response.pdata), "why");
    }
};

/// A connection whose request has an alternate path.
struct pair_with_two_paths : connected_pair {
    pair_with_two_paths(two_ends& ends, UCHAR failover, UCHAR expected)
        : connected_pair(ends, IB_QPT_RELIABLE_CONN, ends.one.second_path_to(ends.two), failover) {
        EXPECT_EQ(reply.failover, expected);
        EXPECT_EQ(request.alt_path.DLID, ends.one.second_path_to(ends.two).SLID);
    }
};

TEST_P(CmAlternatePaths, Request_LoadsThePathAtBothEnds) {
    const pair_with_two_paths pair(ends, IB_CM_FAILOVER_ACCEPTED, IB_CM_FAILOVER_ACCEPTED);
    expect_states(pair, IB_APM_REARM);
    expect_armed(pair);
}

TEST_P(CmAlternatePaths, RefusedFailover_ConnectsWithoutIt) {
    const pair_with_two_paths pair(ends, IB_CM_FAILOVER_REJECTED, IB_CM_FAILOVER_REJECTED);
    move_messages(pair);
    expect_states(pair, IB_APM_MIGRATED);
}

TEST_P(CmAlternatePaths, LoadPath_ArmsBothEnds) {
    const connected_pair pair(ends);
    load(pair);
    expect_states(pair, IB_APM_REARM);
    expect_armed(pair);
}

TEST_P(CmAlternatePaths, LoadPath_ReplacesAnEarlierPath) {
    const connected_pair pair(ends);
    load(pair);
    move_messages(pair);
    expect_states(pair, IB_APM_ARMED);
    load(pair, IB_CM_AP_LOADED, 11);
    expect_states(pair, IB_APM_ARMED);
    expect_armed(pair);
    EXPECT_EQ(pair.active.disconnect().first, STATUS_SUCCESS);
}

TEST_P(CmAlternatePaths, RefusedPath_ChangesNothing) {
    const connected_pair pair(ends);
    load(pair, IB_CM_AP_REJECTED);
    move_messages(pair);
    expect_states(pair, IB_APM_MIGRATED);
    EXPECT_STREQ(name_of(pair.passive.respond_path()), "STATUS_INVALID_DEVICE_STATE");
}

TEST_P(CmAlternatePaths, WrongParameters_AreRefused) {
    const connected_pair pair(ends);
    const sa_path_record_t path = ends.one.second_path_to(ends.two);
    const auto status_of_change = [&](auto change) {
        sa_path_record_t wrong = path;
        change(wrong);
        return pending_path(pair.active, wrong).status();
    };
    EXPECT_EQ(status_of_change([](auto& of) { of.DLID = 0; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(status_of_change([](auto& of) { of.SLID = 0x999; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(status_of_change([](auto& of) { of.SGID.gid_guid = 9; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(pending_path(nullptr, path).status(), STATUS_INVALID_PARAMETER);
    const std::string long_data(IB_CM_LAP_PDATA_SIZE + 1, 'x');
    EXPECT_EQ(pending_path(pair.active, path, long_data).status(), STATUS_INVALID_PARAMETER);
    pending_path load(pair.active, path);
    pair.passive.next_event();
    EXPECT_EQ(pending_path(pair.active, path).status(), STATUS_DEVICE_BUSY);
    ib_cm_path_response_t response{};
    response.info_length = IB_CM_REJ_INFO_SIZE + 1;
    EXPECT_EQ(pair.passive.respond_path(&response), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(pair.passive.respond_path(), STATUS_SUCCESS);
    EXPECT_EQ(load.status(), STATUS_SUCCESS);
}

TEST_P(CmAlternatePaths, CancelledLoad_EndsTheWaitOnly) {
    const connected_pair pair(ends);
    const sa_path_record_t path = ends.one.second_path_to(ends.two);
    pending_path load(pair.active, path);
    load.call.cancel();
    EXPECT_EQ(load.status(), STATUS_CANCELLED);
    pair.passive.next_event();
    EXPECT_EQ(pending_path(pair.active, path).status(), STATUS_DEVICE_BUSY);
    EXPECT_EQ(pair.passive.respond_path(), STATUS_SUCCESS);
    expect_armed(pair);
}

TEST_P(CmAlternatePaths, EndOfTheConnection_EndsTheLoad) {
    {
        connected_pair pair(ends);
        pending_path load(pair.active, ends.one.second_path_to(ends.two));
        pair.passive.next_event();
        EXPECT_EQ(pair.active.disconnect().first, STATUS_SUCCESS);
        EXPECT_STREQ(name_of(load.status()), "STATUS_REQUEST_ABORTED");
    }
    connected_pair pair(ends);
    pending_path load(pair.active, ends.one.second_path_to(ends.two));
    pair.active.close();
    EXPECT_STREQ(name_of(load.status()), "STATUS_CANCELLED");
    while (pair.passive.next_event().type != ULONG{IB_CM_EVENT_DISCONNECTED}) {
    }
    EXPECT_EQ(pair.passive.respond_path(), STATUS_REQUEST_ABORTED);
}

IRPVERBS_ON_BOTH_MACHINES(CmAlternatePaths);

// ---- a peer on the second host; this end is passive

class CmPathMessages : public BothMachines {
protected:
    attached hcas;
    cm_end end{hcas, 0};
    cm_end other{hcas, 1};
    open_cm manager{end.ca};
    raw_peer peer{other, end};
    IB_QP* const qp = end.make_qp();
    cm::rep_message rep;
    const open_connection link = establish();

    open_connection establish() {
        open_listener listener{manager};
        peer.send(peer.request());
        pending_request request(listener);
        open_connection made = request.connection();
        pending_accept accept(made, qp);
        rep = peer.receive<cm::rep_message>();
        peer.send(raw_peer::ready_for(rep));
        EXPECT_STREQ(name_of(accept.status()), "STATUS_SUCCESS");
        return made;
    }
    cm::lap_message lap() const {
        const sa_path_record_t path = end.second_path_to(other);
        cm::lap_message made;
        made.local_id = rep.remote_id;
        made.remote_id = rep.local_id;
        made.remote_qpn = rep.qpn;
        made.remote_response_timeout = 14;
        made.alternate = {.local_lid = path.DLID,
                          .remote_lid = path.SLID,
                          .local_gid = path.DGID,
                          .remote_gid = path.SGID,
                          .subnet_local = true,
                          .local_ack_timeout = 12};
        return made;
    }
    unsigned status_for(const cm::lap_message& sent) {
        peer.send(sent);
        const auto apr = peer.receive<cm::apr_message>();
        EXPECT_EQ(apr.remote_id, sent.local_id);
        EXPECT_EQ(apr.local_id, sent.remote_id);
        return apr.status;
    }
    cm::apr_message response_to(const cm::lap_message& lap, std::uint8_t status = 0) const {
        cm::apr_message made;
        made.local_id = lap.remote_id;
        made.remote_id = lap.local_id;
        made.status = status;
        return made;
    }
};

TEST_P(CmPathMessages, ImpossibleValue_IsRefusedWithItsStatus) {
    struct row {
        void (*change)(cm::lap_message& of);
        unsigned status;
    };
    for (const auto& [change, status] : {
             row{[](auto& of) { of.remote_id = 7; }, IB_CM_AP_INVALID_COMM_ID},
             row{[](auto& of) { of.remote_qpn = 7; }, IB_CM_AP_INVALID_QPN},
             row{[](auto& of) { of.alternate.remote_lid = 0x999; }, IB_CM_AP_INVALID_LID},
             row{[](auto& of) { of.alternate.remote_lid = 0; }, IB_CM_AP_INVALID_LID},
             row{[](auto& of) { of.alternate.local_lid = 0xC000; }, IB_CM_AP_INVALID_LID},
             row{[](auto& of) { of.alternate.remote_gid.gid_guid = 9; }, IB_CM_AP_INVALID_GID},
             row{[](auto& of) { of.alternate.packet_rate = 1; }, IB_CM_AP_INVALID_PACKET_RATE},
         }) {
        cm::lap_message wrong = lap();
        change(wrong);
        EXPECT_EQ(status_for(wrong), status);
    }
    EXPECT_EQ(cm_end::attributes(qp).apm_state, IB_APM_MIGRATED);
}

TEST_P(CmPathMessages, DuplicateLap_IsOneEventAndGetsTheSameResponse) {
    peer.send(lap());
    peer.send(lap());
    EXPECT_EQ(link.next_event().type, ULONG{IB_CM_EVENT_PATH_REQUESTED});
    EXPECT_EQ(link.respond_path(), STATUS_SUCCESS);
    const auto apr = peer.receive<cm::apr_message>();
    EXPECT_EQ(apr.status, IB_CM_AP_LOADED);
    const ib_qp_attr_t loaded = cm_end::attributes(qp);
    EXPECT_EQ(loaded.apm_state, IB_APM_REARM);
    EXPECT_EQ(loaded.alternate_av.port_num, 2);
    EXPECT_EQ(loaded.alternate_local_ack_timeout, 12);
    peer.send(lap());
    EXPECT_EQ(peer.receive<cm::apr_message>(), apr);
    ib_cm_event_t event{};
    verb_call second([&](IRP* irp) { return CmGetEvent(link, &event, irp); });
    EXPECT_FALSE(second.completes_within(20));
    cm::lap_message other_one = lap();
    other_one.alternate.local_ack_timeout = 13;
    peer.send(other_one);
    EXPECT_EQ(second.status(), STATUS_SUCCESS);
    EXPECT_EQ(link.respond_path(), STATUS_SUCCESS);
    EXPECT_EQ(peer.receive<cm::apr_message>().status, IB_CM_AP_LOADED);
}

TEST_P(CmPathMessages, SlowClient_PeerIsAskedForTime) {
    peer.send(lap());
    const auto mra = peer.receive<cm::mra_message>();
    EXPECT_EQ(mra.acknowledged, cm::message_kind::other);
    EXPECT_EQ(mra.service_timeout, 24);
    peer.send(lap());
    EXPECT_EQ(peer.receive<cm::mra_message>(), mra);
    EXPECT_EQ(link.respond_path(), STATUS_SUCCESS);
    EXPECT_EQ(peer.receive<cm::apr_message>().status, IB_CM_AP_LOADED);
}

TEST_P(CmPathMessages, QueuePairThatCannotLoad_RejectsThePath) {
    peer.send(lap());
    link.next_event();
    EXPECT_EQ(modify_qp(qp, ci::to_state(IB_QPS_ERROR)), STATUS_SUCCESS);
    EXPECT_STREQ(name_of(link.respond_path()), "STATUS_INVALID_PARAMETER");
    EXPECT_EQ(peer.receive<cm::apr_message>().status, IB_CM_AP_REJECTED);
}

TEST_P(CmPathMessages, NoResponse_LapIsResentThenGivenUp) {
    pending_path load(link, end.second_path_to(other));
    const auto sent = peer.receive<cm::lap_message>();
    EXPECT_EQ(sent.remote_qpn, 0x4321u);
    EXPECT_EQ(sent.alternate.local_lid, end.second_path_to(other).SLID);
    for (int retry = 0; retry < 2; ++retry) {
        EXPECT_EQ(peer.receive<cm::lap_message>(), sent);
    }
    EXPECT_STREQ(name_of(load.status()), "STATUS_IO_TIMEOUT");
    peer.send(response_to(sent)); // too late
    for (int i = 0; i < 1000 && manager.counters().unexpected == 0; ++i)
        let_pass_ms(1);
    pending_path next(link, end.second_path_to(other));
    EXPECT_EQ(peer.receive<cm::lap_message>(), sent);
    peer.send(response_to(sent, IB_CM_AP_INVALID_LID));
    EXPECT_STREQ(name_of(next.status()), "STATUS_REQUEST_NOT_ACCEPTED");
    EXPECT_EQ(next.response.status, IB_CM_AP_INVALID_LID);
    EXPECT_EQ(cm_end::attributes(qp).apm_state, IB_APM_MIGRATED);
}

TEST_P(CmPathMessages, MraOfThePeer_ExtendsTheWait) {
    pending_path load(link, end.second_path_to(other));
    const auto sent = peer.receive<cm::lap_message>();
    cm::mra_message mra;
    mra.local_id = sent.remote_id;
    mra.remote_id = sent.local_id;
    mra.acknowledged = cm::message_kind::other;
    mra.service_timeout = 18; // 1 s
    peer.send(mra);
    EXPECT_FALSE(load.call.completes_within(500)); // without MRA: 225 ms
    EXPECT_EQ(manager.counters().resent, 0u);
    peer.send(response_to(sent));
    EXPECT_EQ(load.status(), STATUS_SUCCESS);
    EXPECT_EQ(cm_end::attributes(qp).apm_state, IB_APM_REARM);
}

// The path of the active end is loaded.
TEST_P(CmPathMessages, LapsThatCross_PassiveEndYields) {
    pending_path load(link, end.second_path_to(other));
    peer.receive<cm::lap_message>();
    peer.send(lap());
    EXPECT_STREQ(name_of(load.status()), "STATUS_REQUEST_NOT_ACCEPTED");
    EXPECT_EQ(load.response.status, 0);
    EXPECT_EQ(link.next_event().type, ULONG{IB_CM_EVENT_PATH_REQUESTED});
    EXPECT_EQ(link.respond_path(), STATUS_SUCCESS);
    EXPECT_EQ(peer.receive<cm::apr_message>().status, IB_CM_AP_LOADED);
}

TEST_P(CmPathMessages, LapsThatCross_ActiveEndRefuses) {
    const connect_to wanted(end.make_qp(), end.path_to(other));
    pending_connect connect(manager, wanted);
    const cm::rep_message reply = raw_peer::reply_to(peer.receive<cm::req_message>());
    peer.send(reply);
    EXPECT_EQ(connect.status(), STATUS_SUCCESS);
    const open_connection active = connect.connection();
    EXPECT_EQ(active.complete(), STATUS_SUCCESS);
    peer.receive<cm::rtu_message>();
    pending_path load(active, end.second_path_to(other));
    const auto sent = peer.receive<cm::lap_message>();
    cm::lap_message crossing = lap();
    crossing.local_id = reply.local_id;
    crossing.remote_id = reply.remote_id;
    crossing.remote_qpn = wanted.h_qp->Num;
    EXPECT_EQ(status_for(crossing), unsigned{IB_CM_AP_REJECTED});
    peer.send(response_to(sent));
    EXPECT_EQ(load.status(), STATUS_SUCCESS);
}

IRPVERBS_ON_BOTH_MACHINES(CmPathMessages);

} // namespace
