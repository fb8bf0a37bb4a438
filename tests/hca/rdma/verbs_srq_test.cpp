// Shared receive queues of the rdma driver over the fake kernel.
#include "verbs_hcas.hpp"

#include <ci/data_path.h>

#include <cerrno>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;
using call = fake_verbs;

/// An open HCA with a domain and a shared receive queue.
struct srq_scene {
    srq_scene() = default;
    ~srq_scene() {
        if (srq != nullptr) {
            EXPECT_EQ(destroy_srq(srq), STATUS_SUCCESS);
        }
        EXPECT_EQ(deallocate_pd(domain), STATUS_SUCCESS);
    }
    srq_scene(const srq_scene&) = delete;
    srq_scene& operator=(const srq_scene&) = delete;

    ib_srq_attr_t attributes() const {
        ib_srq_attr_t attr{};
        EXPECT_EQ(verb_call([&](IRP* irp) {
                      return CiQuerySrq(srq, sizeof(attr), &attr, nullptr, irp);
                  }).status(),
                  STATUS_SUCCESS);
        return attr;
    }

    open_verbs hca;
    IB_PD* domain = allocate_pd(hca.ca);
    IB_SRQ* srq = create_srq(domain, {nullptr, {}, 64, 2, nullptr, nullptr});
};

class VerbsSrq : public BothMachines {
protected:
    verbs_kernel kernel;
};

TEST_P(VerbsSrq, Create_ReportsGrantedNumbers) {
    const srq_scene scene;
    EXPECT_EQ(scene.srq->MaxWr, 65u);
    EXPECT_EQ(scene.srq->MaxSge, 2u);
    EXPECT_EQ(scene.attributes().h_pd, scene.domain);
    for (const ib_srq_create_t& wanted : {ib_srq_create_t{nullptr, {}, 1025, 1, nullptr, nullptr},
                                          ib_srq_create_t{nullptr, {}, 1, 9, nullptr, nullptr}})
        EXPECT_EQ(verb_call([&](IRP* irp) {
                      return CiCreateSrq(scene.domain, &wanted, nullptr, irp);
                  }).status(),
                  STATUS_INVALID_PARAMETER);
}

