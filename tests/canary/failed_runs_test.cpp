// A campaign outlives its failed runs: each is abandoned in the middle, and the next begins clean.
#include "canary.hpp"

#include <dispatch/support/sanitizers.hpp>
#include <irp/verifier.hpp>
#include <support/explore_gtest.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <malloc.h>

namespace {

using canary::defect;
using irpverbs::dispatch::explore_options;

// Under AddressSanitizer abandoned stacks are kept for its leak check, but only so many.
#if IRPVERBS_ADDRESS_SANITIZER
constexpr std::uint64_t runs_of_each = 10;
constexpr std::uint64_t expected_failures = 100;
#else
constexpr std::uint64_t runs_of_each = 200;
constexpr std::uint64_t expected_failures = 2000;
#endif

std::uint64_t heap_in_use() { return mallinfo2().uordblks; }

/// Makes the runs of each defect, and returns how many of them failed.
std::uint64_t failed_runs() {
    const irpverbs::irp::verifier_scope watched("default");
    explore_options all;
    all.random_runs = runs_of_each;
    all.pct_runs = 0;
    all.stop_at_failure = false;
    all.shrink_budget = 0;
    std::uint64_t failures = 0;
    for (const auto* part : {&canary::single_slot_defects(), &canary::queue_defects(),
                             &canary::completion_defects(), &canary::primitive_defects()})
        for (const defect& each : *part)
            if (each.evidence == canary::found_by::outcome)
                failures += irpverbs::testing::run_exploration(all, each.run).random.failures;
    return failures;
}

// The stacks return to the pool; what only they pointed to is lost. IRPVERBS_SEEDS=36: 10^5
// failures.
TEST(FailedRuns, ManyInOneProcess_CampaignGoesOnAndMemoryHardlyGrows) {
    const std::uint64_t before = heap_in_use();
    const std::uint64_t failures = failed_runs();
    EXPECT_GE(failures, expected_failures);
    const std::uint64_t bytes = (heap_in_use() - before) / failures;
    RecordProperty("failures", static_cast<int>(failures));
    RecordProperty("bytes_of_each", static_cast<int>(bytes));
#if !IRPVERBS_ADDRESS_SANITIZER && !IRPVERBS_THREAD_SANITIZER // which have heaps of their own
    EXPECT_LE(bytes, 4096u);
#endif
}

} // namespace
