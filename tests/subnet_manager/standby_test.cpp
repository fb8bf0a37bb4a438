// Several subnet managers on one fabric: one is the master, the others stand by and take over.
#include "../saa/scripted_sa.hpp"
#include "managed_fabric.hpp"
#include "sa_client.hpp"

#include "../hca/subnet_client.hpp"

#include <ibmf/ibmf_extras.h>
#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

#include <atomic>
#include <optional>

namespace {

using namespace irpverbs::testing;
using irpverbs::subnet_manager::manager_options;
using irpverbs::subnet_manager::manager_state;

constexpr std::size_t master_sm_lid = 18; // within PortInfo

class Standby : public BothMachines {};

manager_options quick(ib_guid_t hca, std::uint8_t priority = 0) {
    return {.hca = hca, .priority = priority, .standby_poll_ms = 500, .standby_retries = 2};
}

bool is(running_manager& which, manager_state state) { return which->status().state == state; }

bool is_master(running_manager& which) { return is(which, manager_state::master); }
bool stands_by(running_manager& which) { return is(which, manager_state::standby); }

// Whether every port sends its requests and traps to that manager.
bool all_ports_are_managed_by(const attached& hcas, std::size_t manager) {
    const ib_lid_t lid = open_hca(hcas.fdo(manager)).lid();
    for (std::size_t i = 0; i < hcas.count(); ++i) {
        const port_block port(open_hca(hcas.fdo(i)), 1);
        if (port->SmLid != lid || port->State != IB_PORT_ACTIVE) return false;
    }
    return lid != 0;
}

void set_faults(const attached& hcas, ULONG once_in) {
    HCA_SOFTWARE_FAULTS faults{};
    faults.LossOnceIn = faults.DuplicationOnceIn = faults.ReorderingOnceIn = once_in;
    faults.ReorderingTime = once_in != 0 ? 100 : 0;
    for (std::size_t i = 0; i < hcas.count(); ++i)
        EXPECT_EQ(HcaSoftwareSetFaults(hcas.guid(i), 1, &faults), STATUS_SUCCESS);
}

void sleep_ms(unsigned time) {
    LARGE_INTEGER due;
    due.QuadPart = -10'000LL * time;
    KeDelayExecutionThread(KernelMode, FALSE, &due);
}
void sleep_seconds(unsigned time) { sleep_ms(1000 * time); }

ib_gid_t gid(const attached& hcas, std::size_t which) {
    return gid_of(port_block(open_hca(hcas.fdo(which)), 1)->PortGuid);
}

/// A host that queries paths and gets events of ports that leave.
struct subscribed_host {
    subscribed_host(const attached& hcas, std::size_t which)
        : own(gid(hcas, which)), session(&args, 0, own.gid_guid) {}

    int path_to(const ib_gid_t& there) {
        sa_path_record_t wanted{};
        wanted.SGID = own;
        wanted.DGID = there;
        return test_access<sa_path_record_t>(SA_PATHRECORD_ATTRID, wanted,
                                             SA_PR_COMPMASK_SGID | SA_PR_COMPMASK_DGID)
            .ask(session);
    }

    static void on_event(ibmf_saa_handle_t, ibmf_saa_subnet_event_t what,
                         ibmf_saa_event_details_t* details, void* self) {
        if (what == IBMF_SAA_EVENT_GID_UNAVAILABLE)
            static_cast<subscribed_host*>(self)->gone = details->ie_gid.gid_guid;
    }

