// The common half's part of protection domains, memory regions and queue pairs.
#include "qp_hca.hpp"

#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/exhaustive_gtest.hpp>

#include <ci/data_path.h>
#include <verbs/verb.hpp>

#include <array>
#include <deque>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

class QueuePairs : public BothMachines {};

auto create_of(IB_PD* pd, const ib_qp_create_t& wanted) {
    return [&wanted, pd](IRP* irp) { return CiCreateQp(pd, &wanted, nullptr, irp); };
}
auto modify_of(IB_QP* qp, const ib_qp_mod_t& change) {
    return [&change, qp](IRP* irp) { return CiModifyQp(qp, &change, nullptr, irp); };
}
auto flush_of(IB_QP* qp) {
    return [qp](IRP* irp) { return CiFlushQp(qp, irp); };
}
auto destroy_of(IB_QP* qp) {
    return [qp](IRP* irp) { return CiDestroyQp(qp, nullptr, irp); };
}
auto event_of(IB_QP* qp) {
    return [qp](IRP* irp) { return CiGetQpAsyncEvent(qp, irp); };
}

TEST_P(QueuePairs, Children_KeepDomainAndQueuesBusyUntilDestroyed) {
    qp_hca hca;
    IB_CA* ca = open_ca(hca.fdo);
    IB_PD* pd = allocate_pd(ca);
    IB_CQ* sends = create_cq(ca);
    IB_CQ* receives = create_cq(ca);
    ib_qp_create_t wanted = small_qp(sends);
    wanted.h_rq_cq = receives;
    IB_QP* qp = create_qp(pd, wanted);
    UCHAR byte = 0;
    IB_MR* mr = register_mr(pd, &byte, 1, 0);
    EXPECT_EQ(close_ca(ca), STATUS_DEVICE_BUSY);
    EXPECT_EQ(deallocate_pd(pd), STATUS_DEVICE_BUSY);
    EXPECT_EQ(destroy_cq(sends), STATUS_DEVICE_BUSY);
    EXPECT_EQ(destroy_cq(receives), STATUS_DEVICE_BUSY);
    EXPECT_EQ(destroy_qp(qp), STATUS_SUCCESS);
    EXPECT_EQ(deallocate_pd(pd), STATUS_DEVICE_BUSY);
    EXPECT_EQ(destroy_cq(sends), STATUS_SUCCESS);
    EXPECT_EQ(destroy_cq(receives), STATUS_SUCCESS);
    EXPECT_EQ(deregister_mr(mr), STATUS_SUCCESS);
    EXPECT_EQ(deallocate_pd(pd), STATUS_SUCCESS);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    EXPECT_EQ(hca.domains + hca.regions + hca.pairs, 0);
}

