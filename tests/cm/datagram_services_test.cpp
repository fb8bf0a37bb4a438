// Services of unreliable datagrams: CmResolveUd on one side, CmGetUdRequest and CmRespondUd on the
// other, and a peer whose messages the test writes.
#include "../subnet_manager/managed_fabric.hpp"
#include "raw_peer.hpp"

#include <support/both_machines.hpp>
#include <support/exhaustive_gtest.hpp>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

ib_cm_ud_response_t valid_response(std::string_view data = {}) {
    ib_cm_ud_response_t with{};
    with.qpn = 0x1234;
    with.q_key = 0x8765;
    with.p_pdata = data.data();
    with.pdata_length = static_cast<UCHAR>(data.size());
    return with;
}

class CmDatagramServices : public BothMachines {
protected:
    attached hcas;
    two_ends ends{hcas};
    resolve_at wanted{ends.one.path_to(ends.two)};
};

TEST_P(CmDatagramServices, Resolve_ReturnsQueuePairQKeyAndTheWay) {
    const open_listener listener(ends.second, of_datagrams);
    wanted.p_pdata = "who";
    wanted.pdata_length = 4;
    pending_resolution resolution(ends.first, wanted);
    pending_ud_request next(listener);
    const open_ud_request request = next.object();
    EXPECT_EQ(next.request.svc_id, service);
    EXPECT_EQ(next.request.p_key, IB_PKEY_DEFAULT_FULL);
    EXPECT_EQ(next.request.src_lid, ends.one.lid());
    EXPECT_EQ(next.request.pdata_length, IB_CM_SIDR_REQ_PDATA_SIZE);
    EXPECT_EQ(text_in(next.request.pdata), "who");
    EXPECT_EQ(request.respond(valid_response("me")), STATUS_SUCCESS);
    EXPECT_STREQ(name_of(resolution.status()), "STATUS_SUCCESS");
    EXPECT_EQ(resolution.reply.status, IB_CM_SIDR_VALID);
    EXPECT_EQ(resolution.reply.qpn, 0x1234u);
    EXPECT_EQ(resolution.reply.q_key, 0x8765u);
    EXPECT_EQ(resolution.reply.av.dlid, ends.two.lid());
    EXPECT_EQ(resolution.reply.av.port_num, 1);
    EXPECT_EQ(resolution.reply.pdata_length, IB_CM_SIDR_REP_PDATA_SIZE);
    EXPECT_EQ(text_in(resolution.reply.pdata), "me");
    EXPECT_EQ(ends.first.counters().resolutions, 0u);
}

TEST_P(CmDatagramServices, Rejection_ReportsStatusInformationAndPrivateData) {
    const open_listener listener(ends.second, of_datagrams);
    pending_resolution resolution(ends.first, wanted);
    pending_ud_request next(listener);
    const open_ud_request request = next.object();
    ib_cm_ud_response_t with = valid_response("busy");
    with.status = IB_CM_SIDR_NO_QP;
    with.p_info = "i";
    with.info_length = 1;
    EXPECT_EQ(request.respond(with), STATUS_SUCCESS);
    EXPECT_EQ(request.respond(with), STATUS_INVALID_DEVICE_STATE) << "one response a request";
    EXPECT_STREQ(name_of(resolution.status()), "STATUS_REQUEST_NOT_ACCEPTED");
    EXPECT_EQ(resolution.reply.status, IB_CM_SIDR_NO_QP);
    EXPECT_EQ(resolution.reply.qpn, 0u);
    EXPECT_EQ(resolution.reply.info_length, 1);
    EXPECT_EQ(resolution.reply.info[0], 'i');
    EXPECT_EQ(text_in(resolution.reply.pdata), "busy");
}

