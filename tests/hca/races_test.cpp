// Verbs against cancel, events and close, under every schedule of a few actors. The software HCA
// pends what it likes: each command may go inline or through the DPC.
#include <support/explore_gtest.hpp>
#include <support/verbs.hpp>

#include <hca/software.h>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

explore_options few_actors() {
    explore_options options;
    options.random_runs = 300;
    options.pct_runs = 300;
    options.exhaustive_runs = 1000;
    options.preemption_bound = 2;
    options.machine.faults = true;
    return options;
}

// The IRP outlives the run's actors; completed once, whoever wins.
struct plain_irp {
    IRP* irp = IoAllocateIrp(1, FALSE);
    int completions = 0;

    plain_irp() { IoSetCompletionRoutine(irp, note, this, TRUE, TRUE, TRUE); }
    ~plain_irp() { IoFreeIrp(irp); }
    plain_irp(const plain_irp&) = delete;
    plain_irp& operator=(const plain_irp&) = delete;

    static NTSTATUS note(DEVICE_OBJECT*, IRP*, void* context) {
        ++static_cast<plain_irp*>(context)->completions;
        return STATUS_MORE_PROCESSING_REQUIRED;
    }
    NTSTATUS status() const { return irp->IoStatus.Status; }
};

int up_calls = 0;
bool closed = false;
void count_up_call(IB_CA*, void*, UCHAR, IB_ASYNC_EVENT) {
    EXPECT_FALSE(closed) << "an up-call after close has completed";
    ++up_calls;
}
constexpr IB_CA_DISPATCH counting{nullptr, count_up_call};

TEST(Races, AnEventIsTakenOnceWhileItsWaiterIsCancelled) {
    expect_explored(few_actors(), [](sim_machine& sim) {
        attached hcas;
        const ib_guid_t guid = hcas.guid();
        IB_CA* ca = open_ca(hcas.fdo());
        plain_irp waiter;
        sim.spawn("wait", [&] { CiGetCaPortEvent(ca, 1, waiter.irp); });
        sim.spawn("cancel", [&] { IoCancelIrp(waiter.irp); });
        sim.spawn("event", [&] { HcaSoftwareClientReregister(guid, 1); });
        sim.run();
        // The event went to the waiter, or is latched for the next.
        verb_call next([&](IRP* irp) { return CiGetCaPortEvent(ca, 1, irp); });
        const bool taken = waiter.completions == 1 && waiter.status() == STATUS_SUCCESS;
        EXPECT_EQ(next.done(), !taken);
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
        EXPECT_EQ(waiter.completions, 1);
        EXPECT_TRUE(taken || waiter.status() == STATUS_CANCELLED);
    });
}

TEST(Races, CloseEndsAWaiterAnEventAndACancelWithoutLosingOne) {
    expect_explored(few_actors(), [](sim_machine& sim) {
        attached hcas;
        const ib_guid_t guid = hcas.guid();
        up_calls = 0;
        closed = false;
        IB_CA* ca = open_ca(hcas.fdo(), &counting);
        plain_irp waiter;
        plain_irp closer;
        CiGetCaPortEvent(ca, 1, waiter.irp);
        sim.spawn("cancel", [&] { IoCancelIrp(waiter.irp); });
        sim.spawn("event", [&] { HcaSoftwareFlapLink(guid, 1); });
        sim.spawn("close", [&] { CiCloseCa(ca, nullptr, closer.irp); });
        sim.run();
        EXPECT_EQ(waiter.completions, 1);
        EXPECT_EQ(closer.completions, 1);
        EXPECT_EQ(closer.status(), STATUS_SUCCESS);
    });
}

NTSTATUS note_closed(DEVICE_OBJECT*, IRP*, void* context) {
    closed = true;
    ++static_cast<plain_irp*>(context)->completions;
    return STATUS_MORE_PROCESSING_REQUIRED;
}

TEST(Races, NoUpCallComesAfterCloseHasCompleted) {
    expect_explored(few_actors(), [](sim_machine& sim) {
        attached hcas;
        const ib_guid_t guid = hcas.guid();
        up_calls = 0;
        closed = false;
        IB_CA* ca = open_ca(hcas.fdo(), &counting);
        plain_irp closer;
        IoSetCompletionRoutine(closer.irp, note_closed, &closer, TRUE, TRUE, TRUE);
        sim.spawn("one", [&] { HcaSoftwareClientReregister(guid, 1); });
        sim.spawn("two", [&] { HcaSoftwareFlapLink(guid, 2); });
        sim.spawn("close", [&] { CiCloseCa(ca, nullptr, closer.irp); });
        sim.run();
        EXPECT_EQ(closer.completions, 1);
        EXPECT_LE(up_calls, 3);
    });
}

