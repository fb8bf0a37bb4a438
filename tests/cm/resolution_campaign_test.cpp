// Resolutions of datagram services over a faulty cable, in drawn order: messages are lost,
// duplicated and reordered, calls are cancelled, requests rejected, dropped or answered late. Each
// call ends, each response is that of its request, and both managers forget all resolutions.
#include "campaign_world.hpp"

#include <support/explore_gtest.hpp>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::sim_machine;

constexpr ULONG first_qpn = 0x1000; // of the response to request 0

struct resolving_world : campaign_world {
    using campaign_world::campaign_world;

    void resolve(ULONG number) {
        resolve_at wanted(ends.one.path_to(ends.two));
        wanted.p_pdata = &number;
        wanted.pdata_length = sizeof(number);
        pending_resolution resolution(ends.first, wanted);
        if (drawn(3) == 0) {
            let_pass_ms(static_cast<LONGLONG>(drawn(200)));
            resolution.call.cancel();
        }
        EXPECT_TRUE(resolution.call.completes_within(500'000));
        const NTSTATUS status = resolution.status();
        EXPECT_TRUE(is_one_of(status, {STATUS_SUCCESS, STATUS_CANCELLED, STATUS_IO_TIMEOUT,
                                       STATUS_REQUEST_NOT_ACCEPTED}))
            << name_of(status);
        if (status != STATUS_SUCCESS) return;
        EXPECT_EQ(resolution.reply.qpn, first_qpn + number);
        EXPECT_EQ(resolution.reply.q_key, number);
        ++succeeded;
    }

    void be_service(open_listener& listener) {
        for (;;) {
            pending_ud_request next(listener);
            while (!next.call.completes_within(100))
                if (stop) next.call.cancel();
            if (next.call.status() != STATUS_SUCCESS) return listener.close();
            respond(next);
        }
    }

private:
    void respond(pending_ud_request& to) {
        const open_ud_request request = to.object();
        if (drawn(6) == 0) return; // dropped, which rejects it
        let_pass_ms(static_cast<LONGLONG>(drawn(3) * 100));
        ULONG number = 0;
        std::memcpy(&number, to.request.pdata, sizeof(number));
        ib_cm_ud_response_t with{};
        if (drawn(6) == 0) with.status = IB_CM_SIDR_NO_QP;
        with.qpn = first_qpn + number;
        with.q_key = number;
        EXPECT_EQ(request.respond(with), STATUS_SUCCESS);
    }
};

TEST(CmResolutionCampaign, LossDuplicationReorderingAndCancels_EachResponseIsThatOfItsRequest) {
    irpverbs::dispatch::explore_options options;
    options.random_runs = 800;
    options.pct_runs = 200;
    options.machine.step_limit = 2'000'000;
    std::uint64_t resolved = 0;
    const auto seen = expect_explored(options, [&](sim_machine& sim) {
        resolving_world world(sim);
        open_listener listener(world.ends.second, of_datagrams);
        world.make_faulty();
        sim.spawn("service", [&] { world.be_service(listener); });
        sim.spawn("clients", [&] {
            for (ULONG i = 0; i < 4; ++i)
                world.resolve(i);
            world.stop = true;
        });
        sim.run();
        resolved += static_cast<std::uint64_t>(world.succeeded.load());
        world.expect_all_forgotten();
    });
    EXPECT_GT(resolved, seen.runs()) << "runs without responses test nothing";
}

} // namespace
