// The manager's own link comes and goes while somebody's coming is to be reported.
#include "managed_fabric.hpp"
#include "scripted_sa.hpp"

#include <hca/software.h>
#include <support/explore_gtest.hpp>
#include <support/ke_words.hpp>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::sim_machine;

/// What it heard: that a port came, or that it may have missed something.
struct listener {
    explicit listener(ib_guid_t its_port) : port(its_port) {}
    static void hear(ibmf_saa_handle_t, ibmf_saa_subnet_event_t what,
                     ibmf_saa_event_details_t* details, void* context) {
        auto& self = *static_cast<listener*>(context);
        const bool came = what == IBMF_SAA_EVENT_GID_AVAILABLE;
        if (what == IBMF_SAA_EVENT_LOST || (came && details->ie_gid.gid_guid == self.port))
            self.knows = true;
    }
    const ib_guid_t port;
    std::atomic<bool> knows{false};
    ibmf_saa_subnet_event_args_t args{hear, this};
};

// What could not be sent because the port was down is sent when it is up; and it comes up, whenever
// in a sweep it went.
TEST(ReportRaces, AReportOutlivesTheManagersLink) {
    irpverbs::dispatch::explore_options options;
    options.random_runs = 200;
    options.pct_runs = 0;
    options.machine.step_limit = 1'000'000;
    expect_explored(options, [](sim_machine& sim) {
        const attached hcas(unmanaged());
        running_manager manager({.hca = hcas.guid(0), .light_sweep_ms = 1000});
        manager.wait_until_up();
        listener subscriber(hcas.guid(3) + 1);
        const session_scope session(&subscriber.args, 0, hcas.guid(1) + 1);
        delay(second);
        HcaSoftwareSetLink(hcas.guid(3), 1, FALSE);
        delay(3 * second);
        sim.spawn("comes", [&] { HcaSoftwareSetLink(hcas.guid(3), 1, TRUE); });
        sim.spawn("flaps", [&] {
            delay(static_cast<LONGLONG>(sim.random() % 60) *
                  microsecond); // as long as a sweep takes
            HcaSoftwareSetLink(hcas.guid(0), 1, FALSE);
            HcaSoftwareSetLink(hcas.guid(0), 1, TRUE);
        });
        sim.run();
        delay(20 * second);
        EXPECT_TRUE(subscriber.knows);
    });
}

} // namespace
