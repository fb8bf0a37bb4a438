// Channel adapters and completion queues that close themselves.
#include "fake_hca.hpp"

#include <support/both_machines.hpp>
#include <support/coroutines.hpp>

#include <ci/async.hpp>
#include <dispatch/testing/fault_sweep.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace {

namespace asio = boost::asio;
using namespace irpverbs;
using irpverbs::testing::call_result;
using irpverbs::testing::fake_hca;

class CiHandles : public irpverbs::testing::BothMachines {
protected:
    CiHandles() {
        hca.on_submit = [this](IRP* irp) {
            return slow ? HcaQueueCommand(&commands, irp) : HcaExecute(irp);
        };
    }
    ~CiHandles() override { HcaRundownCommandQueue(&commands); }

    ci::channel_adapter open() {
        call_result<ci::channel_adapter> opened;
        ci::open_ca(hca.fdo, opened.handler());
        EXPECT_EQ(opened.status(), STATUS_SUCCESS);
        return std::move(opened.result());
    }
    static ci::completion_queue create(const ci::channel_adapter& ca) {
        call_result<ci::completion_queue> created;
        ci::create_cq(ca, 4, created.handler());
        EXPECT_EQ(created.status(), STATUS_SUCCESS);
        return std::move(created.result());
    }
    template <class Handle>
    static NTSTATUS close(Handle& handle) {
        call_result<void> closed;
        handle.async_close(closed.handler());
        return closed.status();
    }
    static void let_commands_run() { KeFlushQueuedDpcs(); }

    struct command_queue : HCA_COMMAND_QUEUE {
        command_queue() { HcaInitializeCommandQueue(this, HcaServeByDpc, nullptr); }
    };
    command_queue commands;
    bool slow = false; // verbs pend
    fake_hca hca{true};
};

TEST_P(CiHandles, AdapterDestroyed_ClosesCa) {
    for (const bool pended : {false, true}) {
        slow = pended;
        { const ci::channel_adapter ca = open(); }
        let_commands_run();
        EXPECT_EQ(hca.closed, hca.opened);
    }
}

TEST_P(CiHandles, AdapterMovedOver_ClosesReplacedCaOnly) {
    ci::channel_adapter ca = open();
    ci::channel_adapter other = std::move(ca);
    EXPECT_EQ(static_cast<IB_CA*>(ca), nullptr); // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(hca.closed, 0);
    ca = open();
    other = std::move(ca);
    EXPECT_EQ(hca.closed, 1);
    EXPECT_EQ(close(other), STATUS_SUCCESS);
    EXPECT_EQ(hca.closed, 2);
}

TEST_P(CiHandles, AdapterDestroyed_PendingWaitsCancelledBeforeReturn) {
    slow = true;
    call_result<IB_ASYNC_EVENT> port;
    call_result<IB_ASYNC_EVENT> streamed;
    call_result<void> fatal;
    {
        const ci::channel_adapter ca = open();
        ci::get_ca_port_event(ca, 1, port.handler());
        ca.port_events(2).next(streamed.handler());
        ca.fatal_events().next(fatal.handler());
    }
    EXPECT_EQ(port.status(), STATUS_CANCELLED);
    EXPECT_EQ(streamed.status(), STATUS_CANCELLED);
    EXPECT_EQ(fatal.status(), STATUS_CANCELLED);
    let_commands_run();
    EXPECT_EQ(hca.closed, 1);
}

// fake_hca checks that the queue is destroyed when the adapter is closed.
TEST_P(CiHandles, AdapterReleasedBeforeQueue_ClosesAfterQueue) {
    for (const bool pended : {false, true}) {
        slow = pended;
        ci::channel_adapter ca = open();
        ci::completion_queue cq = create(ca);
        call_result<void> waiting;
        cq.comp_events().next(waiting.handler());
        ca = {};
        let_commands_run();
        EXPECT_EQ(hca.closed, hca.opened - 1);
        cq = {};
        EXPECT_EQ(waiting.status(), STATUS_CANCELLED);
        let_commands_run();
        EXPECT_EQ(hca.queues, 0);
        EXPECT_EQ(hca.closed, hca.opened);
    }
}

