// Links that go and come back while a sweep reads their ends.
#include "managed_fabric.hpp"

#include <hca/software.h>
#include <support/explore_gtest.hpp>
#include <support/ke_words.hpp>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::sim_machine;

// The manager's, or another host's; a third one's coming is why there is a sweep.
TEST(LinkRaces, OneThatFlapsInASweepComesUp) {
    irpverbs::dispatch::explore_options options;
    options.random_runs = 300;
    options.pct_runs = 0;
    options.machine.step_limit = 1'000'000;
    expect_explored(options, [](sim_machine& sim) {
        const attached hcas(unmanaged());
        running_manager manager({.hca = hcas.guid(0)});
        manager.wait_until_up();
        const std::size_t flapping = sim.random() % 3;
        HcaSoftwareSetLink(hcas.guid(3), 1, FALSE);
        delay(3 * second);
        sim.spawn("comes", [&] { HcaSoftwareSetLink(hcas.guid(3), 1, TRUE); });
        sim.spawn("flaps", [&] {
            delay(static_cast<LONGLONG>(sim.random() % 60) *
                  microsecond); // as long as a sweep takes
            HcaSoftwareSetLink(hcas.guid(flapping), 1, FALSE);
            HcaSoftwareSetLink(hcas.guid(flapping), 1, TRUE);
        });
        sim.run();
        delay(20 * second);
        for (const std::size_t host : {flapping, std::size_t{3}})
            EXPECT_EQ(port_block(open_hca(hcas.fdo(host)), 1)->State, IB_PORT_ACTIVE) << host;
    });
}

} // namespace
