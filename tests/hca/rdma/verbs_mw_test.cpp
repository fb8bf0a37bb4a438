// Memory windows of the rdma driver over the fake kernel.
#include "verbs_hcas.hpp"

#include <ci/data_path.h>
#include <ci/qp_changes.hpp>

#include <cerrno>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;
using call = fake_verbs;

/// An open HCA with a region to which windows may be bound, and a queue pair.
struct mw_scene {
    mw_scene() {
        ib_qp_create_t wanted{};
        wanted.h_sq_cq = wanted.h_rq_cq = queue;
        wanted.sq_depth = wanted.rq_depth = 64;
        wanted.sq_sge = wanted.rq_sge = 4;
        pair = create_qp(domain, wanted);
    }
    ~mw_scene() {
        if (region != nullptr) {
            EXPECT_EQ(deregister_mr(region), STATUS_SUCCESS);
        }
        EXPECT_EQ(destroy_qp(pair), STATUS_SUCCESS);
        EXPECT_EQ(destroy_cq(queue), STATUS_SUCCESS);
        EXPECT_EQ(deallocate_pd(domain), STATUS_SUCCESS);
    }
    mw_scene(const mw_scene&) = delete;
    mw_scene& operator=(const mw_scene&) = delete;

    void make_ready() const {
        ci::rtr_attributes path;
        path.av.port_num = 1;
        path.av.grh_valid = TRUE;
        EXPECT_EQ(modify_qp(pair, ci::to_init(IB_QPT_RELIABLE_CONN, {})), STATUS_SUCCESS);
        EXPECT_EQ(modify_qp(pair, ci::to_rtr(IB_QPT_RELIABLE_CONN, path)), STATUS_SUCCESS);
        EXPECT_EQ(modify_qp(pair, ci::to_rts(IB_QPT_RELIABLE_CONN)), STATUS_SUCCESS);
    }
    auto allocating(ULONG type) const {
        return [=, this](IRP* irp) { return CiAllocateMw(domain, type, nullptr, irp); };
    }
    ib_bind_wr_t binding(const IB_MW* window) {
        ib_bind_wr_t made{};
        made.wr_id = 5;
        made.send_opt = IB_SEND_OPT_SIGNALED | IB_SEND_OPT_FENCE;
        made.h_mr = region;
        made.access_ctrl = IB_AC_RDMA_READ | IB_AC_ATOMIC;
        made.current_rkey = window->RKey;
        made.local_ds = {reinterpret_cast<std::uintptr_t>(bytes) + 8, 16, 0};
        return made;
    }

    open_verbs hca;
    IB_PD* domain = allocate_pd(hca.ca);
    IB_CQ* queue = create_cq(hca.ca, 16);
    UCHAR bytes[64]{};
    IB_MR* region = register_mr(domain, bytes, sizeof(bytes), IB_AC_LOCAL_WRITE | IB_AC_MW_BIND);
    IB_QP* pair = nullptr;
};

/// A window; the destructor deallocates it.
class window {
public:
    window(const mw_scene& scene, ULONG type) : mw_(created<IB_MW>(scene.allocating(type))) {}
    ~window() {
        EXPECT_EQ(status_of([&](IRP* irp) { return CiDeallocateMw(mw_, nullptr, irp); }),
                  STATUS_SUCCESS);
    }
    window(const window&) = delete;
    window& operator=(const window&) = delete;
    operator IB_MW*() const { return mw_; }
    IB_MW* operator->() const { return mw_; }

private:
    IB_MW* mw_;
};

class VerbsMw : public BothMachines {
protected:
    VerbsMw() { set_capabilities(IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B); }
    void set_capabilities(unsigned flags) {
        kernel.verbs.at("rxe0").attr.orig_attr.device_cap_flags = flags;
    }

    verbs_kernel kernel;
};

TEST_P(VerbsMw, Allocate_ReportsTheKeyOfTheKernel) {
    const mw_scene scene;
    const window mw(scene, IB_MWT_TYPE_1);
    EXPECT_NE(mw->RKey, 0u);
    ib_mw_attr_t attr{};
    EXPECT_EQ(status_of([&](IRP* irp) { return CiQueryMw(mw, sizeof(attr), &attr, nullptr, irp); }),
              STATUS_SUCCESS);
    EXPECT_EQ(attr.type, ULONG{IB_MWT_TYPE_1});
    EXPECT_EQ(attr.h_pd, scene.domain);
    EXPECT_EQ(attr.rkey, mw->RKey);
    kernel.verbs.fail(call::alloc_mw, {call::by_errno(ENOMEM), call::by_errno(EOPNOTSUPP)});
    EXPECT_EQ(status_of(scene.allocating(IB_MWT_TYPE_1)), STATUS_INSUFFICIENT_RESOURCES);
    EXPECT_EQ(status_of(scene.allocating(IB_MWT_TYPE_1)), STATUS_NOT_SUPPORTED);
}