TEST_P(CiHandles, CloseWithOpenQueue_ReturnsBusyAndKeepsHandle) {
    ci::channel_adapter ca = open();
    ci::completion_queue cq = create(ca);
    EXPECT_EQ(close(ca), STATUS_DEVICE_BUSY);
    EXPECT_NE(static_cast<IB_CA*>(ca), nullptr);
    EXPECT_EQ(close(cq), STATUS_SUCCESS);
    EXPECT_EQ(static_cast<IB_CQ*>(cq), nullptr);
    EXPECT_EQ(close(ca), STATUS_SUCCESS);
    EXPECT_EQ(hca.closed, 1);
}

// A released queue does not fail the close, though its destruction takes a while.
TEST_P(CiHandles, CloseDuringQueueDestruction_WaitsForQueue) {
    slow = true;
    ci::channel_adapter ca = open();
    ci::completion_queue cq = create(ca);
    call_result<void> closed;
    {
        const irpverbs::testing::at_dispatch_level raised; // the DPC runs later
        cq = {};
        ca.async_close(closed.handler());
        EXPECT_EQ(hca.queues, 1);
    }
    EXPECT_EQ(closed.status(), STATUS_SUCCESS);
    EXPECT_EQ(hca.closed, 1);
}

TEST_P(CiHandles, UnopenedHandle_ReturnsInvalidParameter) {
    ci::channel_adapter none;
    EXPECT_EQ(close(none), STATUS_INVALID_PARAMETER);
    call_result<ci::completion_queue> created;
    ci::create_cq(none, 4, created.handler());
    EXPECT_EQ(created.status(), STATUS_INVALID_PARAMETER);
    call_result<ci::channel_adapter> opened;
    ci::open_ca(nullptr, opened.handler());
    EXPECT_EQ(opened.status(), STATUS_INVALID_PARAMETER);
    call_result<ci::port_attributes> queried;
    ci::query_port(none, 1, queried.handler());
    EXPECT_EQ(queried.status(), STATUS_INVALID_PARAMETER);
}

TEST_P(CiHandles, StreamUsedAfterAdapterClosed_ReturnsFileClosed) {
    ci::channel_adapter ca = open();
    const auto events = ca.port_events(1);
    ca = {};
    call_result<IB_ASYNC_EVENT> ended;
    events.next(ended.handler());
    EXPECT_EQ(ended.status(), STATUS_FILE_CLOSED);
}

TEST_P(CiHandles, EventsBeforeWait_ReturnedInOrder) {
    ci::channel_adapter ca = open();
    HcaReportPortEvent(hca.fdo, 1, IB_AE_LID_CHANGE);
    HcaReportPortEvent(hca.fdo, 1, IB_AE_SM_CHANGE);
    for (const IB_ASYNC_EVENT expected : {IB_AE_LID_CHANGE, IB_AE_SM_CHANGE}) {
        call_result<IB_ASYNC_EVENT> next;
        ca.port_events(1).next(next.handler());
        EXPECT_EQ(next.result(), expected);
    }
}

// The destruction of an uncalled handler also closes the adapter that was opened for it.
TEST_P(CiHandles, OpenHandlerNeverCalled_AdapterIsClosed) {
    {
        asio::io_context gone;
        ci::open_ca(hca.fdo, asio::bind_executor(gone, [](auto, ci::channel_adapter) {
                        FAIL() << "no thread runs that context";
                    }));
        { const ci::channel_adapter behind = open(); }
        EXPECT_EQ(hca.opened, 2);
        EXPECT_EQ(hca.closed, 1);
    }
    EXPECT_EQ(hca.closed, 2);
}

TEST_P(CiHandles, AdapterDestroyedAtDispatchLevel_ClosesCa) {
    slow = true;
    ci::channel_adapter ca = open();
    ci::completion_queue cq = create(ca);
    {
        const irpverbs::testing::at_dispatch_level raised;
        cq = {};
        ca = {};
    }
    let_commands_run();
    EXPECT_EQ(hca.closed, 1);
}

TEST_P(CiHandles, AdapterDestroyedInsideUpCall_ClosesCa) {
    ci::channel_adapter ca;
    const IB_CA_DISPATCH calls{nullptr, [](IB_CA*, void* context, UCHAR, IB_ASYNC_EVENT) {
                                   *static_cast<ci::channel_adapter*>(context) = {};
                               }};
    call_result<ci::channel_adapter> opened;
    ci::open_ca(hca.fdo, &ca, calls, opened.handler());
    ca = std::move(opened.result());
    HcaReportPortEvent(hca.fdo, 1, IB_AE_LID_CHANGE);
    EXPECT_EQ(hca.closed, 1);
}