TEST_P(QueuePairs, FailedCreate_LeavesNoChild) {
    qp_hca hca;
    IB_CA* ca = open_ca(hca.fdo);
    IB_PD* pd = allocate_pd(ca);
    IB_CQ* cq = create_cq(ca);
    hca.operations.CreateQp = [](HCA_QP*, CI_UDATA*, IRP*) { return STATUS_IO_DEVICE_ERROR; };
    const ib_qp_create_t wanted = small_qp(cq);
    EXPECT_EQ(verb_call(create_of(pd, wanted)).status(), STATUS_IO_DEVICE_ERROR);
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
    EXPECT_EQ(deallocate_pd(pd), STATUS_SUCCESS);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

// A queue that is being destroyed accepts no queue pair, and the other queue is not held.
TEST_P(QueuePairs, QueueThatCloses_CreateReturnsFileClosedAndHoldsNothing) {
    qp_hca hca;
    IB_CA* ca = open_ca(hca.fdo);
    IB_PD* pd = allocate_pd(ca);
    IB_CQ* sends = create_cq(ca);
    IB_CQ* receives = create_cq(ca);
    IRP* held = nullptr;
    static IRP** holds = nullptr;
    holds = &held;
    hca.operations.ResizeCq = [](HCA_CQ*, ULONG, CI_UDATA*, IRP* irp) {
        IoMarkIrpPending(irp);
        *holds = irp;
        return STATUS_PENDING;
    };
    verb_call resize([&](IRP* irp) { return CiResizeCq(receives, 9, nullptr, irp); });
    verb_call destroy([&](IRP* irp) { return CiDestroyCq(receives, nullptr, irp); });
    EXPECT_FALSE(destroy.done());
    ib_qp_create_t wanted = small_qp(sends);
    wanted.h_rq_cq = receives;
    EXPECT_EQ(verb_call(create_of(pd, wanted)).status(), STATUS_FILE_CLOSED);
    HcaComplete(held, STATUS_SUCCESS, 9);
    EXPECT_EQ(destroy.status(), STATUS_SUCCESS);
    EXPECT_EQ(destroy_cq(sends), STATUS_SUCCESS);
    EXPECT_EQ(deallocate_pd(pd), STATUS_SUCCESS);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

// The size in the public structure is that of the resize that executed last.
TEST_P(QueuePairs, ResizeDuringAnother_ReachesTheDriverAfterIt) {
    qp_hca hca;
    IB_CA* ca = open_ca(hca.fdo);
    IB_CQ* cq = create_cq(ca);
    static std::vector<IRP*> resizes;
    resizes.clear();
    hca.operations.ResizeCq = [](HCA_CQ* queue, ULONG entries, CI_UDATA*, IRP* irp) {
        queue->Cq.NumCqes = entries;
        resizes.push_back(irp);
        IoMarkIrpPending(irp);
        return STATUS_PENDING;
    };
    verb_call first([&](IRP* irp) { return CiResizeCq(cq, 9, nullptr, irp); });
    verb_call second([&](IRP* irp) { return CiResizeCq(cq, 20, nullptr, irp); });
    verb_call third([&](IRP* irp) { return CiResizeCq(cq, 30, nullptr, irp); });
    EXPECT_EQ(resizes.size(), 1u);
    EXPECT_TRUE(third.cancel());
    HcaComplete(resizes.at(0), STATUS_SUCCESS, 9);
    EXPECT_EQ(first.status(), STATUS_SUCCESS);
    ASSERT_EQ(resizes.size(), 2u);
    EXPECT_EQ(cq->NumCqes, 20u);
    HcaComplete(resizes.at(1), STATUS_SUCCESS, 20);
    EXPECT_EQ(second.status(), STATUS_SUCCESS);
    EXPECT_EQ(third.status(), STATUS_CANCELLED);
    EXPECT_EQ(resizes.size(), 2u);
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

TEST_P(QueuePairs, SharedQueueModifyDuringAnother_ReachesTheDriverAfterIt) {
    qp_hca hca;
    IB_CA* ca = open_ca(hca.fdo);
    IB_PD* pd = allocate_pd(ca);
    hca.operations.CreateSrq = [](HCA_SRQ*, CI_UDATA*, IRP*) { return STATUS_SUCCESS; };
    static std::vector<IRP*> changes;
    changes.clear();
    hca.operations.ModifySrq = [](HCA_SRQ* srq, const ib_srq_mod_t* modify, CI_UDATA*, IRP* irp) {
        srq->Srq.MaxWr = modify->max_wr;
        changes.push_back(irp);
        IoMarkIrpPending(irp);
        return STATUS_PENDING;
    };
    ib_srq_create_t wanted{};
    wanted.max_wr = wanted.max_sge = 1;
    verb_call create([&](IRP* irp) { return CiCreateSrq(pd, &wanted, nullptr, irp); });
    ASSERT_EQ(create.status(), STATUS_SUCCESS);
    IB_SRQ* srq = create.object<IB_SRQ>();
    const ib_srq_mod_t to_nine{IB_MOD_SRQ_MAX_WR, 9, 0};
    const ib_srq_mod_t to_twenty{IB_MOD_SRQ_MAX_WR, 20, 0};
    verb_call first([&](IRP* irp) { return CiModifySrq(srq, &to_nine, nullptr, irp); });
    verb_call second([&](IRP* irp) { return CiModifySrq(srq, &to_twenty, nullptr, irp); });
    verb_call destroy([&](IRP* irp) { return CiDestroySrq(srq, nullptr, irp); });
    EXPECT_EQ(changes.size(), 1u);
    EXPECT_EQ(srq->MaxWr, 9u);
    EXPECT_EQ(second.status(), STATUS_CANCELLED);
    EXPECT_FALSE(destroy.done());
    HcaComplete(changes.at(0), STATUS_SUCCESS, 0);
    EXPECT_EQ(first.status(), STATUS_SUCCESS);
    EXPECT_EQ(destroy.status(), STATUS_SUCCESS);
    EXPECT_EQ(deallocate_pd(pd), STATUS_SUCCESS);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

void refuse_wrong_parameters(const qp_hca& hca, const open_qp& open, IB_CA* other) {
    IB_CQ* other_cq = create_cq(other);
    const auto create = [&](auto change) {
        ib_qp_create_t wanted = small_qp(open.cq);
        change(wanted);
        return verb_call(create_of(open.pd, wanted)).status();
    };
    EXPECT_EQ(create([](auto& with) { with.h_sq_cq = nullptr; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(create([](auto& with) { with.h_rq_cq = nullptr; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(create([&](auto& with) { with.h_rq_cq = other_cq; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(create([](auto& with) { with.qp_type = 2; }), STATUS_INVALID_PARAMETER);
    for (const ib_qp_type_t type : {IB_QPT_QP0, IB_QPT_QP1, IB_QPT_RAW_ETHER})
        EXPECT_EQ(create([=](auto& with) { with.qp_type = type; }), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(
        verb_call([&](IRP* irp) { return CiCreateQp(open.pd, nullptr, nullptr, irp); }).status(),
        STATUS_INVALID_PARAMETER);
    EXPECT_EQ(
        verb_call([&](IRP* irp) { return CiModifyQp(open.qp, nullptr, nullptr, irp); }).status(),
        STATUS_INVALID_PARAMETER);
    for (const auto& [type, status] : {std::pair{1u, STATUS_NOT_SUPPORTED},
                                       {3u, STATUS_NOT_SUPPORTED},
                                       {4u, STATUS_INVALID_PARAMETER},
                                       {~0u, STATUS_INVALID_PARAMETER}})
        EXPECT_EQ(
            verb_call([&](IRP* irp) { return CiAllocatePd(open.ca, type, nullptr, irp); }).status(),
            status);
    EXPECT_EQ(hca.pairs, 1);
    EXPECT_EQ(hca.domains, 1);
    EXPECT_EQ(destroy_cq(other_cq), STATUS_SUCCESS);
}

TEST_P(QueuePairs, WrongParameters_NeverReachTheDriver) {
    qp_hca hca;
    IB_CA* other = open_ca(hca.fdo);
    {
        const open_qp open(hca);
        refuse_wrong_parameters(hca, open, other);
    }
    EXPECT_EQ(close_ca(other), STATUS_SUCCESS);
}

TEST_P(QueuePairs, RegionsRange_IsCheckedForRightsAndOverflow) {
    qp_hca hca;
    open_qp open(hca);
    const auto registered = [&](std::uintptr_t at, ULONGLONG length, ib_access_t access,
                                ULONGLONG iova = 0) {
        const ib_mr_create_t wanted{reinterpret_cast<void*>(at), length, access, iova};
        verb_call call([&](IRP* irp) { return CiRegisterMr(open.pd, &wanted, nullptr, irp); });
        const NTSTATUS status = call.status();
        if (status == STATUS_SUCCESS) {
            EXPECT_EQ(deregister_mr(call.object<IB_MR>()), STATUS_SUCCESS);
        }
        return status;
    };
    constexpr auto last = ~std::uintptr_t{0};
    EXPECT_EQ(registered(4096, 1, 0), STATUS_SUCCESS);
    EXPECT_EQ(registered(4096, 0, 0), STATUS_SUCCESS);
    EXPECT_EQ(registered(last, 0, 0), STATUS_SUCCESS);
    EXPECT_EQ(registered(0, 1, 0), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(registered(last, 1, 0), STATUS_SUCCESS);
    EXPECT_EQ(registered(last, 2, 0), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(registered(1, ~0ull, 0), STATUS_SUCCESS);
    EXPECT_EQ(registered(2, ~0ull, 0), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(registered(4096, 1, 0, last), STATUS_SUCCESS);
    EXPECT_EQ(registered(4096, 2, 0, last), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(registered(4096, 1, IB_AC_ZERO_BASED, 1), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(registered(4096, 1, 0x80), STATUS_INVALID_PARAMETER);
    for (const ib_access_t remote : {IB_AC_RDMA_WRITE, IB_AC_ATOMIC}) {
        EXPECT_EQ(registered(4096, 1, remote), STATUS_ACCESS_DENIED);
        EXPECT_EQ(registered(4096, 1, remote | IB_AC_LOCAL_WRITE), STATUS_SUCCESS);
    }
    EXPECT_EQ(registered(4096, 1, IB_AC_RDMA_READ), STATUS_SUCCESS);
}

TEST_P(QueuePairs, IllegalModify_NeverReachesTheDriver) {
    qp_hca hca;
    open_qp open(hca);
    EXPECT_EQ(modify_qp(open.qp, to_state(IB_QPS_RTS)), STATUS_INVALID_DEVICE_STATE);
    EXPECT_EQ(modify_qp(open.qp, to_state(IB_QPS_INIT)), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(verb_call(flush_of(open.qp)).status(), STATUS_INVALID_DEVICE_STATE);
    EXPECT_TRUE(hca.modified.empty());
    EXPECT_EQ(modify_qp(open.qp, to_init()), STATUS_SUCCESS);
    EXPECT_EQ(verb_call(flush_of(open.qp)).status(), STATUS_SUCCESS);
    EXPECT_EQ(hca.modified, (std::vector<ib_qp_state_t>{IB_QPS_INIT, IB_QPS_ERROR}));
}

/// Pends the first modify that the driver receives.
IRP* pend_first_modify(qp_hca& hca, IB_QP* qp, verb_call& first, const ib_qp_mod_t& change) {
    IRP* held = nullptr;
    hca.on_modify = [&](const ib_qp_mod_t&, IRP* irp) {
        IoMarkIrpPending(irp);
        held = irp;
        return STATUS_PENDING;
    };
    first.send(modify_of(qp, change));
    hca.on_modify = nullptr;
    return held;
}

// The second modify is legal only after the first.
TEST_P(QueuePairs, ModifyDuringAnother_WaitsAndIsCheckedAgainstTheNewState) {
    qp_hca hca;
    open_qp open(hca);
    const ib_qp_mod_t init = to_init();
    const ib_qp_mod_t error = to_state(IB_QPS_ERROR);
    verb_call first;
    IRP* held = pend_first_modify(hca, open.qp, first, init);
    verb_call second(modify_of(open.qp, error));
    verb_call third(flush_of(open.qp));
    EXPECT_FALSE(second.done() || third.done());
    EXPECT_EQ(hca.modified.size(), 1u);
    HcaSetQpState(qp_hca::shared(open.qp), IB_QPS_INIT);
    HcaComplete(held, STATUS_SUCCESS, 0);
    EXPECT_EQ(first.status(), STATUS_SUCCESS);
    EXPECT_EQ(second.status(), STATUS_SUCCESS);
    EXPECT_EQ(third.status(), STATUS_SUCCESS);
    EXPECT_EQ(hca.modified, (std::vector<ib_qp_state_t>{IB_QPS_INIT, IB_QPS_ERROR, IB_QPS_ERROR}));
}

TEST_P(QueuePairs, CancelOfAModifyThatWaits_NeverReachesTheDriver) {
    qp_hca hca;
    open_qp open(hca);
    const ib_qp_mod_t init = to_init();
    verb_call first;
    IRP* held = pend_first_modify(hca, open.qp, first, init);
    verb_call second(modify_of(open.qp, init));
    verb_call third(flush_of(open.qp));
    EXPECT_TRUE(second.cancel());
    EXPECT_EQ(second.status(), STATUS_CANCELLED);
    HcaComplete(held, STATUS_IO_DEVICE_ERROR, 0);
    EXPECT_EQ(first.status(), STATUS_IO_DEVICE_ERROR);
    EXPECT_EQ(third.status(), STATUS_INVALID_DEVICE_STATE) << "the first one failed";
    EXPECT_EQ(hca.modified.size(), 1u);
}

TEST_P(QueuePairs, DestroyDuringAModify_CancelsThoseThatWait) {
    qp_hca hca;
    open_qp open(hca);
    const ib_qp_mod_t init = to_init();
    verb_call first;
    IRP* held = pend_first_modify(hca, open.qp, first, init);
    verb_call second(modify_of(open.qp, init));
    verb_call destroy(destroy_of(std::exchange(open.qp, nullptr)));
    EXPECT_EQ(second.status(), STATUS_CANCELLED);
    EXPECT_FALSE(destroy.done());
    HcaComplete(held, STATUS_SUCCESS, 0);
    EXPECT_EQ(destroy.status(), STATUS_SUCCESS);
    EXPECT_EQ(hca.pairs, 0);
}

// Each of them would be a level of calls if the next were submitted by the completion of the one
// before.
TEST_P(QueuePairs, ManyModifiesThatWait_CompleteInOrderOnASmallStack) {
    qp_hca hca;
    open_qp open(hca);
    const ib_qp_mod_t init = to_init();
    verb_call first;
    IRP* held = pend_first_modify(hca, open.qp, first, init);
    int calls = 0;
    int deepest = 0;
    int inside = 0;
    std::deque<verb_call> others;
    for (int i = 0; i < 100; ++i) {
        others.emplace_back();
        others.back().on_completion([&, i] { EXPECT_EQ(calls, i + 1); });
        others.back().send(modify_of(open.qp, init));
    }
    hca.on_modify = [&](const ib_qp_mod_t&, IRP* irp) {
        ++calls;
        deepest = std::max(deepest, ++inside);
        HcaComplete(irp, STATUS_SUCCESS, 0); // as a driver that pends and completes at once
        --inside;
        return STATUS_PENDING;
    };
    hca.on_modify = [&, inner = hca.on_modify](const ib_qp_mod_t& modify, IRP* irp) {
        IoMarkIrpPending(irp);
        return inner(modify, irp);
    };
    HcaComplete(held, STATUS_SUCCESS, 0);
    for (verb_call& each : others)
        EXPECT_EQ(each.status(), STATUS_SUCCESS);
    EXPECT_EQ(calls, 100);
    EXPECT_EQ(deepest, 1);
}

TEST_P(QueuePairs, Events_AreLatchedAndCallUp) {
    qp_hca hca;
    open_qp open(hca);
    HcaReportQpEvent(qp_hca::shared(open.qp), IB_AE_SQ_DRAINED);
    HcaReportQpEvent(qp_hca::shared(open.qp), IB_AE_WQ_FATAL);
    EXPECT_EQ(verb_call(event_of(open.qp)).information(), ULONG_PTR{IB_AE_SQ_DRAINED});
    EXPECT_EQ(verb_call(event_of(open.qp)).information(), ULONG_PTR{IB_AE_WQ_FATAL});

    std::vector<IB_ASYNC_EVENT> seen;
    ib_qp_create_t wanted = small_qp(open.cq);
    wanted.qp_context = &seen;
    wanted.dispatch.AsyncEvent = [](void* context, IB_ASYNC_EVENT event) {
        static_cast<std::vector<IB_ASYNC_EVENT>*>(context)->push_back(event);
    };
    IB_QP* with_calls = create_qp(open.pd, wanted);
    HcaReportQpEvent(qp_hca::shared(with_calls), IB_AE_COMMUNICATION_ESTABLISHED);
    EXPECT_EQ(seen, std::vector{IB_AE_COMMUNICATION_ESTABLISHED});
    EXPECT_EQ(destroy_qp(with_calls), STATUS_SUCCESS);

    verb_call waits(event_of(open.qp));
    EXPECT_EQ(destroy_qp(std::exchange(open.qp, nullptr)), STATUS_SUCCESS);
    EXPECT_EQ(waits.status(), STATUS_CANCELLED);
}

TEST_P(QueuePairs, EventThatIsNoQueuePairs_IsABugCheck) {
    qp_hca hca;
    const open_qp open(hca);
    for (const int code : {0, int{IB_AE_SRQ_LIMIT_REACHED}, int{IB_AE_SRQ_FATAL},
                           int{IB_AE_CQ_ERROR}, int{IB_AE_LOCAL_FATAL}}) {
        const auto report = report_of(
            [&] { HcaReportQpEvent(qp_hca::shared(open.qp), static_cast<IB_ASYNC_EVENT>(code)); });
        ASSERT_TRUE(report.has_value()) << code;
        EXPECT_NE(report->text.find("HcaReportQpEvent"), std::string::npos) << report->text;
    }
}

/// A list of two work requests of each kind, and the driver's counts of them.
struct post_counts {
    std::array<ib_send_wr_t, 2> sends{};
    std::array<ib_recv_wr_t, 2> receives{};
    int sent = 0;
    int received = 0;

    post_counts() {
        sends[0].p_next = &sends[1];
        receives[0].p_next = &receives[1];
    }
    static NTSTATUS send(VOID* queue, ib_send_wr_t* first, ib_send_wr_t** failed) {
        auto& self = *static_cast<post_counts*>(queue);
        if (++self.sent == 1) return STATUS_SUCCESS;
        *failed = first->p_next;
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    static NTSTATUS receive(VOID* queue, ib_recv_wr_t*, ib_recv_wr_t**) {
        ++static_cast<post_counts*>(queue)->received;
        return STATUS_SUCCESS;
    }
};

TEST_P(QueuePairs, Posts_CallTheFunctionsThatTheDriverSet) {
    qp_hca hca;
    const open_qp open(hca);
    post_counts counts;
    HCA_QP* shared = qp_hca::shared(open.qp);
    shared->Posts.Queue = &counts;
    ib_send_wr_t* failed_send = nullptr;
    ib_recv_wr_t* failed_receive = nullptr;
    EXPECT_EQ(CiPostSend(open.qp, counts.sends.data(), &failed_send), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(failed_send, counts.sends.data());
    EXPECT_EQ(CiPostRecv(open.qp, counts.receives.data(), &failed_receive), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(failed_receive, counts.receives.data());

    HcaSetQpPosts(shared, post_counts::send, nullptr);
    EXPECT_EQ(CiPostSend(open.qp, counts.sends.data(), nullptr), STATUS_SUCCESS);
    EXPECT_EQ(CiPostSend(open.qp, counts.sends.data(), &failed_send),
              STATUS_INSUFFICIENT_RESOURCES);
    EXPECT_EQ(failed_send, &counts.sends[1]);
    EXPECT_EQ(CiPostSend(open.qp, counts.sends.data(), nullptr), STATUS_INSUFFICIENT_RESOURCES);
    EXPECT_EQ(CiPostRecv(open.qp, counts.receives.data(), nullptr), STATUS_NOT_SUPPORTED);
    HcaSetQpPosts(shared, nullptr, post_counts::receive);
    EXPECT_EQ(CiPostSend(open.qp, counts.sends.data(), nullptr), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(CiPostRecv(open.qp, counts.receives.data(), nullptr), STATUS_SUCCESS);
    EXPECT_EQ(counts.sent, 3);
    EXPECT_EQ(counts.received, 1);
}

TEST_P(QueuePairs, PostsWithoutQueuePairOrList_AreInvalidParameters) {
    qp_hca hca;
    const open_qp open(hca);
    post_counts counts;
    ib_send_wr_t* failed_send = nullptr;
    ib_recv_wr_t* failed_receive = nullptr;
    EXPECT_EQ(CiPostSend(nullptr, counts.sends.data(), &failed_send), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(failed_send, counts.sends.data());
    EXPECT_EQ(CiPostRecv(nullptr, counts.receives.data(), &failed_receive),
              STATUS_INVALID_PARAMETER);
    EXPECT_EQ(failed_receive, counts.receives.data());
    EXPECT_EQ(CiPostSend(open.qp, nullptr, nullptr), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(CiPostRecv(open.qp, nullptr, nullptr), STATUS_INVALID_PARAMETER);
}

TEST_P(QueuePairs, FatalEvent_PostsAndVerbsFailAndDestroyWorks) {
    qp_hca hca;
    open_qp open(hca);
    post_counts counts;
    HCA_QP* shared = qp_hca::shared(open.qp);
    shared->Posts.Queue = &counts;
    HcaSetQpPosts(shared, post_counts::send, post_counts::receive);
    HcaReportFatal(hca.fdo);
    EXPECT_EQ(CiPostSend(open.qp, counts.sends.data(), nullptr), STATUS_FILE_FORCED_CLOSED);
    EXPECT_EQ(CiPostRecv(open.qp, counts.receives.data(), nullptr), STATUS_FILE_FORCED_CLOSED);
    HcaSetQpPosts(shared, post_counts::send, post_counts::receive);
    EXPECT_EQ(CiPostSend(open.qp, counts.sends.data(), nullptr), STATUS_FILE_FORCED_CLOSED);
    EXPECT_EQ(modify_qp(open.qp, to_init()), STATUS_FILE_FORCED_CLOSED);
    EXPECT_EQ(verb_call(event_of(open.qp)).status(), STATUS_FILE_FORCED_CLOSED);
    EXPECT_EQ(destroy_qp(std::exchange(open.qp, nullptr)), STATUS_SUCCESS);
    EXPECT_EQ(counts.sent + counts.received, 0);
}

TEST_P(QueuePairs, MissingOperations_ReturnNotSupportedExceptThoseThatEnd) {
    qp_hca hca;
    open_qp open(hca);
    UCHAR byte = 0;
    IB_MR* mr = register_mr(open.pd, &byte, 1, 0);
    const int pairs = hca.pairs;
    hca.operations = {};
    irpverbs::ci::complete_operations(hca.operations);
    const auto hole = [](const char* name, const auto& verb) {
        EXPECT_STREQ(name_of(verb_call(verb).status()), "STATUS_NOT_SUPPORTED") << name;
    };
    const ib_mr_create_t region{&byte, 1, 0, 0};
    const ib_qp_create_t wanted = small_qp(open.cq);
    const ib_qp_mod_t init = to_init();
    ib_mr_attr_t mr_attr{};
    ib_qp_attr_t qp_attr{};
    hole("AllocatePd", [&](IRP* irp) { return CiAllocatePd(open.ca, 0, nullptr, irp); });
    hole("RegisterMr", [&](IRP* irp) { return CiRegisterMr(open.pd, &region, nullptr, irp); });
    hole("QueryMr",
         [&](IRP* irp) { return CiQueryMr(mr, sizeof(mr_attr), &mr_attr, nullptr, irp); });
    hole("AllocateFrmr", [&](IRP* irp) { return CiAllocateFrmr(open.pd, 1, nullptr, irp); });
    const ib_phys_range_t range{4096, 4096};
    const ib_phys_create_t physical{4096, 1, 0, &range, 4096, 4096, 0};
    hole("RegisterPmr", [&](IRP* irp) { return CiRegisterPmr(open.pd, &physical, nullptr, irp); });
    const ib_smr_create_t sharing{mr, &byte, 0};
    hole("RegisterSmr", [&](IRP* irp) { return CiRegisterSmr(open.pd, &sharing, nullptr, irp); });
    const ib_mr_mod_t change{IB_MR_MOD_ACCESS, nullptr, {}};
    hole("ModifyMr", [&](IRP* irp) { return CiModifyMr(mr, &change, nullptr, irp); });
    hole("CreateQp", create_of(open.pd, wanted));
    hole("ModifyQp", modify_of(open.qp, init));
    hole("QueryQp",
         [&](IRP* irp) { return CiQueryQp(open.qp, sizeof(qp_attr), &qp_attr, nullptr, irp); });
    HcaSetQpState(qp_hca::shared(open.qp), IB_QPS_INIT);
    hole("FlushQp", flush_of(open.qp));
    EXPECT_EQ(deregister_mr(mr), STATUS_SUCCESS);
    EXPECT_EQ(destroy_qp(std::exchange(open.qp, nullptr)), STATUS_SUCCESS);
    EXPECT_EQ(hca.pairs, pairs);
    hca.queues = 0; // DestroyCq is missing, too
}

// The words that the driver sees of a verb with a buffer and data of a user's library.
TEST_P(QueuePairs, UserData_ReachTheDriverBesideTheBuffer) {
    qp_hca hca;
    open_qp open(hca);
    static CI_UDATA* seen = nullptr;
    hca.operations.QueryQp = [](HCA_QP*, ib_qp_attr_t* attr, SIZE_T size, CI_UDATA* user,
                                IRP* irp) {
        seen = user;
        ib_qp_attr_t made{};
        made.size = sizeof(made);
        made.num = 77;
        return HcaCopyAttributes(&made, sizeof(made), attr, size, irp);
    };
    hca.operations.ModifyQp = [](HCA_QP* qp, const ib_qp_mod_t* modify, CI_UDATA* user, IRP*) {
        seen = user;
        HcaSetQpState(qp, modify->req_state);
        return STATUS_SUCCESS;
    };
    hca.operations.CreateQp = [](HCA_QP* qp, CI_UDATA* user, IRP*) {
        seen = user;
        ++qp_hca::of(qp->Pd).pairs;
        return STATUS_SUCCESS;
    };
    CI_UDATA data{nullptr, nullptr, 0, 0};
    ib_qp_attr_t attr{};
    EXPECT_EQ(verb_call([&](IRP* irp) {
                  return CiQueryQp(open.qp, sizeof(attr), &attr, &data, irp);
              }).status(),
              STATUS_SUCCESS);
    EXPECT_EQ(attr.num, 77u);
    EXPECT_EQ(std::exchange(seen, nullptr), &data);
    const ib_qp_mod_t init = to_init();
    EXPECT_EQ(verb_call([&](IRP* irp) { return CiModifyQp(open.qp, &init, &data, irp); }).status(),
              STATUS_SUCCESS);
    EXPECT_EQ(std::exchange(seen, nullptr), &data);
    const ib_qp_create_t wanted = small_qp(open.cq);
    verb_call create([&](IRP* irp) { return CiCreateQp(open.pd, &wanted, &data, irp); });
    EXPECT_EQ(create.status(), STATUS_SUCCESS);
    EXPECT_EQ(seen, &data);
    EXPECT_EQ(destroy_qp(create.object<IB_QP>()), STATUS_SUCCESS);
}

IRPVERBS_ON_BOTH_MACHINES(QueuePairs);

// Under every schedule with a preemption each modify completes once, one executes at a time, and
// the destroy ends after all of them.
TEST(QueuePairRaces, ModifiesCancelAndDestroy_CompleteEachOnce) {
    explore_options few;
    few.random_runs = 300;
    few.pct_runs = 300;
    few.exhaustive_runs = 5'000;
    few.preemption_bound = 1;
    expect_exhausted(few, [](sim_machine& sim) {
        qp_hca hca;
        open_qp open(hca);
        int inside = 0;
        hca.on_modify = [&](const ib_qp_mod_t&, IRP*) {
            EXPECT_EQ(inside++, 0);
            sim.yield();
            --inside;
            HcaSetQpState(qp_hca::shared(open.qp), IB_QPS_INIT);
            return STATUS_SUCCESS;
        };
        const ib_qp_mod_t init = to_init();
        const ib_qp_mod_t again = to_state(IB_QPS_INIT);
        verb_call one;
        verb_call two;
        sim.spawn("one", [&] { one.send(modify_of(open.qp, init)); });
        sim.spawn("two", [&] { two.send(modify_of(open.qp, again)); });
        sim.spawn("cancel", [&] { two.cancel(); });
        sim.run();
        EXPECT_EQ(one.status(), STATUS_SUCCESS);
        const NTSTATUS second = two.status();
        EXPECT_TRUE(second == STATUS_SUCCESS || second == STATUS_CANCELLED ||
                    second == STATUS_INVALID_PARAMETER)
            << name_of(second);
    });
}

} // namespace
