// Asynchronous events of libibverbs, and the removal of a device.
#include "verbs_hcas.hpp"

#include <cerrno>

namespace {

using namespace irpverbs::testing;
using call = fake_verbs;

class VerbsEvents : public BothMachines {
protected:
    static ULONG_PTR next(IB_CA* ca, UCHAR port = 1) {
        verb_call waiting(awaiting_port(ca, port));
        EXPECT_STREQ(name_of(waiting.status()), "STATUS_SUCCESS");
        return waiting.information();
    }
    verbs_kernel kernel;
};

TEST_P(VerbsEvents, PortEvent_IsReported) {
    const open_verbs hca;
    for (const auto& [raised, reported] :
         {std::pair{IBV_EVENT_PORT_ACTIVE, IB_AE_PORT_ACTIVE},
          {IBV_EVENT_PORT_ERR, IB_AE_PORT_ERROR},
          {IBV_EVENT_LID_CHANGE, IB_AE_LID_CHANGE},
          {IBV_EVENT_PKEY_CHANGE, IB_AE_PKEY_CHANGE},
          {IBV_EVENT_GID_CHANGE, IB_AE_GID_CHANGE},
          {IBV_EVENT_SM_CHANGE, IB_AE_SM_CHANGE},
          {IBV_EVENT_CLIENT_REREGISTER, IB_AE_CLIENT_REREGISTER}}) {
        kernel.raise(raised);
        EXPECT_EQ(next(hca.ca), static_cast<ULONG_PTR>(reported));
    }
}

// Every event is acknowledged, which the fake's destructor checks.
TEST_P(VerbsEvents, EventForUnknownObject_IsAcknowledged) {
    const open_verbs hca;
    for (const int type : {int{IBV_EVENT_WQ_FATAL}, 31})
        kernel.raise(static_cast<ibv_event_type>(type));
    for (const int port : {0, 2, -1, 300}) // ports that it does not have
        kernel.raise(IBV_EVENT_LID_CHANGE, port);
    kernel.raise(IBV_EVENT_SM_CHANGE);
    EXPECT_EQ(next(hca.ca), static_cast<ULONG_PTR>(IB_AE_SM_CHANGE));
}

// There is one context, so an event arrives once, however many clients have the HCA open.
TEST_P(VerbsEvents, SeveralOpenCas_EachGetsEventOnce) {
    const open_verbs hca;
    IB_CA* other = open_ca(rdma_hcas::fdo(kernel.guid));
    kernel.raise(IBV_EVENT_SM_CHANGE);
    kernel.raise(IBV_EVENT_LID_CHANGE);
    for (IB_CA* each : {hca.ca, other}) {
        EXPECT_EQ(next(each), static_cast<ULONG_PTR>(IB_AE_SM_CHANGE));
        EXPECT_EQ(next(each), static_cast<ULONG_PTR>(IB_AE_LID_CHANGE));
    }
    EXPECT_EQ(close_ca(other), STATUS_SUCCESS);
}

TEST_P(VerbsEvents, InterruptedRead_IsRetried) {
    const open_verbs hca;
    kernel.verbs.fail(call::get_async_event, {call::by_errno(EINTR), call::by_errno(EINTR)});
    kernel.raise(IBV_EVENT_SM_CHANGE);
    EXPECT_EQ(next(hca.ca), static_cast<ULONG_PTR>(IB_AE_SM_CHANGE));
}

// The reactor needs more than one call to read all events.
TEST_P(VerbsEvents, ManyEvents_AllAreRead) {
    const open_verbs hca;
    for (int i = 0; i < 200; ++i)
        kernel.raise(IBV_EVENT_GID_CHANGE);
    kernel.raise(IBV_EVENT_SM_CHANGE);
    while (next(hca.ca) != static_cast<ULONG_PTR>(IB_AE_SM_CHANGE)) {
    }
}

class VerbsRemoval : public VerbsEvents {
protected:
    // Checks that a removed device only allows its objects to be destroyed.
    void expect_gone(open_verbs& hca, IB_CQ* cq) {
        IB_PORT_ATTR attr{};
        IB_WC entry{};
        EXPECT_EQ(status_of(querying(hca.ca, attr)), STATUS_FILE_FORCED_CLOSED);
        EXPECT_EQ(status_of(creating(hca.ca)), STATUS_FILE_FORCED_CLOSED);
        EXPECT_EQ(status_of(resizing(cq, 8)), STATUS_FILE_FORCED_CLOSED);
        EXPECT_EQ(status_of(arming(cq)), STATUS_FILE_FORCED_CLOSED);
        EXPECT_EQ(status_of([&](IRP* irp) { return CiPollCq(cq, 1, &entry, irp); }),
                  STATUS_FILE_FORCED_CLOSED);
        EXPECT_EQ(status_of(awaiting_completion(cq)), STATUS_FILE_FORCED_CLOSED);
        EXPECT_EQ(status_of(awaiting_port(hca.ca)), STATUS_FILE_FORCED_CLOSED);
        EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
        EXPECT_EQ(close_ca(std::exchange(hca.ca, nullptr)), STATUS_SUCCESS);
        EXPECT_EQ(kernel.verbs.contexts(), 0u);
    }
};

TEST_P(VerbsRemoval, DeviceRemoved_RaisesFatalEvent) {
    open_verbs hca;
    IB_CQ* cq = create_cq(hca.ca);
    verb_call fatal(awaiting_fatal(hca.ca));
    kernel.remove("rxe0");
    EXPECT_EQ(fatal.status(), STATUS_SUCCESS);
    expect_gone(hca, cq);
}

TEST_P(VerbsRemoval, PendedIrps_CompleteCancelledAtDestroy) {
    open_verbs hca;
    IB_CQ* cq = create_cq(hca.ca);
    EXPECT_EQ(status_of(arming(cq)), STATUS_SUCCESS);
    verb_call fatal(awaiting_fatal(hca.ca));
    verb_call port(awaiting_port(hca.ca));
    verb_call completion(awaiting_completion(cq));
    verb_call error(awaiting_error(cq));
    kernel.remove("rxe0");
    EXPECT_EQ(fatal.status(), STATUS_SUCCESS);
    expect_gone(hca, cq);
    for (verb_call* each : {&port, &completion, &error})
        EXPECT_EQ(each->status(), STATUS_CANCELLED);
}

// The device is removed while the kernel performs verbs and others are queued.
TEST_P(VerbsRemoval, VerbsInProgress_FailWithForcedClose) {
    open_verbs hca;
    IB_CQ* cq = create_cq(hca.ca);
    kernel.verbs.hold(call::resize_cq);
    verb_call working(resizing(cq, 8));
    kernel.verbs.wait_for(call::resize_cq);
    verb_call queued(resizing(cq, 9));
    verb_call fatal(awaiting_fatal(hca.ca));
    kernel.remove("rxe0");
    EXPECT_EQ(fatal.status(), STATUS_SUCCESS);
    kernel.verbs.release(call::resize_cq);
    EXPECT_EQ(working.status(), STATUS_FILE_FORCED_CLOSED);
    EXPECT_EQ(queued.status(), STATUS_FILE_FORCED_CLOSED);
    expect_gone(hca, cq);
}

// Each of these calls may be the first to detect the removal.
TEST_P(VerbsRemoval, AnyVerbDetectsRemoval_RaisesFatalEvent) {
    for (const call::call which :
         {call::query_port, call::query_gid, call::create_cq, call::req_notify_cq, call::poll_cq}) {
        verbs_kernel& all = kernel;
        const open_verbs hca;
        IB_CQ* cq = create_cq(hca.ca);
        all.verbs.fail(which, {call::negative(EIO)});
        IB_PORT_ATTR attr{};
        IB_WC entry{};
        const auto poll_one = [&](IRP* irp) { return CiPollCq(cq, 1, &entry, irp); };
        const NTSTATUS status = which == call::create_cq       ? status_of(creating(hca.ca))
                                : which == call::req_notify_cq ? status_of(arming(cq))
                                : which == call::poll_cq       ? status_of(poll_one)
                                                               : status_of(querying(hca.ca, attr));
        EXPECT_EQ(status, STATUS_FILE_FORCED_CLOSED) << which;
        EXPECT_EQ(status_of(awaiting_fatal(hca.ca)), STATUS_SUCCESS);
        EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
    }
}

TEST_P(VerbsRemoval, EventReaderDetectsRemoval_RaisesFatalEvent) {
    for (const call::call which : {call::get_async_event, call::get_cq_event}) {
        const open_verbs hca;
        IB_CQ* cq = create_cq(hca.ca);
        kernel.verbs.fail(which, {call::by_errno(EIO)});
        EXPECT_EQ(status_of(arming(cq)), STATUS_SUCCESS);
        kernel.verbs.complete(name_of_queue(cq), wc(1));
        kernel.raise(IBV_EVENT_SM_CHANGE);
        EXPECT_EQ(status_of(awaiting_fatal(hca.ca)), STATUS_SUCCESS);
        EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
    }
}

// rxe cannot be removed while it is open, and no event reports the waiting removal; its verbs still
// work. The device is no longer listed.
TEST_P(VerbsRemoval, RemovalBlockedByOpen_FoundByPolling) {
    open_verbs hca;
    EXPECT_EQ(HcaRdmaSetPollInterval(kernel.guid, 2), STATUS_SUCCESS);
    IB_CQ* cq = create_cq(hca.ca);
    verb_call fatal(awaiting_fatal(hca.ca));
    kernel.verbs.change([](fake_verbs& all) { all.at("rxe0").listed = false; });
    EXPECT_EQ(fatal.status(), STATUS_SUCCESS);
    expect_gone(hca, cq);
}

// An agent finds its umad file dead before a verb fails.
TEST_P(VerbsRemoval, AgentDetectsRemoval_RaisesFatalEvent) {
    const open_verbs hca;
    const rdma_agent agent(hca.ca);
    kernel.send_errors = {EIO};
    sa_datagram request(sa_datagram::get);
    request.send.To.Flags = IB_MAD_GRH;
    EXPECT_EQ(agent.send(request.send), STATUS_FILE_FORCED_CLOSED);
    EXPECT_EQ(status_of(awaiting_fatal(hca.ca)), STATUS_SUCCESS);
    EXPECT_EQ(status_of(creating(hca.ca)), STATUS_FILE_FORCED_CLOSED);
}

IRPVERBS_ON_BOTH_MACHINES(VerbsEvents);
IRPVERBS_ON_BOTH_MACHINES(VerbsRemoval);

} // namespace