TEST_P(CiHandles, QueueDroppedWhileAdapterIsOpen_DetachReturnsBusyAfterItsEnd) {
    slow = true;
    const ci::channel_adapter ca = open();
    { const ci::completion_queue cq = create(ca); }
    EXPECT_EQ(HcaRefuseOpen(hca.fdo), STATUS_DEVICE_BUSY);
    EXPECT_EQ(hca.queues, 0);
}

/// Detaches in the completion routine of a pended wait.
struct detaching_wait {
    explicit detaching_wait(DEVICE_OBJECT* its_fdo) : fdo(its_fdo) {
        IoSetCompletionRoutine(irp, detach, this, TRUE, TRUE, TRUE);
    }
    ~detaching_wait() { IoFreeIrp(irp); }
    detaching_wait(const detaching_wait&) = delete;
    detaching_wait& operator=(const detaching_wait&) = delete;

    static NTSTATUS detach(DEVICE_OBJECT*, IRP*, void* self) {
        auto& wait = *static_cast<detaching_wait*>(self);
        wait.status = HcaRefuseOpen(wait.fdo);
        return STATUS_MORE_PROCESSING_REQUIRED;
    }

    DEVICE_OBJECT* fdo;
    IRP* irp = IoAllocateIrp(1, FALSE);
    NTSTATUS status = STATUS_PENDING;
};

// The wait completes in the middle of the close, which can't go on before the routine has returned.
TEST_P(CiHandles, DetachInCompletionRoutineOfACancelledWait_ReturnsBusyAtOnce) {
    ci::channel_adapter ca = open();
    detaching_wait wait(hca.fdo);
    EXPECT_EQ(CiGetCaPortEvent(ca, 1, wait.irp), STATUS_PENDING);
    ca = {};
    EXPECT_EQ(wait.status, STATUS_DEVICE_BUSY);
    EXPECT_EQ(HcaRefuseOpen(hca.fdo), STATUS_SUCCESS);
    HcaAllowOpen(hca.fdo);
}

asio::awaitable<void> open_wait_and_leave(DEVICE_OBJECT* fdo, fake_hca& hca) {
    constexpr auto token = asio::as_tuple(asio::use_awaitable);
    {
        const ci::channel_adapter ca = co_await ci::open_ca(fdo);
        const ci::completion_queue cq = co_await ci::create_cq(ca, 4);
        const auto [late, event] =
            co_await ca.port_events(1).next(irp::within(std::chrono::milliseconds(1), token));
        EXPECT_EQ(late, dispatch::make_error_code(STATUS_IO_TIMEOUT));
        EXPECT_EQ(event, IB_AE_NONE);
    }
    EXPECT_EQ(hca.closed, 1);
}

TEST_P(CiHandles, AdapterDestroyedInsideCoroutine_ClosesCa) {
    irpverbs::testing::run_to_end(machine(), [&] { return open_wait_and_leave(hca.fdo, hca); });
}

// A real machine's handlers run on another thread, which a fault plan does not cover.
class CiHandlesAllocationFailure : public CiHandles {};

// Under every allocation failure no object stays open, and the release of a handle never fails.
TEST_P(CiHandlesAllocationFailure, AllocationFails_NothingRemainsOpen) {
    int refused = 0;
    const auto summary = dispatch::fault_sweep([&] {
        call_result<ci::channel_adapter> opened;
        ci::open_ca(hca.fdo, opened.handler());
        if (opened.status() == STATUS_SUCCESS) {
            call_result<ci::completion_queue> created;
            ci::create_cq(opened.result(), 4, created.handler());
            refused += created.status() == STATUS_INSUFFICIENT_RESOURCES;
        }
        refused += opened.status() == STATUS_INSUFFICIENT_RESOURCES;
    });
    EXPECT_EQ(hca.closed, hca.opened);
    EXPECT_GE(summary.stacks, 6u); // for each: the call's IRP, the closing IRP, the object
    EXPECT_GE(refused, 6);
}

IRPVERBS_ON_BOTH_MACHINES(CiHandles);
IRPVERBS_ON_THE_SIMULATED_MACHINE(CiHandlesAllocationFailure);

} // namespace