    std::atomic<ib_guid_t> gone{0};
    ibmf_saa_subnet_event_args_t args{on_event, this};
    ib_gid_t own;
    session_scope session;
};

TEST_P(Standby, TwoManagersStartTogether_OneIsMaster) {
    const attached hcas(unmanaged());
    running_manager first(quick(hcas.guid(0)));
    running_manager second(quick(hcas.guid(3)));
    EXPECT_EQ(first.wait_until_up(), STATUS_SUCCESS);
    EXPECT_EQ(second.wait_until_up(), STATUS_SUCCESS);
    EXPECT_TRUE(is_master(first)); // its GUID is lower
    EXPECT_TRUE(stands_by(second));
    EXPECT_TRUE(all_ports_are_managed_by(hcas, 0));
    EXPECT_FALSE(first->status().incomplete);
}

TEST_P(Standby, TwoPriorities_HigherIsMaster) {
    const attached hcas(unmanaged());
    running_manager first(quick(hcas.guid(0), 3));
    running_manager second(quick(hcas.guid(3), 4));
    EXPECT_TRUE(eventually([&] { return is_master(second) && stands_by(first); }));
    EXPECT_TRUE(eventually([&] { return all_ports_are_managed_by(hcas, 3); }));
}

// Clients learn of the new master from their port's event, subscribe again, and continue.
TEST_P(Standby, MasterStopped_StandbyBecomesMaster) {
    const attached hcas(unmanaged());
    std::optional<running_manager> first(std::in_place, quick(hcas.guid(0)));
    first->wait_until_up();
    running_manager second(quick(hcas.guid(3)));
    second.wait_until_up();
    const ib_lid_t before = open_hca(hcas.fdo(2)).lid();
    subscribed_host host(hcas, 2);
    EXPECT_EQ(host.path_to(gid(hcas, 1)), IBMF_SUCCESS);
    first.reset();
    EXPECT_TRUE(eventually([&] { return is_master(second); }));
    EXPECT_TRUE(all_ports_are_managed_by(hcas, 3));
    EXPECT_FALSE(second->status().incomplete);
    EXPECT_EQ(open_hca(hcas.fdo(2)).lid(), before);
    EXPECT_EQ(host.path_to(gid(hcas, 1)), IBMF_SUCCESS);
    const ib_gid_t leaving = gid(hcas, 0);
    EXPECT_EQ(HcaSoftwareSetLink(hcas.guid(0), 1, FALSE), STATUS_SUCCESS);
    EXPECT_TRUE(eventually([&] { return host.gone == leaving.gid_guid; }));
    EXPECT_EQ(host.path_to(leaving), IBMF_NO_RECORDS);
}

TEST_P(Standby, MasterHcaFails_StandbyBecomesMaster) {
    const attached hcas(unmanaged());
    running_manager first(quick(hcas.guid(0)));
    first.wait_until_up();
    running_manager second(quick(hcas.guid(3)));
    second.wait_until_up();
    EXPECT_EQ(HcaSoftwareFail(hcas.guid(0)), STATUS_SUCCESS);
    EXPECT_TRUE(eventually([&] { return is_master(second); }));
    subscribed_host host(hcas, 2);
    EXPECT_EQ(host.path_to(gid(hcas, 1)), IBMF_SUCCESS);
}

TEST_P(Standby, HigherPriorityManagerStarts_MasterHandsOver) {
    const attached hcas(unmanaged());
    running_manager first(quick(hcas.guid(0)));
    first.wait_until_up();
    subscribed_host host(hcas, 2);
    running_manager second(quick(hcas.guid(3), 9));
    EXPECT_TRUE(eventually([&] { return is_master(second) && stands_by(first); }));
    EXPECT_TRUE(all_ports_are_managed_by(hcas, 3));
    EXPECT_EQ(host.path_to(gid(hcas, 1)), IBMF_SUCCESS);
    sa_client client(hcas.guid(1), open_hca(hcas.fdo(3)).lid());
    const auto managers = client.table<sa_sminfo_record_t>();
    ASSERT_EQ(managers.size(), 2u);
    EXPECT_EQ(managers[0].SMInfo.Priority, 9);
    EXPECT_EQ(managers[0].SMInfo.SMState, SM_STATE_MASTER);
    EXPECT_EQ(managers[1].LID, open_hca(hcas.fdo(0)).lid());
    second.stop();
    EXPECT_TRUE(eventually([&] { return is_master(first); })); // which returns the mastership
    EXPECT_TRUE(all_ports_are_managed_by(hcas, 0));
    EXPECT_EQ(host.path_to(gid(hcas, 1)), IBMF_SUCCESS);
}

// A manager of lower priority that comes later changes nothing.
TEST_P(Standby, LowerPriorityManagerStarts_StaysStandbyWithoutSweep) {
    const attached hcas(unmanaged());
    running_manager first(quick(hcas.guid(0), 5));
    first.wait_until_up();
    running_manager second(quick(hcas.guid(3), 4));
    second.wait_until_up();
    EXPECT_TRUE(stands_by(second));
    EXPECT_EQ(second->status().sweeps, 0u);
    EXPECT_TRUE(is_master(first));
    EXPECT_TRUE(all_ports_are_managed_by(hcas, 0));
}

TEST_P(Standby, OtherSmKey_MasterKeepsMastership) {
    const attached hcas(unmanaged());
    running_manager first(quick(hcas.guid(0)));
    first.wait_until_up();
    manager_options stranger = quick(hcas.guid(3), 9);
    stranger.sm_key = 7;
    running_manager second(stranger);
    second.wait_until_up();
    EXPECT_FALSE(eventually([&] { return !is_master(first) || !stands_by(second); }));
}

// Set(SMInfo) as another master sends it, by LID.
struct other_master {
    explicit other_master(const attached& hcas, ib_lid_t to)
        : ca(hcas.fdo(2)), agent(ca, agent_of(subnet_class)), lid(to) {}

