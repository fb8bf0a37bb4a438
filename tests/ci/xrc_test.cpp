// XRC domains in the common half: whom they count, and drivers that have none.
#include "qp_hca.hpp"

#include <ci/data_path.h>

#include <support/both_machines.hpp>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

/// A driver with XRC domains and shared receive queues.
struct xrc_hca : qp_hca {
    xrc_hca() {
        operations.AllocateXrcd = [](HCA_XRCD*, CI_UDATA*, IRP*) { return STATUS_SUCCESS; };
        operations.CreateSrq = [](HCA_SRQ* srq, CI_UDATA*, IRP*) {
            srq->Srq.Num = srq->Create.h_xrcd != nullptr ? 9 : 0;
            return STATUS_SUCCESS;
        };
    }
};

struct xrc_scene {
    explicit xrc_scene(fake_hca& hca) : ca(open_ca(hca.fdo)) {}
    ~xrc_scene() {
        EXPECT_EQ(deallocate_pd(pd), STATUS_SUCCESS);
        EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    }
    xrc_scene(const xrc_scene&) = delete;
    xrc_scene& operator=(const xrc_scene&) = delete;

    IB_XRCD* allocate() const {
        return created<IB_XRCD>([&](IRP* irp) { return CiAllocateXrcd(ca, nullptr, irp); });
    }
    static NTSTATUS deallocate(IB_XRCD* xrcd) {
        return verb_call([&](IRP* irp) { return CiDeallocateXrcd(xrcd, nullptr, irp); }).status();
    }
    ib_qp_create_t target(IB_XRCD* xrcd) const {
        ib_qp_create_t wanted{};
        wanted.qp_type = IB_QPT_XRC_TGT;
        wanted.h_xrcd = xrcd;
        return wanted;
    }
    NTSTATUS status_of(const ib_qp_create_t& wanted) const {
        return verb_call([&](IRP* irp) { return CiCreateQp(pd, &wanted, nullptr, irp); }).status();
    }
    NTSTATUS status_of(const ib_srq_create_t& wanted) const {
        return verb_call([&](IRP* irp) { return CiCreateSrq(pd, &wanted, nullptr, irp); }).status();
    }

    IB_CA* ca;
    IB_PD* pd = allocate_pd(ca);
    IB_CQ* cq = create_cq(ca);
};

class Xrc : public BothMachines {};

TEST_P(Xrc, Domain_IsBusyWhileATargetOrASharedReceiveQueueRemains) {
    xrc_hca hca;
    const xrc_scene open(hca);
    IB_XRCD* xrcd = open.allocate();
    IB_QP* target = create_qp(open.pd, open.target(xrcd));
    EXPECT_EQ(xrc_scene::deallocate(xrcd), STATUS_DEVICE_BUSY);
    EXPECT_EQ(destroy_qp(target), STATUS_SUCCESS);
    IB_SRQ* srq = create_srq(open.pd, {nullptr, {}, 1, 1, xrcd, open.cq});
    EXPECT_EQ(srq->Num, 9u);
    EXPECT_EQ(xrc_scene::deallocate(xrcd), STATUS_DEVICE_BUSY);
    EXPECT_EQ(destroy_cq(open.cq), STATUS_DEVICE_BUSY);
    EXPECT_EQ(destroy_srq(srq), STATUS_SUCCESS);
    EXPECT_EQ(xrc_scene::deallocate(xrcd), STATUS_SUCCESS);
}

TEST_P(Xrc, CreateThatFails_CountsNoDomain) {
    xrc_hca hca;
    hca.operations.CreateSrq = [](HCA_SRQ*, CI_UDATA*, IRP*) {
        return STATUS_INSUFFICIENT_RESOURCES;
    };
    const xrc_scene open(hca);
    IB_XRCD* xrcd = open.allocate();
    EXPECT_EQ(open.status_of(ib_srq_create_t{nullptr, {}, 1, 1, xrcd, open.cq}),
              STATUS_INSUFFICIENT_RESOURCES);
    EXPECT_EQ(xrc_scene::deallocate(xrcd), STATUS_SUCCESS);
}

TEST_P(Xrc, DriverWithoutDomains_HasNoneOfTheTypes) {
    qp_hca hca;
    const xrc_scene open(hca);
    EXPECT_EQ(verb_call([&](IRP* irp) { return CiAllocateXrcd(open.ca, nullptr, irp); }).status(),
              STATUS_NOT_SUPPORTED);
    EXPECT_EQ(open.status_of(small_qp(open.cq, IB_QPT_XRC_INI)), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(open.status_of(open.target(nullptr)), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(open.status_of(ib_srq_create_t{nullptr, {}, 1, 1, nullptr, open.cq}),
              STATUS_NOT_SUPPORTED);
}

TEST_P(Xrc, QueueThatTheTypeLacks_RefusesPostsWhateverTheDriverSet) {
    xrc_hca hca;
    const xrc_scene open(hca);
    IB_XRCD* xrcd = open.allocate();
    IB_QP* target = create_qp(open.pd, open.target(xrcd));
    IB_QP* initiator = create_qp(open.pd, small_qp(open.cq, IB_QPT_XRC_INI));
    for (IB_QP* each : {target, initiator})
        HcaSetQpPosts(
            qp_hca::shared(each),
            [](VOID*, ib_send_wr_t*, ib_send_wr_t**) { return STATUS_SUCCESS; },
            [](VOID*, ib_recv_wr_t*, ib_recv_wr_t**) { return STATUS_SUCCESS; });
    ib_send_wr_t send{};
    ib_recv_wr_t receive{};
    EXPECT_EQ(CiPostSend(target, &send, nullptr), STATUS_INVALID_DEVICE_REQUEST);
    EXPECT_EQ(CiPostRecv(target, &receive, nullptr), STATUS_INVALID_DEVICE_REQUEST);
    EXPECT_EQ(CiPostSend(initiator, &send, nullptr), STATUS_SUCCESS);
    EXPECT_EQ(CiPostRecv(initiator, &receive, nullptr), STATUS_INVALID_DEVICE_REQUEST);
    HcaReportQpEvent(qp_hca::shared(target), IB_AE_INVALID_XRCETH);
    verb_call event([&](IRP* irp) { return CiGetQpAsyncEvent(target, irp); });
    EXPECT_EQ(event.information(), ULONG_PTR{IB_AE_INVALID_XRCETH});
    EXPECT_EQ(destroy_qp(target), STATUS_SUCCESS);
    EXPECT_EQ(destroy_qp(initiator), STATUS_SUCCESS);
    EXPECT_EQ(xrc_scene::deallocate(xrcd), STATUS_SUCCESS);
}

IRPVERBS_ON_BOTH_MACHINES(Xrc);

} // namespace
