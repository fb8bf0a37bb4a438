// The software HCA's commands, events and end against cancel and close, under every schedule of a
// few actors.
#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>
#include <support/verbs.hpp>

#include <hca/software.h>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

explore_options few_actors() {
    explore_options options;
    options.random_runs = 200;
    options.pct_runs = 200;
    options.exhaustive_runs = 500;
    options.preemption_bound = 2;
    return options;
}

/// HCAs whose commands go inline or through the DPC.
struct capricious : attached {
    capricious() { HcaSoftwareSetCommands(guid(), HcaCommandsEither); }
};

TEST(Races, CloseAndCancelMeetAFlappingLink) {
    expect_explored(few_actors(), [](sim_machine& sim) {
        capricious hcas;
        const ib_guid_t guid = hcas.guid();
        IB_CA* ca = open_ca(hcas.fdo());
        verb_call waiter;
        verb_call closer;
        waiter.send([&](IRP* irp) { return CiGetCaPortEvent(ca, 1, irp); });
        sim.spawn("cancel", [&] { waiter.cancel(); });
        sim.spawn("event", [&] { HcaSoftwareFlapLink(guid, 1); });
        sim.spawn("close",
                  [&] { closer.send([&](IRP* irp) { return CiCloseCa(ca, nullptr, irp); }); });
        sim.run();
        EXPECT_EQ(closer.status(), STATUS_SUCCESS);
    });
}

// Two threads change ports; whoever tells the clients, the last they hear is how it is.
TEST(Races, EventsAreToldInTheOrderOfTheChanges) {
    static int last_event = 0;
    const auto note = [](IB_CA*, void*, UCHAR, IB_ASYNC_EVENT event) { last_event = event; };
    expect_explored(few_actors(), [&](sim_machine& sim) {
        last_event = 0;
        attached hcas;
        const ib_guid_t guid = hcas.guid();
        const IB_CA_DISPATCH calls{nullptr, note};
        IB_CA* ca = open_ca(hcas.fdo(), &calls);
        sim.spawn("down", [&] { HcaSoftwareSetLink(guid, 1, FALSE); });
        sim.spawn("flap", [&] { HcaSoftwareFlapLink(guid, 1); });
        sim.run();
        const bool active = port_block(ca, 1)->State == IB_PORT_ACTIVE;
        EXPECT_EQ(last_event, active ? IB_AE_PORT_ACTIVE : IB_AE_PORT_ERROR);
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    });
}

// A create is cancelled or done, never both; a queue that was made can be destroyed.
TEST(Races, ACreateIsCancelledOrDone) {
    expect_explored(few_actors(), [](sim_machine& sim) {
        attached hcas;
        HcaSoftwareSetCommands(hcas.guid(), HcaCommandsByDpc);
        IB_CA* ca = open_ca(hcas.fdo());
        verb_call create;
        sim.spawn("create", [&] {
            create.send(
                [&](IRP* irp) { return CiCreateCq(ca, 4, nullptr, nullptr, nullptr, irp); });
        });
        sim.spawn("cancel", [&] { create.cancel(); });
        sim.run();
        if (create.status() == STATUS_SUCCESS) {
            EXPECT_EQ(close_ca(ca), STATUS_DEVICE_BUSY);
            EXPECT_EQ(destroy_cq(create.object<IB_CQ>()), STATUS_SUCCESS);
        } else {
            EXPECT_EQ(create.status(), STATUS_CANCELLED);
        }
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    });
}

TEST(Races, CloseWaitsForAQueryUnderWay) {
    expect_explored(few_actors(), [](sim_machine& sim) {
        attached hcas;
        HcaSoftwareSetCommands(hcas.guid(), HcaCommandsByDpc);
        IB_CA* ca = open_ca(hcas.fdo());
        verb_call query;
        verb_call closer;
        IB_PORT_ATTR attr{};
        sim.spawn("both", [&] {
            const at_dispatch_level here;
            query.send([&](IRP* irp) { return CiQueryPort(ca, 1, sizeof(attr), &attr, irp); });
            closer.send([&](IRP* irp) { return CiCloseCa(ca, nullptr, irp); });
        });
        sim.spawn("cancel", [&] { query.cancel(); });
        sim.run();
        EXPECT_TRUE(query.status() == STATUS_BUFFER_OVERFLOW || query.status() == STATUS_CANCELLED);
    });
}

TEST(Races, AFatalEventInTheMiddleOfEverything) {
    expect_explored(few_actors(), [](sim_machine& sim) {
        capricious hcas;
        const ib_guid_t guid = hcas.guid();
        DEVICE_OBJECT* fdo = hcas.fdo();
        IB_CA* ca = open_ca(fdo);
        verb_call fatal;
        verb_call create;
        verb_call open;
        fatal.send([&](IRP* irp) { return CiGetCaFatalEvent(ca, irp); });
        sim.spawn("create", [&] {
            create.send(
                [&](IRP* irp) { return CiCreateCq(ca, 4, nullptr, nullptr, nullptr, irp); });
        });
        sim.spawn("open", [&] {
            open.send([&](IRP* irp) { return CiOpenCa(fdo, nullptr, nullptr, nullptr, irp); });
        });
        sim.spawn("fatal", [&] { HcaSoftwareFail(guid); });
        sim.run();
        EXPECT_EQ(fatal.status(), STATUS_SUCCESS);
        if (create.status() == STATUS_SUCCESS) {
            EXPECT_EQ(destroy_cq(create.object<IB_CQ>()), STATUS_SUCCESS);
        } else {
            EXPECT_EQ(create.status(), STATUS_FILE_FORCED_CLOSED);
        }
        if (open.status() == STATUS_SUCCESS) { // then it hears of the end, whenever that was
            auto* late = open.object<IB_CA>();
            EXPECT_EQ(verb_call([&](IRP* irp) { return CiGetCaFatalEvent(late, irp); }).status(),
                      STATUS_SUCCESS);
            EXPECT_EQ(close_ca(late), STATUS_SUCCESS);
        }
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    });
}

} // namespace
