// Links that go and come back while a sweep reads their ends.
#include "managed_fabric.hpp"

#include <hca/software.h>
#include <support/explore_gtest.hpp>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::sim_machine;

void let_pass_us(std::uint64_t time) {
    LARGE_INTEGER due;
    due.QuadPart = -static_cast<LONGLONG>(time * 10);
    KeDelayExecutionThread(KernelMode, FALSE, &due);
}

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
        let_pass_us(3'000'000);
        sim.spawn("comes", [&] { HcaSoftwareSetLink(hcas.guid(3), 1, TRUE); });
        sim.spawn("flaps", [&] {
            let_pass_us(sim.random() % 60); // as long as a sweep takes
            HcaSoftwareSetLink(hcas.guid(flapping), 1, FALSE);
            HcaSoftwareSetLink(hcas.guid(flapping), 1, TRUE);
        });
        sim.run();
        let_pass_us(20'000'000);
        for (const std::size_t host : {flapping, std::size_t{3}})
            EXPECT_EQ(port_block(open_hca(hcas.fdo(host)), 1)->State, IB_PORT_ACTIVE) << host;
    });
}

} // namespace