// Up-calls of one CA never overlap, and none is lost.
TEST(Races, UpCallsOfOneObjectComeOneAtATime) {
    struct in_call {
        sim_machine* sim;
        int inside = 0;
        int calls = 0;
    };
    const auto call = [](IB_CA*, void* context, UCHAR, IB_ASYNC_EVENT) {
        auto& state = *static_cast<in_call*>(context);
        EXPECT_EQ(state.inside++, 0);
        state.sim->yield();
        --state.inside;
        ++state.calls;
    };
    expect_explored(few_actors(), [&](sim_machine& sim) {
        attached hcas;
        const ib_guid_t guid = hcas.guid();
        in_call state{&sim};
        const IB_CA_DISPATCH calls{nullptr, call};
        IB_CA* ca = open_ca(hcas.fdo(), &calls, &state);
        sim.spawn("one", [&] { HcaSoftwareClientReregister(guid, 1); });
        sim.spawn("two", [&] { HcaSoftwareChangeSm(guid, 1, 5, 0); });
        sim.spawn("three", [&] { HcaSoftwareClientReregister(guid, 2); });
        sim.run();
        EXPECT_EQ(state.calls, 3);
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    });
}

// A command in the queue is cancelled or done, never both; a queue that was made can be destroyed.
TEST(Races, ACreateIsCancelledOrDone) {
    expect_explored(few_actors(), [](sim_machine& sim) {
        attached hcas;
        HcaSoftwareSetCommands(hcas.guid(), HcaCommandsByDpc);
        IB_CA* ca = open_ca(hcas.fdo());
        plain_irp create;
        sim.spawn("create", [&] { CiCreateCq(ca, 4, nullptr, nullptr, nullptr, create.irp); });
        sim.spawn("cancel", [&] { IoCancelIrp(create.irp); });
        sim.run();
        EXPECT_EQ(create.completions, 1);
        if (create.status() == STATUS_SUCCESS) {
            EXPECT_EQ(close_ca(ca), STATUS_DEVICE_BUSY);
            EXPECT_EQ(destroy_cq(reinterpret_cast<IB_CQ*>(create.irp->IoStatus.Information)),
                      STATUS_SUCCESS);
        } else {
            EXPECT_EQ(create.status(), STATUS_CANCELLED);
        }
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    });
}

// Close waits for a query that is under way; a query that comes too late says so.
TEST(Races, CloseWaitsForAQueryUnderWay) {
    expect_explored(few_actors(), [](sim_machine& sim) {
        attached hcas;
        HcaSoftwareSetCommands(hcas.guid(), HcaCommandsByDpc);
        IB_CA* ca = open_ca(hcas.fdo());
        plain_irp query;
        plain_irp closer;
        IB_PORT_ATTR attr{};
        bool before = false;
        sim.spawn("both", [&] {
            CiQueryPort(ca, 1, sizeof(attr), &attr, query.irp);
            CiCloseCa(ca, nullptr, closer.irp);
            before = query.completions == 1;
        });
        sim.spawn("cancel", [&] { IoCancelIrp(query.irp); });
        sim.run();
        EXPECT_EQ(query.completions, 1);
        EXPECT_EQ(closer.completions, 1);
        EXPECT_TRUE(query.status() == STATUS_BUFFER_OVERFLOW || query.status() == STATUS_CANCELLED);
    });
}

TEST(Races, AFatalEventInTheMiddleOfEverything) {
    expect_explored(few_actors(), [](sim_machine& sim) {
        attached hcas;
        const ib_guid_t guid = hcas.guid();
        DEVICE_OBJECT* fdo = hcas.fdo();
        IB_CA* ca = open_ca(fdo);
        plain_irp fatal;
        plain_irp create;
        plain_irp open;
        CiGetCaFatalEvent(ca, fatal.irp);
        sim.spawn("create", [&] { CiCreateCq(ca, 4, nullptr, nullptr, nullptr, create.irp); });
        sim.spawn("open", [&] { CiOpenCa(fdo, nullptr, nullptr, nullptr, open.irp); });
        sim.spawn("fatal", [&] { HcaSoftwareFail(guid); });
        sim.run();
        EXPECT_EQ(fatal.completions, 1);
        EXPECT_EQ(fatal.status(), STATUS_SUCCESS);
        if (create.status() == STATUS_SUCCESS) {
            EXPECT_EQ(destroy_cq(reinterpret_cast<IB_CQ*>(create.irp->IoStatus.Information)),
                      STATUS_SUCCESS);
        } else {
            EXPECT_EQ(create.status(), STATUS_FILE_FORCED_CLOSED);
        }
        if (open.status() == STATUS_SUCCESS) { // then it has heard of the end, before or after
            auto* late = reinterpret_cast<IB_CA*>(open.irp->IoStatus.Information);
            EXPECT_EQ(verb_call([&](IRP* irp) { return CiGetCaFatalEvent(late, irp); }).status(),
                      STATUS_SUCCESS);
            EXPECT_EQ(close_ca(late), STATUS_SUCCESS);
        }
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    });
}

} // namespace
