// Events on the software fabric, and how its HCAs report them. The behaviour required of every
// driver is in the conformance suite.
#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>
#include <support/verbs.hpp>

#include <hca/software.h>

namespace {

using namespace irpverbs::testing;

struct event_log {
    std::vector<std::pair<int, int>> ports; // port, event
};

void on_port(IB_CA*, void* context, UCHAR port, IB_ASYNC_EVENT event) {
    static_cast<event_log*>(context)->ports.emplace_back(port, event);
}

constexpr IB_CA_DISPATCH calls{nullptr, on_port};

class Fabric : public BothMachines {
protected:
    attached hcas;
};

// Each function of the control interface raises its event and changes the attributes that can be
// queried.
TEST_P(Fabric, ControlCalls_RaiseEventsAndChangeAttributes) {
    event_log all;
    IB_CA* ca = open_ca(hcas.fdo(), &calls, &all);
    const ib_guid_t guid = hcas.guid();
    HcaSoftwareChangeSm(guid, 1, 77, 3);
    HcaSoftwareChangeLid(guid, 1, 78);
    HcaSoftwareChangePKey(guid, 1, 0, 0x8001);
    HcaSoftwareChangePrefix(guid, 1, 0xFEC0000000000001);
    HcaSoftwareClientReregister(guid, 1);
    HcaSoftwarePortError(guid, 1);
    std::vector<int> events;
    for (const auto& [port, event] : all.ports)
        events.push_back(event);
    EXPECT_EQ(events, (std::vector<int>{IB_AE_SM_CHANGE, IB_AE_LID_CHANGE, IB_AE_PKEY_CHANGE,
                                        IB_AE_GID_CHANGE, IB_AE_CLIENT_REREGISTER, IB_AE_PORT_ERROR,
                                        IB_AE_PORT_ACTIVE}));
    const port_block now(ca, 1);
    EXPECT_EQ(now->SmLid, 77);
    EXPECT_EQ(now->SmSl, 3);
    EXPECT_EQ(now->Lid, 78);
    EXPECT_EQ(IbPortPKey(&*now, 0), 0x8001);
    EXPECT_EQ(IbPortGid(&*now, 0)->gid_prefix, 0xFEC0000000000001u);
    EXPECT_EQ(HcaSoftwareChangePKey(guid, 1, 10000, 1), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(HcaSoftwareChangeLid(guid, 9, 1), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(HcaSoftwareChangeLid(12345, 1, 1), STATUS_OBJECT_NAME_NOT_FOUND);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

// host1's port 1 and switch1 lose the cable; hosts at other ports see no change.
TEST_P(Fabric, LinkChange_PortStateFollows) {
    IB_CA* ca = open_ca(hcas.fdo());
    HcaSoftwareSetLink(hcas.guid(), 1, FALSE);
    EXPECT_EQ(port_block(ca, 1)->State, IB_PORT_DOWN);
    EXPECT_EQ(port_block(ca, 1)->PhysicalState, IB_PORT_PHYS_POLLING);
    EXPECT_EQ(port_block(ca, 2)->State, IB_PORT_ACTIVE);
    HcaSoftwareSetLink(hcas.guid(), 1, TRUE);
    EXPECT_EQ(port_block(ca, 1)->State, IB_PORT_ACTIVE);
    EXPECT_EQ(HcaSoftwareSetPortState(hcas.guid(), 1, IB_PORT_ARMED), STATUS_INVALID_DEVICE_STATE);
    EXPECT_EQ(HcaSoftwareSetPortState(hcas.guid(), 1, IB_PORT_DOWN), STATUS_SUCCESS);
    EXPECT_EQ(port_block(ca, 1)->State, IB_PORT_INIT);
    EXPECT_EQ(HcaSoftwareSetPortState(hcas.guid(), 1, IB_PORT_ACTIVE), STATUS_INVALID_DEVICE_STATE);
    EXPECT_EQ(HcaSoftwareSetPortState(hcas.guid(), 1, IB_PORT_ARMED), STATUS_SUCCESS);
    EXPECT_EQ(HcaSoftwareSetPortState(hcas.guid(), 1, IB_PORT_ACTIVE), STATUS_SUCCESS);
    HCA_SOFTWARE_COUNTERS counters{};
    EXPECT_EQ(HcaSoftwareCounters(hcas.guid(), 1, &counters), STATUS_SUCCESS);
    EXPECT_EQ(counters.LinkDowned, 2u);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

TEST_P(Fabric, PortShutdown_DisablesOnlyThatPort) {
    IB_CA* ca = open_ca(hcas.fdo());
    const IB_MODIFY_PORT nothing{};
    EXPECT_EQ(verb_call([&](IRP* irp) {
                  return CiModifyPort(ca, 2, IB_MODIFY_PORT_SHUTDOWN, &nothing, irp);
              }).status(),
              STATUS_SUCCESS);
    EXPECT_EQ(port_block(ca, 2)->State, IB_PORT_DOWN);
    EXPECT_EQ(port_block(ca, 2)->PhysicalState, IB_PORT_PHYS_DISABLED);
    EXPECT_EQ(port_block(ca, 1)->State, IB_PORT_ACTIVE);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

IRPVERBS_ON_BOTH_MACHINES(Fabric);

TEST(FabricIsolation, TwoMachines_ShareNothing) {
    const attached here;
    IB_CA* ca = open_ca(here.fdo());
    const ib_lid_t lid = port_block(ca, 1)->Lid;
    {
        irpverbs::dispatch::asio_machine other;
        const irpverbs::dispatch::machine::scope inside(other);
        const attached there;
        ASSERT_EQ(there.guid(), here.guid());
        IB_CA* same_hca = open_ca(there.fdo());
        HcaSoftwareChangeLid(there.guid(), 1, 77);
        EXPECT_EQ(port_block(same_hca, 1)->Lid, 77);
        HcaSoftwareFail(there.guid());
        EXPECT_EQ(close_ca(same_hca), STATUS_SUCCESS);
    }
    EXPECT_NE(lid, 77);
    EXPECT_EQ(port_block(ca, 1)->Lid, lid); // and its HCA has not failed
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

// Two threads change ports; the last event that a client gets reports the final state, whichever
// thread delivers it.
TEST(FabricRaces, ConcurrentPortChanges_LastEventMatchesFinalState) {
    static int last_event = 0;
    const auto note = [](IB_CA*, void*, UCHAR, IB_ASYNC_EVENT event) { last_event = event; };
    expect_explored({}, [&](irpverbs::dispatch::sim_machine& sim) {
        last_event = 0;
        attached hcas;
        const ib_guid_t guid = hcas.guid();
        const IB_CA_DISPATCH noting{nullptr, note};
        IB_CA* ca = open_ca(hcas.fdo(), &noting);
        sim.spawn("down", [&] { HcaSoftwareSetLink(guid, 1, FALSE); });
        sim.spawn("flap", [&] { HcaSoftwareFlapLink(guid, 1); });
        sim.run();
        const bool active = port_block(ca, 1)->State == IB_PORT_ACTIVE;
        EXPECT_EQ(last_event, active ? IB_AE_PORT_ACTIVE : IB_AE_PORT_ERROR);
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    });
}

} // namespace