TEST_P(CmDatagramServices, RequestClosedWithoutResponse_IsRejected) {
    const open_listener listener(ends.second, of_datagrams);
    pending_resolution resolution(ends.first, wanted);
    pending_ud_request next(listener);
    next.object().close();
    EXPECT_EQ(resolution.status(), STATUS_REQUEST_NOT_ACCEPTED);
    EXPECT_EQ(resolution.reply.status, IB_CM_SIDR_REJECTED);
}

TEST_P(CmDatagramServices, ServiceOfConnections_IsNoneOfDatagrams) {
    const open_listener listener(ends.second);
    pending_resolution resolution(ends.first, wanted);
    EXPECT_EQ(resolution.status(), STATUS_REQUEST_NOT_ACCEPTED);
    EXPECT_EQ(resolution.reply.status, IB_CM_SIDR_INVALID_SERVICE_ID);
    EXPECT_EQ(pending_ud_request(listener).call.status(), STATUS_INVALID_PARAMETER);
    const open_listener other(ends.second, {service + 1, 0, 0, 0, nullptr, IB_CM_LISTEN_DATAGRAMS});
    EXPECT_EQ(pending_request(other).call.status(), STATUS_INVALID_PARAMETER);
    const connect_to connection(ends.one.make_qp(), ends.one.path_to(ends.two), service + 1);
    pending_connect connect(ends.first, connection);
    EXPECT_EQ(connect.status(), STATUS_REQUEST_NOT_ACCEPTED);
    EXPECT_EQ(connect.reply.rej_reason, IB_CM_REJ_INVALID_SERVICE_ID);
}

TEST_P(CmDatagramServices, ClosedListener_RejectsWhatWaits) {
    open_listener listener(ends.second, of_datagrams);
    pending_resolution resolution(ends.first, wanted);
    while (ends.second.counters().resolutions == 0)
        let_pass_ms(1);
    listener.close();
    EXPECT_EQ(resolution.status(), STATUS_REQUEST_NOT_ACCEPTED);
    EXPECT_EQ(resolution.reply.status, IB_CM_SIDR_INVALID_SERVICE_ID);
}

TEST_P(CmDatagramServices, IpAddresses_PrecedeThePrivateData) {
    const ib_svc_id_t id = IbCmServiceId(IB_CM_PS_UDP, 7174);
    ib_cm_ip_t ip{};
    ip.ip_version = 6;
    ip.src_port = 4711;
    ip.src[0] = 0xFD;
    wanted.svc_id = id;
    wanted.p_ip = &ip;
    wanted.p_pdata = "over ip";
    wanted.pdata_length = 8;
    const open_listener listener(ends.second, {id, 0, 0, 0, nullptr, IB_CM_LISTEN_DATAGRAMS});
    pending_resolution resolution(ends.first, wanted);
    pending_ud_request next(listener);
    const open_ud_request request = next.object();
    EXPECT_EQ(next.request.ip.ip_version, 6);
    EXPECT_EQ(next.request.ip.src_port, 4711);
    EXPECT_EQ(next.request.ip.src[0], 0xFD);
    EXPECT_EQ(next.request.pdata_length, IB_CM_SIDR_REQ_IP_PDATA_SIZE);
    EXPECT_EQ(text_in(next.request.pdata), "over ip");
    EXPECT_EQ(request.respond(valid_response()), STATUS_SUCCESS);
    EXPECT_EQ(resolution.status(), STATUS_SUCCESS);
}