    mad send_command(ULONG control, std::uint8_t state = SM_STATE_MASTER, std::uint64_t key = 0) {
        mad smp(subnet_class, set_method, sm_info, control);
        smp.put<8>(smp_data, 1).put<8>(smp_data + 8, key).put<1>(smp_data + 20, 0xF0u | state);
        return agent.ask(to_subnet(lid), smp).data;
    }

    open_hca ca;
    mad_client agent;
    ib_lid_t lid;
};

TEST_P(Standby, DisableFromMaster_StandbyBecomesNotActive) {
    constexpr ULONG disable = 3;
    constexpr ULONG stand_by = 4;
    const attached hcas(unmanaged());
    running_manager first(quick(hcas.guid(0)));
    first.wait_until_up();
    running_manager second(quick(hcas.guid(3)));
    second.wait_until_up();
    other_master master(hcas, open_hca(hcas.fdo(3)).lid());
    EXPECT_EQ(master.send_command(stand_by).status(),
              MAD_STATUS_INVALID_FIELD); // it stands by already
    EXPECT_EQ(master.send_command(disable, SM_STATE_STANDBY).status(), MAD_STATUS_INVALID_FIELD);
    EXPECT_EQ(master.send_command(disable, SM_STATE_MASTER, 5).status(), MAD_STATUS_INVALID_FIELD);
    EXPECT_EQ(master.send_command(99).status(), MAD_STATUS_INVALID_FIELD);
    EXPECT_EQ(master.send_command(disable).status(), 0);
    EXPECT_TRUE(eventually([&] { return is(second, manager_state::not_active); }));
    first.stop();
    EXPECT_FALSE(eventually([&] { return is_master(second); }));
    EXPECT_EQ(master.send_command(stand_by).status(), 0);
    EXPECT_TRUE(eventually([&] { return is_master(second); })); // no master responds to its polls
}

// A manager of the last host that responds to requests for SMInfo only when respond() is called.
struct reticent_manager {
    explicit reticent_manager(const attached& hcas,
                              std::initializer_list<UCHAR> methods = {get_method})
        : ca(hcas.fdo(3)), agent(ca, agent_of(directed_class, methods)) {
        IB_MODIFY_PORT change{};
        change.SetCapabilities = IB_PORT_CAP_IS_SM;
        verb_call show([&](IRP* irp) {
            return CiModifyPort(ca, 1, IB_MODIFY_PORT_CAPABILITIES, &change, irp);
        });
        EXPECT_EQ(show.status(), STATUS_SUCCESS);
    }

    /// Responds to the next request, as a manager on standby.
    void respond(std::uint8_t state = SM_STATE_STANDBY, USHORT attribute = sm_info) {
        received_mad asked = agent.receive();
        asked.data[3] = 0x81;
        asked.data[4] |= 0x80; // sent back as a response
        asked.data.put<2>(16, attribute).put<8>(smp_data, 0xFFFF).put<8>(smp_data + 8, 0);
        asked.data[smp_data + 20] = state;
        EXPECT_EQ(agent.send(asked.from, asked.data), STATUS_SUCCESS);
    }

