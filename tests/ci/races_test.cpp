// The common half under a driver that reports events from any thread, and pends verbs as it likes.
// The rules for every driver are in the conformance suite.
#include "fake_hca.hpp"

#include <support/exhaustive_gtest.hpp>
#include <support/verbs.hpp>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

explore_options few_actors() {
    explore_options options;
    options.random_runs = 500;
    options.pct_runs = 500;
    options.exhaustive_runs = 20'000;
    options.preemption_bound = 1;
    return options;
}

auto wait_for_port(IB_CA* ca, UCHAR port = 1) {
    return [=](IRP* irp) { return CiGetCaPortEvent(ca, port, irp); };
}
auto close_of(IB_CA* ca) {
    return [=](IRP* irp) { return CiCloseCa(ca, nullptr, irp); };
}
void report(DEVICE_OBJECT* fdo, UCHAR port = 1) { HcaReportPortEvent(fdo, port, IB_AE_SM_CHANGE); }

// A waiter that arrives while the CA closes is refused or cancelled, and never left pending. It may
// arrive as long as the CA is referenced, as it is by the query, which is completed after the
// waiter was sent.
TEST(CaRaces, WaitDuringClose_CompletesCancelledOrFileClosed) {
    expect_exhausted(few_actors(), [](sim_machine& sim) {
        fake_hca hca;
        IB_CA* ca = open_ca(hca.fdo);
        verb_call late;
        verb_call closer;
        verb_call query;
        IRP* held = nullptr;
        hca.on_query = [&](IRP* irp) {
            IoMarkIrpPending(irp);
            held = irp;
            return STATUS_PENDING;
        };
        IB_PORT_ATTR attr{};
        query.send([&](IRP* irp) { return CiQueryPort(ca, 1, sizeof(attr), &attr, irp); });
        sim.spawn("late", [&] {
            late.send(wait_for_port(ca));
            HcaComplete(held, STATUS_SUCCESS, 0);
        });
        sim.spawn("close", [&] { closer.send(close_of(ca)); });
        sim.run();
        EXPECT_TRUE(late.status() == STATUS_CANCELLED || late.status() == STATUS_FILE_CLOSED);
        EXPECT_EQ(closer.status(), STATUS_SUCCESS);
        EXPECT_EQ(hca.closed, 1);
    });
}

// Either the waiter received the event, or the next waiter does.
TEST(CaRaces, EventDuringCancel_NotLost) {
    expect_exhausted(few_actors(), [](sim_machine& sim) {
        fake_hca hca;
        IB_CA* ca = open_ca(hca.fdo);
        verb_call waiter(wait_for_port(ca));
        sim.spawn("cancel", [&] { waiter.cancel(); });
        sim.spawn("event", [&] { report(hca.fdo); });
        sim.run();
        verb_call next(wait_for_port(ca));
        EXPECT_EQ(next.done(), waiter.status() == STATUS_CANCELLED);
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    });
}

TEST(CaRaces, CloseDuringCancel_CompletesEachWaitOnce) {
    expect_exhausted(few_actors(), [](sim_machine& sim) {
        fake_hca hca;
        IB_CA* ca = open_ca(hca.fdo);
        verb_call one(wait_for_port(ca));
        verb_call two(wait_for_port(ca));
        verb_call closer;
        sim.spawn("cancel", [&] { one.cancel(); });
        sim.spawn("close", [&] { closer.send(close_of(ca)); });
        sim.run();
        EXPECT_EQ(one.status(), STATUS_CANCELLED);
        EXPECT_EQ(two.status(), STATUS_CANCELLED);
        EXPECT_EQ(closer.status(), STATUS_SUCCESS);
        EXPECT_EQ(hca.closed, 1);
    });
}

int inside_calls = 0;
int calls_made = 0;
bool closed = false;
sim_machine* running = nullptr;

void slow_call(IB_CA*, void*, UCHAR, IB_ASYNC_EVENT) {
    EXPECT_FALSE(closed) << "an up-call after close has completed";
    EXPECT_EQ(inside_calls++, 0) << "two up-calls of one object at a time";
    EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
    running->yield();
    --inside_calls;
    ++calls_made;
}
constexpr IB_CA_DISPATCH slow_calls{nullptr, slow_call};

