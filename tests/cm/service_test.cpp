// Services, IP addressing, paths of the SA, peer-to-peer connections, and the rules of the calls.
#include "../subnet_manager/managed_fabric.hpp"
#include "cm_end.hpp"

#include <support/both_machines.hpp>

namespace {

using namespace irpverbs::testing;

class CmServices : public BothMachines {
protected:
    attached hcas;
    two_ends ends{hcas};
    connect_to wanted{ends.one.make_qp(), ends.one.path_to(ends.two)};

    NTSTATUS connect_status() { return pending_connect(ends.first, wanted).status(); }
};

TEST_P(CmServices, ServiceIdInUse_IsRefusedUnlessComparedBytesDiffer) {
    const auto listen = [&](const ib_cm_listen_t& what) {
        return verb_call([&](IRP* irp) { return CmListen(ends.second, &what, irp); }).status();
    };
    const UCHAR red[] = {'r'};
    const UCHAR blue[] = {'b'};
    const open_listener first(ends.second, {service, 0, 1, 3, red, 0});
    const open_listener second(ends.second, {service, 0, 1, 3, blue, 0});
    EXPECT_EQ(listen({service, 0, 1, 3, blue, 0}), STATUS_OBJECT_NAME_COLLISION);
    EXPECT_EQ(listen({service, 0, 0, 0, nullptr, 0}), STATUS_OBJECT_NAME_COLLISION);
    EXPECT_EQ(listen({service + 1, 0, 2, 91, red, 0}), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(ends.second.counters().listeners, 2u);

    wanted.p_pdata = "is blue";
    wanted.pdata_length = 7;
    pending_connect connect(ends.first, wanted);
    pending_request request(second);
    EXPECT_EQ(request.connection().reject(), STATUS_SUCCESS);
    EXPECT_EQ(connect.status(), STATUS_REQUEST_NOT_ACCEPTED);
    wanted.p_pdata = "is grey";
    EXPECT_EQ(connect_status(), STATUS_REQUEST_NOT_ACCEPTED);
}

TEST_P(CmServices, IpAddresses_PrecedeThePrivateData) {
    const ib_svc_id_t id = IbCmServiceId(IB_CM_PS_TCP, 7174);
    EXPECT_EQ(id, 0x01061C06u);
    ib_cm_ip_t ip{};
    ip.ip_version = 4;
    ip.src_port = 4711;
    ip.src[15] = 1;
    ip.dst[15] = 2;
    wanted.svc_id = id;
    wanted.p_ip = &ip;
    wanted.p_pdata = "over ip";
    wanted.pdata_length = 8;
    const open_listener listener(ends.second, {id, 0, 0, 0, nullptr, 0});
    pending_connect connect(ends.first, wanted);
    pending_request request(listener);
    const open_connection link = request.connection();
    EXPECT_EQ(request.request.ip.ip_version, 4);
    EXPECT_EQ(request.request.ip.src_port, 4711);
    EXPECT_EQ(request.request.ip.src[15], 1);
    EXPECT_EQ(request.request.ip.dst[15], 2);
    EXPECT_EQ(text_in(request.request.pdata), "over ip");
    EXPECT_EQ(request.request.pdata_length, IB_CM_REQ_IP_PDATA_SIZE);
    EXPECT_EQ(link.reject(), STATUS_SUCCESS);
    EXPECT_EQ(connect.status(), STATUS_REQUEST_NOT_ACCEPTED);
}

TEST_P(CmServices, PathOverEthernet_IsNotSupportedOnInfiniBand) {
    const ib_gid_t address = ends.two.gid();
    sa_path_record_t path{};
    EXPECT_EQ(CmQueryEthernetPath(ends.first, &address, &path), STATUS_NOT_SUPPORTED);
}

TEST_P(CmServices, PeerToPeer_BothEndsBecomeOneConnection) {
    connect_to other(ends.two.make_qp(), ends.two.path_to(ends.one));
    wanted.flags = other.flags = IB_CM_PEER_TO_PEER | IB_CM_ESTABLISH;
    pending_connect one(ends.first, wanted);
    pending_connect two(ends.second, other);
    EXPECT_STREQ(name_of(one.status()), "STATUS_SUCCESS");
    EXPECT_STREQ(name_of(two.status()), "STATUS_SUCCESS");
    const open_connection first = one.connection();
    const open_connection second = two.connection();
    EXPECT_EQ(cm_end::attributes(wanted.h_qp).dest_num, other.h_qp->Num);
    EXPECT_EQ(cm_end::attributes(other.h_qp).dest_num, wanted.h_qp->Num);
    EXPECT_EQ(cm_end::state(wanted.h_qp), ib_qp_state_t{IB_QPS_RTS});
    EXPECT_EQ(cm_end::state(other.h_qp), ib_qp_state_t{IB_QPS_RTS});
}

TEST_P(CmServices, WrongParameters_AreRefusedAtOnce) {
    const auto changed = [&](auto change) {
        connect_to made(wanted.h_qp, wanted.path);
        change(made);
        return pending_connect(ends.first, made).status();
    };
    EXPECT_EQ(changed([](auto& of) { of.h_qp = nullptr; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(changed([](auto& of) { of.pdata_length = 93; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(changed([](auto& of) { of.retry_cnt = 8; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(changed([](auto& of) { of.max_cm_retries = 16; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(changed([](auto& of) { of.flags = 0x80; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(changed([](auto& of) { of.path.P_Key = 0x1234; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(changed([](auto& of) { of.path.Mtu = 0; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(changed([](auto& of) { of.p_primary_path = nullptr; }), STATUS_INVALID_PARAMETER)
        << "opened without the SA";
    IB_QP* const ud = ends.one.make_qp(IB_QPT_UNRELIABLE_DGRM);
    EXPECT_EQ(changed([&](auto& of) { of.h_qp = ud; }), STATUS_INVALID_PARAMETER);
}

TEST_P(CmServices, ManagerInUse_IsNotClosed) {
    const open_listener listener(ends.second);
    EXPECT_EQ(ends.second.close(), STATUS_DEVICE_BUSY);
    const open_cm again(ends.two.ca);
    EXPECT_EQ(verb_call([&](IRP* irp) { return CmOpen(ends.two.ca, 9, 0, irp); }).status(),
              STATUS_INVALID_PARAMETER);
    EXPECT_EQ(verb_call([&](IRP* irp) { return CmOpen(ends.two.ca, 1, 8, irp); }).status(),
              STATUS_INVALID_PARAMETER);
    EXPECT_EQ(verb_call([&](IRP* irp) { return CmOpen(nullptr, 1, 0, irp); }).status(),
              STATUS_INVALID_PARAMETER);
}

IRPVERBS_ON_BOTH_MACHINES(CmServices);

class CmPaths : public BothMachines {};

TEST_P(CmPaths, DestinationGid_PathIsQueriedAtTheSa) {
    const attached hcas;
    const running_manager subnet({.hca = hcas.guid(0), .port = 1});
    EXPECT_EQ(const_cast<running_manager&>(subnet).wait_until_up(), STATUS_SUCCESS);
    cm_end one(hcas, 0);
    cm_end two(hcas, 1);
    const open_cm first(one.ca, 0);
    const open_cm second(two.ca);
    const open_listener listener(second);
    connect_to wanted(one.make_qp(), {});
    wanted.p_primary_path = nullptr;
    wanted.dest_gid = two.gid();
    pending_connect connect(first, wanted);
    pending_request request(listener);
    EXPECT_EQ(request.connection().reject(), STATUS_SUCCESS);
    EXPECT_EQ(connect.status(), STATUS_REQUEST_NOT_ACCEPTED);
    EXPECT_EQ(request.request.primary_path.DLID, one.lid());
    wanted.dest_gid.gid_guid = 0x1234567;
    EXPECT_STREQ(name_of(pending_connect(first, wanted).status()), "STATUS_HOST_UNREACHABLE");
}

IRPVERBS_ON_BOTH_MACHINES(CmPaths);

} // namespace