TEST_P(CmDatagramServices, WrongParameters_AreRefusedAtOnce) {
    const auto changed = [&](auto change) {
        resolve_at made(wanted.path);
        change(made);
        return pending_resolution(ends.first, made).status();
    };
    EXPECT_EQ(changed([](auto& of) { of.pdata_length = 217; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(changed([](auto& of) { of.pdata_length = 1; }), STATUS_INVALID_PARAMETER) << "null";
    EXPECT_EQ(changed([](auto& of) { of.max_cm_retries = 16; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(changed([](auto& of) { of.remote_resp_timeout = 32; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(changed([](auto& of) { of.path.P_Key = 0x1234; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(changed([](auto& of) { of.p_path = nullptr; }), STATUS_INVALID_PARAMETER)
        << "opened without the SA";
    const open_listener listener(ends.second, of_datagrams);
    pending_resolution resolution(ends.first, wanted);
    pending_ud_request next(listener);
    const open_ud_request request = next.object();
    ib_cm_ud_response_t with = valid_response();
    with.qpn = 1;
    EXPECT_EQ(request.respond(with), STATUS_INVALID_PARAMETER);
    with = valid_response();
    with.pdata_length = IB_CM_SIDR_REP_PDATA_SIZE + 1;
    EXPECT_EQ(request.respond(with), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(request.respond(valid_response()), STATUS_SUCCESS);
    EXPECT_EQ(resolution.status(), STATUS_SUCCESS);
}

IRPVERBS_ON_BOTH_MACHINES(CmDatagramServices);

class CmDatagramPaths : public BothMachines {};

TEST_P(CmDatagramPaths, DestinationGid_PathIsQueriedAtTheSa) {
    const attached hcas;
    running_manager subnet({.hca = hcas.guid(0), .port = 1});
    EXPECT_EQ(subnet.wait_until_up(), STATUS_SUCCESS);
    const cm_end one(hcas, 0);
    const cm_end two(hcas, 1);
    const open_cm first(one.ca, 0);
    const open_cm second(two.ca);
    const open_listener listener(second, of_datagrams);
    resolve_at wanted({});
    wanted.p_path = nullptr;
    wanted.dest_gid = two.gid();
    pending_resolution resolution(first, wanted);
    pending_ud_request next(listener);
    EXPECT_EQ(next.object().respond(valid_response()), STATUS_SUCCESS);
    EXPECT_EQ(resolution.status(), STATUS_SUCCESS);
    EXPECT_EQ(resolution.reply.av.dlid, two.lid());
    wanted.dest_gid.gid_guid = 0x1234567;
    EXPECT_STREQ(name_of(pending_resolution(first, wanted).status()), "STATUS_HOST_UNREACHABLE");
}

IRPVERBS_ON_BOTH_MACHINES(CmDatagramPaths);

/// The end under test has a manager, the peer writes its messages.
class CmResolutionProtocol : public BothMachines {
protected:
    attached hcas;
    cm_end end{hcas, 0};
    cm_end other{hcas, 1};
    open_cm manager{end.ca};
    raw_peer peer{other, end};
    resolve_at wanted{end.path_to(other)};

    static cm::sidr_rep_message response_to(const cm::sidr_req_message& req) {
        cm::sidr_rep_message rep;
        rep.request_id = req.request_id;
        rep.service_id = req.service_id;
        rep.qpn = 0x4321;
        return rep;
    }
};

TEST_P(CmResolutionProtocol, SilentPeer_RequestIsRepeatedThenTimesOut) {
    pending_resolution resolution(manager, wanted);
    const auto req = peer.receive<cm::sidr_req_message>();
    EXPECT_EQ(req.service_id, service);
    EXPECT_EQ(req.p_key, IB_PKEY_DEFAULT_FULL);
    for (int retry = 0; retry < 3; ++retry)
        EXPECT_EQ(peer.receive<cm::sidr_req_message>(), req);
    EXPECT_STREQ(name_of(resolution.status()), "STATUS_IO_TIMEOUT");
    EXPECT_EQ(resolution.reply.pdata_length, 0);
    EXPECT_EQ(manager.counters().resent, 3u);
    EXPECT_EQ(manager.counters().resolutions, 0u);
}

TEST_P(CmResolutionProtocol, CancelledResolution_LaterResponseIsDropped) {
    pending_resolution resolution(manager, wanted);
    const auto req = peer.receive<cm::sidr_req_message>();
    resolution.call.cancel();
    EXPECT_STREQ(name_of(resolution.status()), "STATUS_CANCELLED");
    peer.send(response_to(req));
    while (manager.counters().unexpected == 0)
        let_pass_ms(1);
    EXPECT_EQ(manager.counters().resolutions, 0u);
}

TEST_P(CmResolutionProtocol, ResponseToAnother_IsNone) {
    pending_resolution resolution(manager, wanted);
    const auto req = peer.receive<cm::sidr_req_message>();
    cm::sidr_rep_message rep = response_to(req);
    ++rep.request_id;
    peer.send(rep);
    EXPECT_FALSE(resolution.call.completes_within(10));
    peer.send(response_to(req));
    EXPECT_EQ(resolution.status(), STATUS_SUCCESS);
    EXPECT_EQ(resolution.reply.qpn, 0x4321u);
}

TEST_P(CmResolutionProtocol, ResponseWithAManagersQueuePair_IsInvalid) {
    pending_resolution resolution(manager, wanted);
    cm::sidr_rep_message rep = response_to(peer.receive<cm::sidr_req_message>());
    rep.qpn = 1;
    peer.send(rep);
    EXPECT_STREQ(name_of(resolution.status()), "STATUS_INVALID_NETWORK_RESPONSE");
}

TEST_P(CmResolutionProtocol, RepeatedRequest_IsOneAndGetsTheSameResponse) {
    const open_listener listener(manager, of_datagrams);
    peer.send(raw_peer::resolution());
    peer.send(raw_peer::resolution());
    pending_ud_request next(listener);
    open_ud_request request = next.object();
    pending_ud_request second(listener);
    EXPECT_FALSE(second.call.completes_within(20));
    EXPECT_EQ(request.respond(valid_response("once")), STATUS_SUCCESS);
    const auto rep = peer.receive<cm::sidr_rep_message>();
    EXPECT_EQ(rep.request_id, 0x55u);
    EXPECT_EQ(rep.service_id, service);
    EXPECT_EQ(rep.qpn, 0x1234u);
    request.close();
    peer.send(raw_peer::resolution());
    EXPECT_EQ(peer.receive<cm::sidr_rep_message>(), rep);
    EXPECT_EQ(manager.counters().duplicates, 2u);
    EXPECT_FALSE(second.call.completes_within(20));
    second.call.cancel();
    EXPECT_EQ(second.call.status(), STATUS_CANCELLED);
}

TEST_P(CmResolutionProtocol, RequestsThatAreNotServed_GetTheirStatus) {
    const open_listener listener(manager, {service, 1, 0, 0, nullptr, IB_CM_LISTEN_DATAGRAMS});
    const auto status_for = [&](const cm::sidr_req_message& req) {
        peer.send(req);
        return peer.receive<cm::sidr_rep_message>().status;
    };
    cm::sidr_req_message req = raw_peer::resolution();
    req.p_key = 0x1234;
    EXPECT_EQ(status_for(req), IB_CM_SIDR_REJECTED);
    req = raw_peer::resolution();
    ++req.service_id;
    EXPECT_EQ(status_for(req), IB_CM_SIDR_INVALID_SERVICE_ID);
    peer.send(raw_peer::resolution(1));
    EXPECT_EQ(status_for(raw_peer::resolution(2)), IB_CM_SIDR_NO_QP) << "the backlog is full";
    EXPECT_EQ(manager.counters().rejected, 3u);
    EXPECT_EQ(manager.counters().resolutions, 1u);
}

IRPVERBS_ON_BOTH_MACHINES(CmResolutionProtocol);

/// Machine time passes at no cost.
class CmResolutionMemory : public CmResolutionProtocol {
protected:
    void exchange(const open_listener& listener, std::uint32_t id) {
        peer.send(raw_peer::resolution(id));
        pending_ud_request next(listener);
        EXPECT_EQ(next.object().respond(valid_response()), STATUS_SUCCESS);
        EXPECT_EQ(peer.receive<cm::sidr_rep_message>().request_id, id);
    }
};

TEST_P(CmResolutionMemory, Response_IsForgottenWhenThePeerHasGivenUp) {
    const open_listener listener(manager, of_datagrams);
    exchange(listener, 1);
    EXPECT_EQ(manager.counters().resolutions, 1u);
    let_pass_ms(9'000);
    EXPECT_EQ(manager.counters().resolutions, 0u);
    exchange(listener, 1);
}

TEST_P(CmResolutionMemory, FloodOfRequests_OldestResponsesAreForgotten) {
    const open_listener listener(manager, of_datagrams);
    for (std::uint32_t id = 1; id <= 1100; ++id)
        exchange(listener, id);
    EXPECT_EQ(manager.counters().resolutions, 1024u);
    peer.send(raw_peer::resolution(1100));
    EXPECT_EQ(peer.receive<cm::sidr_rep_message>().request_id, 1100u);
    EXPECT_EQ(manager.counters().duplicates, 1u);
    exchange(listener, 1); // anew
}

IRPVERBS_ON_THE_SIMULATED_MACHINE(CmResolutionMemory);

enum class server_end { responds, rejects, closes };

/// One client resolves and is cancelled, one server responds, rejects or closes its listener.
void run_one_resolution(dispatch::sim_machine& sim, server_end end, LONGLONG cancelled_after,
                        std::array<int, 3>& all) {
    const attached hcas;
    const two_ends ends(hcas);
    open_listener listener(ends.second, of_datagrams);
    const resolve_at wanted(ends.one.path_to(ends.two));
    pending_resolution resolution(ends.first, wanted);
    sim.spawn("canceller", [&] {
        LARGE_INTEGER due;
        due.QuadPart = -cancelled_after;
        if (cancelled_after != 0) KeDelayExecutionThread(KernelMode, FALSE, &due);
        resolution.call.cancel();
    });
    sim.spawn("server", [&] {
        if (end == server_end::closes) return listener.close();
        pending_ud_request next(listener);
        const open_ud_request request = next.object();
        if (request == nullptr || end == server_end::rejects) return;
        EXPECT_EQ(request.respond(valid_response()), STATUS_SUCCESS);
    });
    sim.run();
    const NTSTATUS status = resolution.status();
    all[0] += status == STATUS_SUCCESS ? 1 : 0;
    all[1] += status == STATUS_REQUEST_NOT_ACCEPTED ? 1 : 0;
    all[2] += status == STATUS_CANCELLED ? 1 : 0;
    EXPECT_EQ(ends.first.counters().resolutions, 0u);
}

class CmResolutionExchange : public ::testing::TestWithParam<server_end> {};

TEST_P(CmResolutionExchange, ResolveCancelRespondClose_EndUnderEverySchedule) {
    std::array<int, 3> all{};
    const auto explore = [&](LONGLONG time, std::uint32_t preemptions) {
        dispatch::explore_options options;
        options.random_runs = options.pct_runs = 0;
        options.exhaustive_runs = 20'000;
        options.preemption_bound = preemptions;
        expect_exhausted(options, [&](dispatch::sim_machine& sim) {
            run_one_resolution(sim, GetParam(), time, all);
        });
    };
    for (LONGLONG time = 0; time <= 40; time += 10)
        explore(time, 0);
    explore(20, 1); // the cancellation meets the response
    EXPECT_GT(all[2], 0);
    EXPECT_GT(all[0] + all[1], 0);
}
std::string name_of_end(const ::testing::TestParamInfo<server_end>& row) {
    if (row.param == server_end::responds) return "Responds";
    return row.param == server_end::rejects ? "Rejects" : "ClosesItsListener";
}
INSTANTIATE_TEST_SUITE_P(Server, CmResolutionExchange,
                         ::testing::Values(server_end::responds, server_end::rejects,
                                           server_end::closes),
                         name_of_end);

} // namespace