TEST_P(VerbsMw, TypeThatTheDeviceLacks_IsNotSupported) {
    set_capabilities(IBV_DEVICE_MEM_WINDOW_TYPE_2A);
    const mw_scene scene;
    EXPECT_EQ(status_of(scene.allocating(IB_MWT_TYPE_1)), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(status_of(scene.allocating(IB_MWT_TYPE_2)), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(kernel.verbs.calls(call::alloc_mw), 0u);
}

TEST_P(VerbsMw, CancelInTheKernel_WindowIsUndone) {
    const mw_scene scene;
    kernel.verbs.hold(call::alloc_mw);
    verb_call pended(scene.allocating(IB_MWT_TYPE_1));
    kernel.verbs.wait_for(call::alloc_mw);
    pended.cancel();
    kernel.verbs.release(call::alloc_mw);
    EXPECT_EQ(pended.status(), STATUS_CANCELLED);
}

TEST_P(VerbsMw, BindingOfType1_IsThatOfTheProvider) {
    mw_scene scene;
    scene.make_ready();
    const window mw(scene, IB_MWT_TYPE_1);
    const ULONG before = mw->RKey;
    ib_bind_wr_t what = scene.binding(mw);
    ULONG rkey = 0;
    EXPECT_EQ(CiBindMw(mw, scene.pair, &what, &rkey), STATUS_SUCCESS);
    EXPECT_EQ(rkey, before + 1);
    EXPECT_EQ(mw->RKey, rkey);
    ASSERT_EQ(kernel.verbs.bindings.size(), 1u);
    const ibv_mw_bind& seen = kernel.verbs.bindings[0];
    EXPECT_EQ(seen.wr_id, 5u);
    EXPECT_EQ(seen.send_flags, unsigned{IBV_SEND_SIGNALED | IBV_SEND_FENCE});
    EXPECT_EQ(seen.bind_info.mr->lkey, scene.region->LKey);
    EXPECT_EQ(seen.bind_info.addr, what.local_ds.vaddr);
    EXPECT_EQ(seen.bind_info.length, 16u);
    EXPECT_EQ(seen.bind_info.mw_access_flags,
              unsigned{IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC});

    EXPECT_EQ(CiBindMw(mw, scene.pair, &what, &rkey), STATUS_INVALID_PARAMETER) << "an old key";
    what = scene.binding(mw);
    what.h_mr = nullptr;
    what.local_ds = {};
    EXPECT_EQ(CiBindMw(mw, scene.pair, &what, &rkey), STATUS_NOT_SUPPORTED);
    what = scene.binding(mw);
    kernel.verbs.fail(call::bind_mw, {call::positive(ENOMEM)});
    EXPECT_EQ(CiBindMw(mw, scene.pair, &what, &rkey), STATUS_INSUFFICIENT_RESOURCES);
}

TEST_P(VerbsMw, BindingBeforeTheQueuePairSends_IsRefused) {
    mw_scene scene;
    const window mw(scene, IB_MWT_TYPE_1);
    const ib_bind_wr_t what = scene.binding(mw);
    ULONG rkey = 0;
    EXPECT_EQ(CiBindMw(mw, scene.pair, &what, &rkey), STATUS_INVALID_DEVICE_STATE);
    EXPECT_TRUE(kernel.verbs.bindings.empty());
}

TEST_P(VerbsMw, BindingWithoutItsObjects_IsNotPosted) {
    mw_scene scene;
    scene.make_ready();
    kernel.verbs.records_posts = true;
    const window of_type_1(scene, IB_MWT_TYPE_1);
    ib_send_wr_t what{};
    what.wr_type = WR_BIND_MW;
    for (const ib_send_bind_mw_t& each : {ib_send_bind_mw_t{nullptr, scene.region, 0, 8, 0, 0},
                                          ib_send_bind_mw_t{of_type_1, scene.region, 0, 8, 0, 0}}) {
        what.bind_mw = each;
        EXPECT_EQ(CiPostSend(scene.pair, &what, nullptr), STATUS_INVALID_PARAMETER);
    }
    EXPECT_TRUE(kernel.verbs.sends.empty());
}

TEST_P(VerbsMw, RegionThatTheKernelKeeps_IsBusy) {
    mw_scene scene;
    for (const int error : {EBUSY, EINVAL}) {
        kernel.verbs.fail(call::dereg_mr, {call::positive(error)});
        EXPECT_EQ(deregister_mr(scene.region), STATUS_DEVICE_BUSY);
    }
    EXPECT_EQ(deregister_mr(std::exchange(scene.region, nullptr)), STATUS_SUCCESS);
}

IRPVERBS_ON_BOTH_MACHINES(VerbsMw);

} // namespace