TEST_P(VerbsSrq, Modify_ReadsGrantedSize) {
    const srq_scene scene;
    EXPECT_EQ(modify_srq(scene.srq, {IB_MOD_SRQ_MAX_WR, 100, 0}), STATUS_SUCCESS);
    EXPECT_EQ(scene.srq->MaxWr, 101u);
    EXPECT_EQ(modify_srq(scene.srq, {IB_MOD_SRQ_LIMIT, 0, 7}), STATUS_SUCCESS);
    EXPECT_EQ(scene.attributes().srq_limit, 7u);
    EXPECT_EQ(modify_srq(scene.srq, {IB_MOD_SRQ_LIMIT, 0, 102}), STATUS_INVALID_PARAMETER);
    kernel.verbs.fail(call::modify_srq, {call::positive(EOPNOTSUPP), call::by_errno(ENOMEM)});
    EXPECT_EQ(modify_srq(scene.srq, {IB_MOD_SRQ_MAX_WR, 50, 0}), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(modify_srq(scene.srq, {IB_MOD_SRQ_MAX_WR, 50, 0}), STATUS_INSUFFICIENT_RESOURCES);
    EXPECT_EQ(scene.srq->MaxWr, 101u);
}

TEST_P(VerbsSrq, QueuePair_ReceivesFromTheQueue) {
    const srq_scene scene;
    IB_CQ* queue = create_cq(scene.hca.ca, 16);
    ib_qp_create_t wanted{};
    wanted.h_sq_cq = wanted.h_rq_cq = queue;
    wanted.h_srq = scene.srq;
    wanted.sq_depth = wanted.sq_sge = 1;
    IB_QP* pair = create_qp(scene.domain, wanted);
    ASSERT_NE(pair, nullptr);
    EXPECT_NE(kernel.verbs.shared_of(pair->Num), nullptr);
    ib_recv_wr_t receive{};
    EXPECT_EQ(CiPostRecv(pair, &receive, nullptr), STATUS_INVALID_DEVICE_REQUEST);
    EXPECT_EQ(destroy_qp(pair), STATUS_SUCCESS);
    EXPECT_EQ(destroy_cq(queue), STATUS_SUCCESS);
}

TEST_P(VerbsSrq, LongList_IsPostedInPiecesUpToBadOne) {
    const srq_scene scene;
    kernel.verbs.records_posts = true;
    std::vector<ib_recv_wr_t> list(40);
    for (std::size_t i = 0; i < list.size(); ++i) {
        list[i].wr_id = i + 1;
        list[i].p_next = i + 1 < list.size() ? &list[i + 1] : nullptr;
    }
    EXPECT_EQ(CiPostSrqRecv(scene.srq, list.data(), nullptr), STATUS_SUCCESS);
    EXPECT_EQ(kernel.verbs.lengths_of_lists, (std::vector<std::size_t>{16, 16, 8}));
    EXPECT_EQ(kernel.verbs.receives.back().wr_id, 40u);
    std::array<ib_local_ds_t, 3> segments{};
    list[20].ds_array = segments.data();
    list[20].num_ds = 3;
    ib_recv_wr_t* failed = nullptr;
    EXPECT_EQ(CiPostSrqRecv(scene.srq, list.data(), &failed), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(failed, &list[20]);
    kernel.verbs.space = 5;
    EXPECT_EQ(CiPostSrqRecv(scene.srq, list.data(), &failed), STATUS_INSUFFICIENT_RESOURCES);
    EXPECT_EQ(failed, &list[5]);
}

TEST_P(VerbsSrq, Event_IsReportedAndAcknowledged) {
    const srq_scene scene;
    verb_call waits([&](IRP* irp) { return CiGetSrqAsyncEvent(scene.srq, irp); });
    kernel.verbs.raise_for_srq(IBV_EVENT_SRQ_LIMIT_REACHED);
    EXPECT_EQ(waits.status(), STATUS_SUCCESS);
    EXPECT_EQ(waits.information(), static_cast<ULONG_PTR>(IB_AE_SRQ_LIMIT_REACHED));
    verb_call next([&](IRP* irp) { return CiGetSrqAsyncEvent(scene.srq, irp); });
    kernel.verbs.raise_for_srq(IBV_EVENT_SRQ_ERR);
    EXPECT_EQ(next.information(), static_cast<ULONG_PTR>(IB_AE_SRQ_FATAL));
}

// Its events still name it, so the driver keeps it until the context closes.
TEST_P(VerbsSrq, DestroyThatKernelRefuses_IsRepeatedAtTheEnd) {
    srq_scene scene;
    kernel.verbs.fail(call::destroy_srq, {call::positive(EBUSY)});
    EXPECT_EQ(destroy_srq(std::exchange(scene.srq, nullptr)), STATUS_SUCCESS);
    kernel.verbs.raise_for_srq(IBV_EVENT_SRQ_ERR);
    verb_call port(awaiting_port(scene.hca.ca));
    kernel.raise(IBV_EVENT_SM_CHANGE);
    EXPECT_EQ(port.status(), STATUS_SUCCESS);
}

TEST_P(VerbsSrq, CancelInTheKernel_QueueIsUndone) {
    const srq_scene scene;
    const ib_srq_create_t wanted{nullptr, {}, 4, 1, nullptr, nullptr};
    kernel.verbs.hold(call::create_srq);
    verb_call pended([&](IRP* irp) { return CiCreateSrq(scene.domain, &wanted, nullptr, irp); });
    kernel.verbs.wait_for(call::create_srq);
    pended.cancel();
    kernel.verbs.release(call::create_srq);
    EXPECT_EQ(pended.status(), STATUS_CANCELLED);
}

TEST_P(VerbsSrq, RemovedDevice_PostsAreForcedClosed) {
    const srq_scene scene;
    kernel.verbs.remove("rxe0");
    verb_call fatal([&](IRP* irp) { return CiGetCaFatalEvent(scene.hca.ca, irp); });
    EXPECT_EQ(fatal.status(), STATUS_SUCCESS);
    ib_recv_wr_t receive{};
    EXPECT_EQ(CiPostSrqRecv(scene.srq, &receive, nullptr), STATUS_FILE_FORCED_CLOSED);
}

IRPVERBS_ON_BOTH_MACHINES(VerbsSrq);

} // namespace
