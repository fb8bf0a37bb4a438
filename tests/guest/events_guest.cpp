// Events that soft-RoCE does not raise by itself; a kernel module raises them by the paths that
// drivers use. Runs in the guest, with --events.
#include "raise_event.hpp"
#include "verbs_guest.hpp"

#include "async_events.hpp"

#include <array>
#include <climits>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

void raise_of_port(ibv_event_type type) { raise_event("rxe0", "port", 1, type); }

class RaisedEvents : public VerbsGuest {
protected:
    // Events of a context are read in their order, so all earlier ones have been read.
    static void expect_no_other(IB_CA* ca) {
        raise_of_port(IBV_EVENT_SM_CHANGE);
        EXPECT_EQ(next_event(ca), static_cast<ULONG_PTR>(IB_AE_SM_CHANGE));
    }
};

// GID_CHANGE is missing, since the kernel raises it itself when the table changes; see VerbsGuest.
TEST_F(RaisedEvents, PortEvent_Raised_IsReportedOnce) {
    const device hca("rxe0");
    const open_hca ca(hca.fdo());
    for (const ibv_event_type each :
         {IBV_EVENT_PORT_ERR, IBV_EVENT_PORT_ACTIVE, IBV_EVENT_LID_CHANGE, IBV_EVENT_PKEY_CHANGE,
          IBV_EVENT_SM_CHANGE, IBV_EVENT_CLIENT_REREGISTER}) {
        raise_of_port(each);
        EXPECT_EQ(next_event(ca), static_cast<ULONG_PTR>(hca_rdma::event_of(each)));
    }
    expect_no_other(ca);
}

constexpr std::array queue_pair_events{IBV_EVENT_QP_FATAL,      IBV_EVENT_QP_REQ_ERR,
                                       IBV_EVENT_QP_ACCESS_ERR, IBV_EVENT_COMM_EST,
                                       IBV_EVENT_SQ_DRAINED,    IBV_EVENT_PATH_MIG,
                                       IBV_EVENT_PATH_MIG_ERR,  IBV_EVENT_QP_LAST_WQE_REACHED};

TEST_F(RaisedEvents, QueuePairEvent_Raised_IsReportedOnce) {
    const device hca("rxe0");
    const open_hca ca(hca.fdo());
    IB_PD* domain = allocate_pd(ca);
    const destroyed_at_the_end cq{create_cq(ca, 16)};
    IB_QP* pair = create_qp(domain, small_qp(cq));
    for (const ibv_event_type each : queue_pair_events) {
        verb_call waits([=](IRP* irp) { return CiGetQpAsyncEvent(pair, irp); });
        raise_event("rxe0", "qp", pair->Num, each);
        EXPECT_STREQ(name_of(waits.status()), "STATUS_SUCCESS");
        EXPECT_EQ(waits.information(), static_cast<ULONG_PTR>(hca_rdma::event_of(each)));
    }
    verb_call other([=](IRP* irp) { return CiGetQpAsyncEvent(pair, irp); });
    expect_no_other(ca);
    EXPECT_FALSE(other.done());
    EXPECT_EQ(destroy_qp(pair), STATUS_SUCCESS);
    EXPECT_EQ(deallocate_pd(domain), STATUS_SUCCESS);
}

// The driver's context may have queue pairs that are not the driver's. ibv_destroy_qp waits until
// each event of the queue pair is acknowledged, so a missing acknowledgement hangs the test.
TEST_F(RaisedEvents, EventOfForeignQueuePair_IsAcknowledgedOnce) {
    const device hca("rxe0");
    const open_hca ca(hca.fdo());
    const destroyed_at_the_end cq{create_cq(ca, 16)};
    const queue_pair pair(listening::latest());
    for (const ibv_event_type each : queue_pair_events)
        raise_event("rxe0", "qp", pair.number(), each);
    expect_no_other(ca);
}

TEST_F(RaisedEvents, SharedReceiveQueueEvent_Raised_IsReportedOnce) {
    const device hca("rxe0");
    const open_hca ca(hca.fdo());
    const destroyed_at_the_end cq{create_cq(ca, 16)};
    IB_PD* domain = allocate_pd(ca);
    IB_SRQ* queue = create_srq(domain, {nullptr, {}, 4, 1, nullptr, nullptr});
    for (const ibv_event_type each : {IBV_EVENT_SRQ_ERR, IBV_EVENT_SRQ_LIMIT_REACHED}) {
        verb_call waits([=](IRP* irp) { return CiGetSrqAsyncEvent(queue, irp); });
        raise_event("rxe0", "srq", 0, each);
        EXPECT_STREQ(name_of(waits.status()), "STATUS_SUCCESS");
        EXPECT_EQ(waits.information(), static_cast<ULONG_PTR>(hca_rdma::event_of(each)));
    }
    expect_no_other(ca);
    EXPECT_EQ(destroy_srq(queue), STATUS_SUCCESS);
    EXPECT_EQ(deallocate_pd(domain), STATUS_SUCCESS);
}