    open_hca ca;
    mad_client agent;
};

// As OpenSM does, which gives up its own mastership, or takes it, without an Acknowledge.
TEST_P(Standby, HigherManagerAcceptsHandoverWithoutAcknowledge_MasterStandsBy) {
    const attached hcas(unmanaged());
    running_manager manager(quick(hcas.guid(0)));
    manager.wait_until_up();
    reticent_manager other(hcas, {get_method, set_method});
    constexpr std::uint8_t highest = 0xF0;
    for (int i = 0; i < 100 && !stands_by(manager); ++i)
        other.respond(highest | SM_STATE_STANDBY);
    EXPECT_TRUE(stands_by(manager));
}

// The response claims to be of another attribute than the one that was requested.
TEST_P(Standby, ResponseOfAnotherAttribute_IsNoResponse) {
    const attached hcas(unmanaged());
    reticent_manager other(hcas);
    running_manager manager(quick(hcas.guid(0)));
    other.respond(SM_STATE_MASTER, sm_guid_info);
    sleep_ms(500);
    EXPECT_TRUE(is(manager, manager_state::discovering)) << "a silent manager may be the master";
    EXPECT_TRUE(eventually([&] { return is_master(manager); }));
}

// The earlier master writes until it has the Acknowledge, and is too busy to respond.
TEST_P(Standby, EarlierMasterWritesUnseen_NewMasterWritesAnew) {
    constexpr ULONG hand_over = 1;
    const attached hcas(unmanaged());
    running_manager manager(quick(hcas.guid(0)));
    manager.wait_until_up();
    reticent_manager earlier(hcas);
    other_master commands(hcas, open_hca(hcas.fdo(0)).lid());
    EXPECT_EQ(commands.send_command(hand_over).status(), 0);
    sleep_seconds(60); // the sweeps after the hand-over have ended
    const open_hca host(hcas.fdo(1));
    subnet_client writer(host);
    const ib_lid_t lid = earlier.ca.lid();
    EXPECT_EQ(writer
                  .modify({}, sm_port_info, 1,
                          [&](mad& info) { info.put<2>(smp_data + master_sm_lid, lid); })
                  .status(),
              0);
    EXPECT_FALSE(all_ports_are_managed_by(hcas, 0));
    for (int i = 0; i < 1000 && !all_ports_are_managed_by(hcas, 0); ++i)
        earlier.respond(); // the first requests have been given up
    EXPECT_TRUE(all_ports_are_managed_by(hcas, 0));
    EXPECT_TRUE(is_master(manager));
}

// Protects the port of that LID against all reads with an M_Key, or ends the protection.
void set_protection(mad_client& by, ib_lid_t lid, bool on) {
    constexpr std::uint64_t key = 0x1234;
    constexpr std::size_t protect_bits = smp_data + 34;
    mad read(subnet_class, get_method, sm_port_info, 1);
    mad info = by.ask(to_subnet(lid), read.put<8>(smp_mkey, key)).data;
    mad set(subnet_class, set_method, sm_port_info, 1);
    std::copy_n(info.begin() + smp_data, 64, set.begin() + smp_data);
    set[smp_data + 32] &= 0xF0; // neither state changes
    set[smp_data + 33] &= 0x0F;
    set[protect_bits] = static_cast<UCHAR>((set[protect_bits] & 0x3F) | (on ? 0xC0 : 0));
    set.put<8>(smp_mkey, key).put<8>(smp_data, on ? key : 0);
    EXPECT_EQ(by.ask(to_subnet(lid), set).data.status(), 0);
}

// The manager's own port does not respond to heavy sweeps, which end after 0.8 s and are repeated a
// second later, and responds to a light sweep. The second HandOver comes between two of them; a
// heavy sweep follows at once, and the light sweep after a second.
TEST_P(Standby, LightSweepOfASubnetWithoutPorts_HeavySweepFollows) {
    constexpr ULONG hand_over = 1;
    const attached hcas(unmanaged());
    running_manager first(quick(hcas.guid(0)));
    first.wait_until_up();
    running_manager second(quick(hcas.guid(3)));
    second.wait_until_up();
    first.stop();
    const ib_lid_t lid = open_hca(hcas.fdo(3)).lid();
    other_master commands(hcas, lid);
    set_protection(commands.agent, lid, true);
    EXPECT_EQ(commands.send_command(hand_over).status(), 0);
    sleep_ms(2000);
    EXPECT_EQ(commands.send_command(hand_over).status(), 0);
    sleep_ms(900);
    EXPECT_EQ(second->status().sweeps, 1u);
    EXPECT_EQ(second->status().end_ports, 0u);
    set_protection(commands.agent, lid, false);
    EXPECT_TRUE(eventually([&] { return all_ports_are_managed_by(hcas, 3); }));
    EXPECT_FALSE(second->status().incomplete);
}

// Managers find each other by IsSM. A process that has set it for a port keeps this manager off the
// port.
TEST_P(Standby, ManagerRunning_PortHasIsSm) {
    const attached hcas(unmanaged());
    const open_hca ca(hcas.fdo(0));
    const auto shown = [&] { return (port_block(ca, 1)->CapabilityMask & IB_PORT_CAP_IS_SM) != 0; };
    {
        running_manager manager(quick(hcas.guid(0)));
        EXPECT_TRUE(shown());
    }
    EXPECT_FALSE(shown());
    IB_MODIFY_PORT change{};
    change.SetCapabilities = IB_PORT_CAP_IS_SM;
    verb_call take(
        [&](IRP* irp) { return CiModifyPort(ca, 1, IB_MODIFY_PORT_CAPABILITIES, &change, irp); });
    EXPECT_EQ(take.status(), STATUS_SUCCESS);
    irpverbs::subnet_manager::manager second(quick(hcas.guid(0)));
    call_result<void> started;
    second.start(started.handler());
    EXPECT_EQ(started.status(), STATUS_SHARING_VIOLATION);
}

TEST_P(Standby, SetIsSmByOtherClass_ReturnsBadClass) {
    const attached hcas(unmanaged());
    ibmf_register_info_t info{hcas.guid(0), 1, PERF_MANAGER};
    ibmf_handle_t client = nullptr;
    ibmf_impl_caps_t capabilities{};
    ASSERT_EQ(ibmf_register(&info, IBMF_VERSION, 0, nullptr, nullptr, &client, &capabilities),
              IBMF_SUCCESS);
    EXPECT_EQ(ibmf_set_is_sm(client, B_TRUE), IBMF_BAD_CLASS);
    EXPECT_EQ(ibmf_unregister(&client, 0), IBMF_SUCCESS);
    EXPECT_EQ(ibmf_set_is_sm(client, B_TRUE), IBMF_BAD_HANDLE);
}

// The managers agree despite losses, and the fabric is fully configured.
TEST_P(Standby, LossyFabric_ManagersAgreeOnMaster) {
    const attached hcas(unmanaged());
    set_faults(hcas, 5);
    running_manager first(quick(hcas.guid(0)));
    running_manager second(quick(hcas.guid(3), 1));
    EXPECT_TRUE(eventually([&] { return is_master(second) && stands_by(first); }));
    set_faults(hcas, 0);
    EXPECT_TRUE(eventually([&] {
        return is_master(second) && stands_by(first) && !second->status().incomplete &&
               all_ports_are_managed_by(hcas, 3);
    }));
}

IRPVERBS_ON_THE_SIMULATED_MACHINE(Standby);

// In every order of events, with losses: one manager is the master, and the other one after its
// end.
TEST(StandbyRaces, LossAndAnyOrderOfStarts_OneMasterRemains) {
    using namespace irpverbs::dispatch;
    explore_options options;
    options.random_runs = 200;
    options.pct_runs = 100;
    expect_explored(options, [](sim_machine& sim) {
        const attached hcas(unmanaged());
        set_faults(hcas, 20);
        std::optional<running_manager> one, other;
        sim.spawn("one", [&] { one.emplace(quick(hcas.guid(0))); });
        sim.spawn("other", [&] { other.emplace(quick(hcas.guid(3), 1)); });
        sim.run();
        sim.end_delays();
        EXPECT_TRUE(eventually([&] { return is_master(*other) && stands_by(*one); }));
        other.reset();
        EXPECT_TRUE(eventually([&] { return is_master(*one); }));
        set_faults(hcas, 0);
        EXPECT_TRUE(eventually([&] { return all_ports_are_managed_by(hcas, 0); }));
    });
}

} // namespace
