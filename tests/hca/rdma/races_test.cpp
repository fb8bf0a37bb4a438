// Sends, receives, and the end of an agent and of its device, under every schedule of a few actors.
#include "rdma_hcas.hpp"

#include <support/explore_gtest.hpp>

#include <cerrno>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

explore_options few_actors() {
    explore_options options;
    options.random_runs = 150;
    options.pct_runs = 150;
    options.exhaustive_runs = 300;
    options.preemption_bound = 2;
    return options;
}

auto deregistering(IB_MAD_AGENT* agent) {
    return [agent](IRP* irp) { return CiDeregisterMadAgent(agent, irp); };
}

TEST(RdmaRaces, DeregistrationDuringReceive_BothComplete) {
    expect_explored(few_actors(), [](sim_machine& sim) {
        fake_umad kernel;
        const open_rdma hca;
        rdma_agent agent(hca.ca);
        mad_buffer into;
        verb_call waiter;
        verb_call ender;
        waiter.send(agent.getting(into.receive));
        sim.spawn("arrive", [&] { kernel.deliver(sa_datagram(sa_datagram::get).message()); });
        sim.spawn("end", [&] { ender.send(deregistering(agent.agent)); });
        sim.run();
        agent.agent = nullptr;
        EXPECT_TRUE(waiter.status() == STATUS_SUCCESS || waiter.status() == STATUS_CANCELLED);
        EXPECT_EQ(ender.status(), STATUS_SUCCESS);
        EXPECT_EQ(kernel.open_files(), 0u);
    });
}

// A sender, a reader and the port poll may all detect the removal; it is reported once.
TEST(RdmaRaces, DeviceRemovedDuringSend_RaisesOneFatalEvent) {
    static int fatal = 0;
    const auto note = [](IB_CA*, void*) { ++fatal; };
    expect_explored(few_actors(), [&](sim_machine& sim) {
        fatal = 0;
        fake_umad kernel;
        {
            const rdma_hcas hcas;
            const IB_CA_DISPATCH calls{note, nullptr};
            IB_CA* ca = open_ca(rdma_hcas::fdo(), &calls);
            {
                const rdma_agent agent(ca);
                const sa_datagram request(sa_datagram::get, 7, 100);
                verb_call sender;
                sim.spawn("remove", [&] { kernel.remove("fake0"); });
                sim.spawn("send", [&] { sender.send(agent.sending(request.send)); });
                sim.run();
                EXPECT_TRUE(sender.status() == STATUS_SUCCESS ||
                            sender.status() == STATUS_FILE_FORCED_CLOSED);
                EXPECT_EQ(fatal, 1);
            }
            EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
        }
        EXPECT_EQ(fatal, 1);
        EXPECT_EQ(kernel.open_files(), 0u);
    });
}

// In either order the second request is on the wire once, after the first has expired.
TEST(RdmaRaces, RepetitionDuringExpiry_IsSentOnce) {
    expect_explored(few_actors(), [](sim_machine& sim) {
        fake_umad kernel;
        const open_rdma hca;
        const rdma_agent agent(hca.ca);
        const sa_datagram request(sa_datagram::get, 7, 100);
        EXPECT_EQ(agent.send(request.send), STATUS_SUCCESS);
        verb_call again;
        sim.spawn("expire", [&] { kernel.expire(request.bytes); });
        sim.spawn("again", [&] { again.send(agent.sending(request.send)); });
        sim.run();
        EXPECT_EQ(again.status(), STATUS_SUCCESS);
        EXPECT_EQ(kernel.all_sent().size(), 2u);
    });
}

// The port is polled every millisecond: a delay of seconds would bring thousands of polls.
TEST(RdmaRaces, CloseDuringPortPoll_Completes) {
    expect_explored(irpverbs::testing::without_delays(few_actors()), [](sim_machine& sim) {
        fake_umad kernel;
        const rdma_hcas hcas;
        HcaRdmaSetPollInterval(0x1000, 1);
        IB_CA* ca = open_ca(rdma_hcas::fdo());
        verb_call waiter;
        verb_call closer;
        waiter.send([&](IRP* irp) { return CiGetCaPortEvent(ca, 1, irp); });
        sim.spawn("change", [&] {
            kernel.change([](fake_umad& all) { all.cas.at("fake0").ports[0].lid = 9; });
            LARGE_INTEGER look;
            look.QuadPart = -10'000;
            KeDelayExecutionThread(KernelMode, FALSE, &look);
            closer.send([&](IRP* irp) { return CiCloseCa(ca, nullptr, irp); });
        });
        sim.run();
        EXPECT_TRUE(waiter.status() == STATUS_SUCCESS || waiter.status() == STATUS_CANCELLED);
        EXPECT_EQ(closer.status(), STATUS_SUCCESS);
    });
}

} // namespace
