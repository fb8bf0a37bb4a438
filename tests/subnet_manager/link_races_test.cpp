// Links that fail and return while a sweep reads their ends.
#include "../hca/subnet_client.hpp"
#include "../saa/scripted_sa.hpp"
#include "managed_fabric.hpp"

#include <dispatch/testing/probe.hpp>
#include <hca/software.h>
#include <support/explore_gtest.hpp>
#include <support/ke_shorthand.hpp>

#include <atomic>
#include <optional>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::explore_options;
using irpverbs::dispatch::sim_machine;

explore_options schedules(std::uint64_t count) {
    explore_options options;
    options.random_runs = count;
    options.pct_runs = 0;
    options.machine.step_limit = 1'000'000;
    return options;
}

constexpr std::size_t coming = 3;

// A host's link flaps at some time of the sweep that the arrival of another host causes.
void flap_in_a_sweep(sim_machine& sim, const attached& hcas, std::size_t host) {
    HcaSoftwareSetLink(hcas.guid(coming), 1, FALSE);
    delay(3 * second);
    sim.spawn("comes", [&] { HcaSoftwareSetLink(hcas.guid(coming), 1, TRUE); });
    sim.spawn("flaps", [&, host] {
        constexpr unsigned us_of_a_sweep = 60;
        delay(static_cast<LONGLONG>(sim.random() % us_of_a_sweep) * microsecond);
        HcaSoftwareSetLink(hcas.guid(host), 1, FALSE);
        HcaSoftwareSetLink(hcas.guid(host), 1, TRUE);
    });
    sim.run();
    sim.end_delays();
    delay(20 * second);
}

// The flapping link is the manager's or another host's.
TEST(LinkRaces, LinkFlapsDuringSweep_PortBecomesActive) {
    expect_explored(schedules(300), [](sim_machine& sim) {
        const attached hcas(unmanaged());
        running_manager manager({.hca = hcas.guid(0)});
        manager.wait_until_up();
        const std::size_t flapping = sim.random() % 3;
        flap_in_a_sweep(sim, hcas, flapping);
        for (const std::size_t host : {flapping, coming})
            EXPECT_EQ(port_block(open_hca(hcas.fdo(host)), 1)->State, IB_PORT_ACTIVE) << host;
    });
}

// The change bits of all switches are set when the first sweep begins, and no switch knows yet whom
// to send a trap.
TEST(LinkRaces, LinkComesUpDuringFirstSweep_PortBecomesActive) {
    expect_explored(schedules(300), [](sim_machine& sim) {
        const attached hcas(unmanaged());
        HcaSoftwareSetLink(hcas.guid(coming), 1, FALSE);
        std::optional<running_manager> manager;
        sim.spawn("starts", [&] {
            manager.emplace(irpverbs::subnet_manager::manager_options{.hca = hcas.guid(0)});
        });
        sim.spawn("comes", [&] {
            constexpr unsigned us_of_a_sweep = 60;
            delay(static_cast<LONGLONG>(sim.random() % us_of_a_sweep) * microsecond);
            HcaSoftwareSetLink(hcas.guid(coming), 1, TRUE);
        });
        sim.run();
        sim.end_delays();
        delay(20 * second);
        EXPECT_EQ(port_block(open_hca(hcas.fdo(coming)), 1)->State, IB_PORT_ACTIVE);
    });
}

constexpr UCHAR cable = 7; // from the switch of the host `coming` to the other one

// A port that knows no manager sends no traps.
void discard_traps(subnet_client& client, route way, ULONG port) {
    constexpr std::size_t master_lid = smp_data + 18;
    client.modify(way, sm_port_info, port, [](mad& info) { info.put<2>(master_lid, 0); });
}

// Clears the bits by which a light sweep would find the flap, as another manager's sweep does.
void clear_change_bits(subnet_client& client) {
    constexpr std::size_t change_byte = smp_data + 11;
    constexpr UCHAR port_state_change = 0x04;
    const auto clear = [&](route way) {
        const mad info = client.get(way, sm_switch_info);
        if ((info[change_byte] & port_state_change) != 0) client.set(way, sm_switch_info, 0, info);
    };
    clear({1});
    clear({1, cable});
}

