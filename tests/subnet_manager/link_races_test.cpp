// Links that fail and return while a sweep reads their ends.
#include "../saa/scripted_sa.hpp"
#include "managed_fabric.hpp"

#include <hca/software.h>
#include <support/explore_gtest.hpp>
#include <support/ke_shorthand.hpp>

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