// The driver's context may have shared receive queues that are not the driver's.
TEST_F(RaisedEvents, EventOfForeignSharedReceiveQueue_IsAcknowledgedOnce) {
    const device hca("rxe0");
    const open_hca ca(hca.fdo());
    const destroyed_at_the_end cq{create_cq(ca, 16)};
    ibv_pd* domain = ibv_alloc_pd(listening::latest()->context);
    ibv_srq_init_attr wanted{nullptr, {1, 1, 0}};
    ibv_srq* queue = ibv_create_srq(domain, &wanted);
    ASSERT_NE(queue, nullptr);
    raise_event("rxe0", "srq", 0, IBV_EVENT_SRQ_ERR);
    raise_event("rxe0", "srq", 0, IBV_EVENT_SRQ_LIMIT_REACHED);
    expect_no_other(ca);
    EXPECT_EQ(ibv_destroy_srq(queue), 0);
    EXPECT_EQ(ibv_dealloc_pd(domain), 0);
}

TEST_F(RaisedEvents, CompletionQueueError_RaisedTwice_IsReportedOnce) {
    const device hca("rxe0");
    const open_hca ca(hca.fdo());
    IB_CQ* cq = create_cq(ca, 4);
    verb_call error(waiting_for_error(cq));
    verb_call again(waiting_for_error(cq));
    raise_event("rxe0", "cq", 0, IBV_EVENT_CQ_ERR);
    raise_event("rxe0", "cq", 0, IBV_EVENT_CQ_ERR);
    EXPECT_STREQ(name_of(error.status()), "STATUS_SUCCESS");
    EXPECT_EQ(error.information(), static_cast<ULONG_PTR>(IB_AE_CQ_ERROR));
    expect_no_other(ca);
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS); // both events are acknowledged
    EXPECT_STREQ(name_of(again.status()), "STATUS_CANCELLED");
}

TEST_F(RaisedEvents, FatalEvent_Raised_HcaFails) {
    const device hca("rxe0");
    IB_CA* ca = open_ca(hca.fdo());
    IB_CQ* cq = create_cq(ca, 4);
    verb_call fatal(waiting_for_end(ca));
    raise_of_port(IBV_EVENT_DEVICE_FATAL);
    EXPECT_STREQ(name_of(fatal.status()), "STATUS_SUCCESS");
    EXPECT_STREQ(name_of(verb_call(arming(cq)).status()), "STATUS_FILE_FORCED_CLOSED");
    EXPECT_STREQ(name_of(verb_call(waiting_for_port(ca)).status()), "STATUS_FILE_FORCED_CLOSED");
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

// Removal as with hardware's drivers: it does not wait for the close, and the kernel reports it.
TEST_F(RaisedEvents, DeviceRemoval_WithPendingVerbs_CompletesThem) {
    raise_event("rxe1", "unplug", 0, 0);
    {
        const device hca("rxe1", INT_MAX); // without polling of the device list
        IB_CA* ca = open_ca(hca.fdo());
        IB_CQ* cq = create_cq(ca, 16);
        EXPECT_EQ(verb_call(arming(cq)).status(), STATUS_SUCCESS);
        verb_call fatal(waiting_for_end(ca));
        verb_call port(waiting_for_port(ca));
        verb_call completion(waiting_for_completion(cq));
        verb_call error(waiting_for_error(cq));
        system_thread remover([] { shell("rdma link delete rxe1"); });
        create_until_the_end(ca);
        remover.join(); // the removal does not wait for the close
        EXPECT_STREQ(name_of(fatal.status()), "STATUS_SUCCESS");
        EXPECT_STREQ(name_of(verb_call(arming(cq)).status()), "STATUS_FILE_FORCED_CLOSED");
        EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
        for (verb_call* each : {&port, &completion, &error})
            EXPECT_STREQ(name_of(each->status()), "STATUS_CANCELLED");
    }
    shell("rdma link add rxe1 type rxe netdev rx1");
    const device back("rxe1");
    const open_hca ca(back.fdo());
    EXPECT_EQ(port_block(ca, 1)->State, IB_PORT_ACTIVE);
}

} // namespace
