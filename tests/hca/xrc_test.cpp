// XRC on the fabric: initiators of one HCA, and the shared receive queues of another one's domain.
#include "connected_end.hpp"

#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

#include <hca/software.h>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

/// The HCA of the domain, with a target and a shared receive queue.
struct target_end {
    explicit target_end(DEVICE_OBJECT* fdo)
        : ca(fdo),
          xrcd(created<IB_XRCD>([&](IRP* irp) { return CiAllocateXrcd(ca, nullptr, irp); })),
          srq(create_srq(pd, {this, {note}, 16, 1, xrcd, cq})) {
        KeInitializeSemaphore(&noted, 0, 16);
        ib_qp_create_t wanted{};
        wanted.qp_type = IB_QPT_XRC_TGT;
        wanted.h_xrcd = xrcd;
        target = create_qp(pd_of_target, wanted);
    }
    ~target_end() {
        EXPECT_EQ(destroy_qp(target), STATUS_SUCCESS);
        if (srq != nullptr) {
            EXPECT_EQ(destroy_srq(srq), STATUS_SUCCESS);
        }
        EXPECT_EQ(
            verb_call([&](IRP* irp) { return CiDeallocateXrcd(xrcd, nullptr, irp); }).status(),
            STATUS_SUCCESS);
        EXPECT_EQ(deregister_mr(mr), STATUS_SUCCESS);
        EXPECT_EQ(deallocate_pd(pd), STATUS_SUCCESS);
        EXPECT_EQ(deallocate_pd(pd_of_target), STATUS_SUCCESS);
        EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
    }
    target_end(const target_end&) = delete;
    target_end& operator=(const target_end&) = delete;

    static void note(VOID* self, IB_ASYNC_EVENT event) {
        auto& end = *static_cast<target_end*>(self);
        EXPECT_EQ(event, IB_AE_SRQ_LIMIT_REACHED);
        KeReleaseSemaphore(&end.noted, IO_NO_INCREMENT, 1, FALSE);
    }
    void connect(connected_end& initiator) {
        const ib_qp_type_t type = IB_QPT_XRC_TGT;
        EXPECT_EQ(modify_qp(target, ci::to_init(type, {.access = IB_AC_REMOTE})), STATUS_SUCCESS);
        ci::rtr_attributes path;
        path.av.port_num = 1;
        path.av.dlid = initiator.lid();
        path.dest_qp = initiator.qp->Num;
        path.rq_psn = connected_end::first_psn;
        path.rnr_nak_timeout = 1;
        EXPECT_EQ(modify_qp(target, ci::to_rtr(type, path)), STATUS_SUCCESS);
        initiator.connect(ca.lid(), target->Num);
    }
    NTSTATUS post(ULONGLONG wr_id) {
        ib_local_ds_t into{address(), 1000, mr->LKey};
        ib_recv_wr_t what{nullptr, wr_id, &into, 1};
        return CiPostSrqRecv(srq, &what, nullptr);
    }
    ULONGLONG address() const {
        return static_cast<ULONGLONG>(reinterpret_cast<std::uintptr_t>(bytes.data()));
    }