// Counts the settings that a new manager has written into the port since a time.
struct reregistrations {
    static void on_event(IB_CA*, void* context, UCHAR, IB_ASYNC_EVENT event) {
        auto& self = *static_cast<reregistrations*>(context);
        if (event == IB_AE_CLIENT_REREGISTER) ++self.count;
    }
    std::atomic<int> count{0};
    const IB_CA_DISPATCH calls{nullptr, on_event};
};

// A new manager reads a link that is active; the link flaps, and the manager writes its settings
// into a port that is not active any more. Returns whether that order of events was met.
bool flap_before_settings(sim_machine& sim, const attached& hcas, std::size_t flapping,
                          std::optional<running_manager>& manager) {
    const open_hca host(hcas.fdo(coming));
    subnet_client client(host);
    reregistrations after_flap;
    IB_CA* const ca = open_ca(hcas.fdo(flapping), &after_flap.calls, &after_flap);
    sim.spawn("takes over", [&] {
        manager.emplace(irpverbs::subnet_manager::manager_options{.hca = hcas.guid(coming)});
    });
    sim.spawn("flaps", [&] {
        constexpr unsigned us_of_a_sweep = 60;
        delay(static_cast<LONGLONG>(sim.random() % us_of_a_sweep) * microsecond);
        discard_traps(client, {1}, 0);
        discard_traps(client, {1, cable}, 0);
        HcaSoftwareSetLink(hcas.guid(flapping), 1, FALSE);
        HcaSoftwareSetLink(hcas.guid(flapping), 1, TRUE);
        after_flap.count = 0;
        clear_change_bits(client);
    });
    sim.run();
    sim.end_delays();
    delay(40 * second);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    return after_flap.count != 0;
}

// Neither a trap nor a change bit reports the flap.
TEST(LinkRaces, LinkFlapsBeforeNewManagersSettings_PortBecomesActive) {
    auto options = schedules(300);
    options.required_probes = {"link.flapped_before_settings"};
    expect_explored(options, [](sim_machine& sim) {
        constexpr std::size_t flapping = 1;
        const attached hcas(unmanaged());
        {
            running_manager earlier({.hca = hcas.guid(0)});
            earlier.wait_until_up();
            for (const std::size_t of_manager : {std::size_t{0}, coming}) {
                const open_hca host(hcas.fdo(of_manager));
                subnet_client client(host);
                discard_traps(client, {}, 1);
            }
        }
        std::optional<running_manager> later;
        if (!flap_before_settings(sim, hcas, flapping, later)) return;
        IRPVERBS_PROBE("link.flapped_before_settings");
        EXPECT_EQ(port_block(open_hca(hcas.fdo(flapping)), 1)->State, IB_PORT_ACTIVE);
    });
}

/// Records whether a Report of the port, or of a loss, has arrived.
struct listener {
    explicit listener(ib_guid_t its_port) : port(its_port) {}
    static void on_event(ibmf_saa_handle_t, ibmf_saa_subnet_event_t what,
                         ibmf_saa_event_details_t* details, void* context) {
        auto& self = *static_cast<listener*>(context);
        const bool came = what == IBMF_SAA_EVENT_GID_AVAILABLE;
        if (what == IBMF_SAA_EVENT_LOST || (came && details->ie_gid.gid_guid == self.port))
            self.notified = true;
    }
    const ib_guid_t port;
    std::atomic<bool> notified{false};
    ibmf_saa_subnet_event_args_t args{on_event, this};
};

// A Report that could not be sent because the manager's port was down is sent when it is up; and
// the port comes up, at whatever time of a sweep it went down.
TEST(LinkRaces, ManagerLinkFlapsDuringSweep_ReportIsSent) {
    expect_explored(schedules(200), [](sim_machine& sim) {
        const attached hcas(unmanaged());
        running_manager manager({.hca = hcas.guid(0), .light_sweep_ms = 1000});
        manager.wait_until_up();
        listener subscriber(hcas.guid(coming) + 1);
        const session_scope session(&subscriber.args, 0, hcas.guid(1) + 1);
        delay(second);
        flap_in_a_sweep(sim, hcas, 0);
        EXPECT_TRUE(subscriber.notified);
    });
}

} // namespace