void reset(sim_machine& sim) {
    inside_calls = calls_made = 0;
    closed = false;
    running = &sim;
}

TEST(CaRaces, ConcurrentEvents_UpCallsSerializedAndNoneLost) {
    expect_exhausted(few_actors(), [](sim_machine& sim) {
        reset(sim);
        fake_hca hca;
        IB_CA* ca = open_ca(hca.fdo, &slow_calls);
        sim.spawn("one", [&] { report(hca.fdo, 1); });
        sim.spawn("two", [&] { report(hca.fdo, 2); });
        sim.spawn("three", [&] { HcaReportPortEvent(hca.fdo, 1, IB_AE_LID_CHANGE); });
        sim.run();
        EXPECT_EQ(calls_made, 3);
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    });
}

TEST(CaRaces, CloseCompleted_NoUpCallRunsOrStarts) {
    expect_exhausted(few_actors(), [](sim_machine& sim) {
        reset(sim);
        fake_hca hca;
        IB_CA* ca = open_ca(hca.fdo, &slow_calls);
        verb_call closer;
        closer.on_completion([] {
            EXPECT_EQ(inside_calls, 0);
            closed = true;
        });
        sim.spawn("one", [&] { report(hca.fdo, 1); });
        sim.spawn("two", [&] { report(hca.fdo, 2); });
        sim.spawn("close", [&] { closer.send(close_of(ca)); });
        sim.run();
        EXPECT_EQ(closer.status(), STATUS_SUCCESS);
    });
}

// An open that completes while the HCA fails also sees one event by one up-call and one IRP.
TEST(CaRaces, FatalEvent_WhileAnOpenCompletes_IsSignalledOnce) {
    expect_exhausted(few_actors(), [](sim_machine& sim) {
        static int fatal_events;
        static IRP* opening;
        fatal_events = 0;
        fake_hca hca;
        hca.operations.OpenCa = [](HCA_CA*, CI_UDATA*, IRP* irp) {
            IoMarkIrpPending(irp);
            opening = irp;
            return STATUS_PENDING;
        };
        const IB_CA_DISPATCH calls{[](IB_CA*, void*) { ++fatal_events; }, nullptr};
        verb_call open([&](IRP* irp) { return CiOpenCa(hca.fdo, nullptr, &calls, nullptr, irp); });
        sim.spawn("open", [&] { HcaComplete(opening, STATUS_SUCCESS, 0); });
        sim.spawn("failure", [&] { HcaReportFatal(hca.fdo); });
        sim.run();
        EXPECT_EQ(open.status(), STATUS_SUCCESS);
        EXPECT_EQ(fatal_events, 1);
        EXPECT_EQ(close_ca(open.object<IB_CA>()), STATUS_SUCCESS);
    });
}

// A cancel meets a command in the queue, in execution, or done.
TEST(CaRaces, CancelOfQueuedCommand_CompletesCancelledOrExecuted) {
    expect_exhausted(few_actors(), [](sim_machine& sim) {
        HCA_COMMAND_QUEUE queue;
        HcaInitializeCommandQueue(&queue, HcaServeByDpc, nullptr);
        {
            fake_hca hca(true);
            int executed = 0;
            hca.on_submit = [&](IRP* irp) { return HcaQueueCommand(&queue, irp); };
            hca.on_query = [&](IRP*) {
                ++executed;
                return STATUS_SUCCESS;
            };
            IB_CA* ca = open_ca(hca.fdo);
            verb_call one;
            verb_call two;
            IB_PORT_ATTR attr{};
            const auto query = [&](IRP* irp) {
                return CiQueryPort(ca, 1, sizeof(attr), &attr, irp);
            };
            sim.spawn("one", [&] { one.send(query); });
            sim.spawn("two", [&] { two.send(query); });
            sim.spawn("cancel", [&] { one.cancel(); });
            sim.run();
            EXPECT_EQ(two.status(), STATUS_SUCCESS);
            EXPECT_EQ(executed, one.status() == STATUS_CANCELLED ? 1 : 2);
            EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
        }
        HcaRundownCommandQueue(&queue);
    });
}

} // namespace