    open_hca ca;
    IB_PD* pd = allocate_pd(ca);
    IB_PD* pd_of_target = allocate_pd(ca);
    IB_CQ* cq = create_cq(ca, 64);
    std::vector<UCHAR> bytes = std::vector<UCHAR>(10'000);
    IB_MR* mr = register_mr(pd, bytes.data(), bytes.size(), IB_AC_REMOTE | IB_AC_LOCAL_WRITE);
    KSEMAPHORE noted;
    IB_XRCD* xrcd;
    IB_SRQ* srq;
    IB_QP* target = nullptr;
};

/// A message of the initiator to the shared receive queue.
ib_send_wr_t xrc_message(connected_end& from, const target_end& to, ULONGLONG wr_id) {
    ib_send_wr_t made = from.send(wr_id, 700);
    made.remote_srq = to.srq != nullptr ? to.srq->Num : 0;
    return made;
}

class XrcTraffic : public BothMachines {
protected:
    attached hcas;
};

TEST_P(XrcTraffic, Message_CompletesWithAnEventInTheQueueOfItsReceives) {
    connected_end initiator(hcas.fdo(0), IB_QPT_XRC_INI);
    target_end other(hcas.fdo(1));
    other.connect(initiator);
    initiator.fill();
    EXPECT_EQ(other.post(7), STATUS_SUCCESS);
    EXPECT_EQ(initiator.post(xrc_message(initiator, other, 1)), STATUS_SUCCESS);
    EXPECT_EQ(initiator.next().Status, ULONG{IB_WC_SUCCESS});
    const IB_WC received = next_completion(other.cq); // waits for the event of the queue
    EXPECT_EQ(received.WrId, 7u);
    EXPECT_EQ(received.QpNumber, other.target->Num);
    EXPECT_EQ(received.SourceQp, initiator.qp->Num);
    EXPECT_EQ(other.bytes[699], initiator.bytes()[699]);
}

// The target's own domain has no region at all.
TEST_P(XrcTraffic, RemoteOperations_UseTheDomainOfTheQueueThatTheyName) {
    connected_end initiator(hcas.fdo(0), IB_QPT_XRC_INI);
    target_end other(hcas.fdo(1));
    other.connect(initiator);
    initiator.fill();
    for (const ib_wr_type_t type : {WR_RDMA_WRITE, WR_RDMA_READ, WR_FETCH_ADD}) {
        ib_send_wr_t what = xrc_message(initiator, other, type);
        if (type == WR_FETCH_ADD) what.ds_array->length = 8;
        what.wr_type = type;
        what.remote_ops = {other.address(), 1, 0, other.mr->RKey};
        EXPECT_EQ(initiator.post(what), STATUS_SUCCESS);
        EXPECT_EQ(initiator.next().Status, ULONG{IB_WC_SUCCESS});
    }
    EXPECT_EQ(other.bytes[0], 2); // 1 was written, and 1 added
    EXPECT_EQ(other.bytes[699], initiator.bytes()[699]);
}

TEST_P(XrcTraffic, Limit_IsReportedToTheSharedReceiveQueue) {
    connected_end initiator(hcas.fdo(0), IB_QPT_XRC_INI);
    target_end other(hcas.fdo(1));
    other.connect(initiator);
    for (const ULONGLONG id : {1u, 2u})
        EXPECT_EQ(other.post(id), STATUS_SUCCESS);
    EXPECT_EQ(modify_srq(other.srq, {IB_MOD_SRQ_LIMIT, 0, 2}), STATUS_SUCCESS);
    EXPECT_EQ(initiator.post(xrc_message(initiator, other, 1)), STATUS_SUCCESS);
    EXPECT_EQ(initiator.next().Status, ULONG{IB_WC_SUCCESS});
    KeWaitForSingleObject(&other.noted, Executive, KernelMode, FALSE, nullptr);
}

TEST_P(XrcTraffic, NumberOfADestroyedQueue_IsNotUsedAgainAtOnce) {
    target_end other(hcas.fdo(1));
    const ULONG before = other.srq->Num;
    EXPECT_EQ(destroy_srq(other.srq), STATUS_SUCCESS);
    other.srq = create_srq(other.pd, {nullptr, {}, 16, 1, other.xrcd, other.cq});
    EXPECT_NE(other.srq->Num, before);
    EXPECT_NE(other.srq->Num, 0u);
}

IRPVERBS_ON_BOTH_MACHINES(XrcTraffic);

// The destruction waits for the targets that use the queue, and for its reports: every message
// completes, in the queue of the receives or with an error, and nothing touches the ended queue.
TEST(XrcRaces, SharedReceiveQueueDestroyed_MessagesCompleteOrAreRefused) {
    dispatch::explore_options options;
    options.random_runs = 200;
    options.pct_runs = 200;
    options.machine.step_limit = 1'000'000;
    expect_explored(options, [](dispatch::sim_machine& sim) {
        const attached hcas;
        connected_end initiator(hcas.fdo(0), IB_QPT_XRC_INI);
        target_end other(hcas.fdo(1));
        other.connect(initiator);
        for (const ULONGLONG id : {1u, 2u})
            EXPECT_EQ(other.post(id), STATUS_SUCCESS);
        EXPECT_EQ(modify_srq(other.srq, {IB_MOD_SRQ_LIMIT, 0, 2}), STATUS_SUCCESS);
        const ib_send_wr_t one = xrc_message(initiator, other, 1);
        const ib_send_wr_t two = xrc_message(initiator, other, 2);
        sim.spawn("send", [&] {
            EXPECT_EQ(initiator.post(one), STATUS_SUCCESS);
            EXPECT_EQ(initiator.post(two), STATUS_SUCCESS);
        });
        sim.spawn("end", [&] {
            EXPECT_EQ(destroy_srq(std::exchange(other.srq, nullptr)), STATUS_SUCCESS);
        });
        sim.run();
        const ULONG first = initiator.next().Status;
        const ULONG second = initiator.next().Status;
        EXPECT_TRUE(first == IB_WC_SUCCESS || first == IB_WC_REMOTE_INVALID_REQUEST_ERROR);
        EXPECT_TRUE(second == IB_WC_SUCCESS || second == IB_WC_REMOTE_INVALID_REQUEST_ERROR ||
                    (first != IB_WC_SUCCESS && second == IB_WC_FLUSHED));
    });
}

} // namespace
