// The common half's part of memory windows: the end of a region that the driver refuses, and
// CiBindMw.
#include "qp_hca.hpp"

#include <verbs/verb.hpp>

#include <support/both_machines.hpp>

namespace {

using namespace irpverbs::testing;

struct mw_hca : qp_hca {
    NTSTATUS end_of_region = STATUS_SUCCESS;
    NTSTATUS end_of_binding = STATUS_SUCCESS;
    IRP* query = nullptr; // pended

    mw_hca() {
        operations.DeregisterMr = [](HCA_MR* mr, CI_UDATA*, IRP*) {
            return of(mr->Pd).end_of_region;
        };
        operations.QueryMr = [](HCA_MR* mr, ib_mr_attr_t*, SIZE_T, CI_UDATA*, IRP* irp) {
            IoMarkIrpPending(irp);
            of(mr->Pd).query = irp;
            return STATUS_PENDING;
        };
        operations.AllocateMw = [](HCA_MW* mw, CI_UDATA*, IRP*) {
            mw->Mw.RKey = 0x700;
            return STATUS_SUCCESS;
        };
        operations.BindMw = [](HCA_MW* mw, HCA_QP*, const ib_bind_wr_t* bind, ULONG* rkey) {
            *rkey = bind->current_rkey + 1;
            return of(mw->Pd).end_of_binding;
        };
    }
    static mw_hca& of(const HCA_PD* pd) { return static_cast<mw_hca&>(qp_hca::of(pd)); }
    void complete_query() { HcaComplete(query, STATUS_SUCCESS, 0); }
};

class MemoryWindows : public BothMachines {
protected:
    IB_MW* allocate(ULONG type = IB_MWT_TYPE_1) const {
        return created<IB_MW>(
            [&](IRP* irp) { return CiAllocateMw(opened.pd, type, nullptr, irp); });
    }
    static NTSTATUS deallocate(IB_MW* mw) {
        return verb_call([&](IRP* irp) { return CiDeallocateMw(mw, nullptr, irp); }).status();
    }
    auto querying() {
        return [this](IRP* irp) { return CiQueryMr(mr, sizeof(attr), &attr, nullptr, irp); };
    }
    ib_bind_wr_t binding() {
        ib_bind_wr_t made{};
        made.h_mr = mr;
        made.access_ctrl = IB_AC_RDMA_WRITE;
        made.current_rkey = 0x700;
        made.local_ds = {reinterpret_cast<std::uintptr_t>(bytes), sizeof(bytes), 0};
        return made;
    }

    mw_hca hca;
    open_qp opened{hca};
    UCHAR bytes[8]{};
    ib_mr_attr_t attr{};
    IB_MR* mr = register_mr(opened.pd, bytes, sizeof(bytes), IB_AC_LOCAL_WRITE | IB_AC_MW_BIND);
};

TEST_P(MemoryWindows, RegionThatItsDriverKeeps_IsAsBefore) {
    hca.end_of_region = STATUS_DEVICE_BUSY;
    EXPECT_EQ(deregister_mr(mr), STATUS_DEVICE_BUSY);
    {
        verb_call query(querying());
        EXPECT_EQ(query.returned(), STATUS_PENDING);
        hca.complete_query();
        EXPECT_EQ(query.status(), STATUS_SUCCESS);
    }
    EXPECT_EQ(deregister_mr(mr), STATUS_DEVICE_BUSY);
    hca.end_of_region = STATUS_SUCCESS;
    EXPECT_EQ(deregister_mr(mr), STATUS_SUCCESS);
}

TEST_P(MemoryWindows, RegionThatItsDriverKeepsAfterAVerbUnderWay_IsAsBefore) {
    hca.end_of_region = STATUS_DEVICE_BUSY;
    {
        verb_call query(querying());
        verb_call end([&](IRP* irp) { return CiDeregisterMr(mr, nullptr, irp); });
        EXPECT_EQ(end.returned(), STATUS_PENDING);
        EXPECT_EQ(verb_call(querying()).status(), STATUS_FILE_CLOSED);
        hca.complete_query();
        EXPECT_EQ(query.status(), STATUS_SUCCESS);
        EXPECT_EQ(end.status(), STATUS_DEVICE_BUSY);
    }
    EXPECT_EQ(deallocate_pd(opened.pd), STATUS_DEVICE_BUSY);
    hca.end_of_region = STATUS_SUCCESS;
    EXPECT_EQ(deregister_mr(mr), STATUS_SUCCESS);
}

TEST_P(MemoryWindows, BoundWindow_HasTheNewKey) {
    IB_MW* mw = allocate();
    const ib_bind_wr_t what = binding();
    ULONG rkey = 0;
    hca.end_of_binding = STATUS_INSUFFICIENT_RESOURCES;
    EXPECT_EQ(CiBindMw(mw, opened.qp, &what, &rkey), STATUS_INSUFFICIENT_RESOURCES);
    EXPECT_EQ(mw->RKey, 0x700u);
    hca.end_of_binding = STATUS_SUCCESS;
    EXPECT_EQ(CiBindMw(mw, opened.qp, &what, &rkey), STATUS_SUCCESS);
    EXPECT_EQ(rkey, 0x701u);
    EXPECT_EQ(mw->RKey, 0x701u);
    EXPECT_EQ(deallocate(mw), STATUS_SUCCESS);
    EXPECT_EQ(deregister_mr(mr), STATUS_SUCCESS);
}

TEST_P(MemoryWindows, DriverWithoutBinding_ReturnsNotSupported) {
    HCA_OPERATIONS none{};
    irpverbs::ci::complete_operations(none);
    hca.operations.BindMw = none.BindMw;
    IB_MW* mw = allocate();
    const ib_bind_wr_t what = binding();
    ULONG rkey = 0;
    EXPECT_EQ(CiBindMw(mw, opened.qp, &what, &rkey), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(deallocate(mw), STATUS_SUCCESS);
    EXPECT_EQ(deregister_mr(mr), STATUS_SUCCESS);
}

TEST_P(MemoryWindows, FatalEvent_BindingAndArmingAreForcedClosed) {
    IB_MW* mw = allocate();
    const ib_bind_wr_t what = binding();
    ULONG rkey = 0;
    HcaReportFatal(hca.fdo);
    EXPECT_EQ(CiBindMw(mw, opened.qp, &what, &rkey), STATUS_FILE_FORCED_CLOSED);
    EXPECT_EQ(CiArmCqNow(opened.cq, IB_CQ_ARM_NEXT), STATUS_FILE_FORCED_CLOSED);
    EXPECT_EQ(deallocate(mw), STATUS_SUCCESS);
    EXPECT_EQ(deregister_mr(mr), STATUS_SUCCESS);
}

IRPVERBS_ON_BOTH_MACHINES(MemoryWindows);

} // namespace
