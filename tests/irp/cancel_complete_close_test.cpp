// An IRP is pending in the cancel-safe queue below a filter that holds its remove lock for it.
// Three actors race: one cancels the IRP, one completes it, one calls IoReleaseRemoveLockAndWait.
#include <support/exhaustive_gtest.hpp>
#include <support/reference_drivers.hpp>

#include <gtest/gtest.h>

namespace {

using namespace irpverbs::dispatch;
using irpverbs::testing::counted_request;
using irpverbs::testing::filter_driver;
using irpverbs::testing::queue_driver;

struct endings {
    int cancelled = 0;
    int completed = 0;
};

void cancel_complete_close(sim_machine& sim, endings& seen) {
    queue_driver queue;
    filter_driver filter(queue.device());
    counted_request pending(filter.device());
    EXPECT_EQ(pending.send(), STATUS_PENDING);
    sim.spawn("cancel", [&] { pending.cancel(); });
    sim.spawn("complete", [&] { queue.serve(); });
    sim.spawn("close", [&] {
        filter.remove();
        EXPECT_EQ(filter.returned(), 1); // no request is inside any more
    });
    sim.run();
    EXPECT_EQ(pending.completions, 1);
    EXPECT_TRUE(pending.status == STATUS_SUCCESS || pending.status == STATUS_CANCELLED);
    ++(pending.status == STATUS_CANCELLED ? seen.cancelled : seen.completed);
    counted_request late(filter.device());
    EXPECT_EQ(late.send(), STATUS_DELETE_PENDING);
}

TEST(CancelCompleteClose, EverySchedule_CompletesOnce) {
    endings seen;
    explore_options options;
    options.random_runs = options.pct_runs = 0;
    options.exhaustive_runs = 100'000;
    options.preemption_bound = 3;
    options.required_probes = {"cancel.found_no_routine", "csq.remove_next_skipped_cancelled"};
    irpverbs::testing::expect_exhausted(
        options, [&](sim_machine& sim) { cancel_complete_close(sim, seen); });
    EXPECT_GT(seen.cancelled, 0);
    EXPECT_GT(seen.completed, 0);
}

} // namespace
