// Each rule of the verifier is tried on a planted bug: an exploration must report it under the
// rule's name, and report nothing for the same programs without it.
#include "planted.hpp"

#include <dispatch/support/sanitizers.hpp>
#include <support/explore_gtest.hpp>
#include <support/findings.hpp>

#include <irp/verifier.hpp>

#include <gtest/gtest.h>

#include <iterator>
#include <string>

namespace planted {

static std::string_view bug;

bool planted(std::string_view rule) { return rule == bug; }
planting::planting(std::string_view rule) { bug = rule; }
planting::~planting() { bug = {}; }

namespace {

constexpr const char* rules[] = {
#define X(name, ...) #name,
#include "../../../dispatch/src/verify/rules.def"
#include "../../../irp/src/verify/rules.def"
#undef X
};

constexpr program programs[] = {completes_requests, pends_requests,     queues_requests,
                                filters_requests,   waits_for_requests, allocates_irps,
                                starts_io,          uses_locks,         changes_irql,
                                uses_pool,          plugs_and_plays};

/// The options for `rule`; rules that correct programs may break are off by default.
std::string options_for(std::string_view rule) {
    if (rule == "MultRemoveLock") return "default,two_remove_locks=fail";
    if (rule == "PendedCompletedRequest") return "default,pended_completed=fail";
    if (rule == "CancelLockRequired") return "default,cancel_lock_required";
    if (rule == "LockUninitialised") return "default,lock_initialisation";
    return "default";
}

/// A report about an IRP has the stack of the violation and one earlier stack.
bool lacks_a_stack(const std::string& report) {
    if (report.find("history:\n") == std::string::npos) return false;
    const std::size_t first = report.find("\nstack (");
    return first == std::string::npos || report.find("\nstack (", first + 1) == std::string::npos;
}

/// The report of the first exploration that finds one, or "nothing".
std::string reported(std::string_view rule, const std::string& options) {
    const irpverbs::irp::verifier_scope verified(options);
    const planting scope(rule);
    irpverbs::dispatch::explore_options few;
    few.random_runs = few.pct_runs = 60;
    few.shrink_budget = 0;
    for (const program each : programs) {
        const auto summary = irpverbs::testing::run_exploration(few, each);
        if (!summary.failure) continue;
        const std::string found = irpverbs::testing::rule_in(summary.failure->what);
        if (found == rule && !lacks_a_stack(summary.failure->what)) return found;
        return summary.failure->what.substr(0, 1500);
    }
    return "nothing";
}

class PlantedBug : public testing::TestWithParam<const char*> {};

TEST_P(PlantedBug, Exploration_ReportsBugUnderItsRule) {
    EXPECT_EQ(reported(GetParam(), options_for(GetParam())), GetParam());
}

bool left_to_the_sanitizer([[maybe_unused]] std::string_view rule) {
#if IRPVERBS_ADDRESS_SANITIZER
    // The sanitizer stops the program at the write.
    return rule == "WriteAfterFree" || rule == "WriteAfterSend" || rule == "FreedMemoryWritten" ||
           rule == "MarkingInterlockedQueuedIrps";
#else
    return false;
#endif
}

std::vector<const char*> rules_to_try() {
    std::vector<const char*> some;
    for (const char* each : rules)
        if (!left_to_the_sanitizer(each)) some.push_back(each);
    return some;
}

INSTANTIATE_TEST_SUITE_P(Of, PlantedBug, testing::ValuesIn(rules_to_try()),
                         [](const auto& each) { return std::string(each.param); });

TEST(PlantedBugs, DefaultChecksWithoutBug_NothingIsReported) {
    EXPECT_EQ(reported("", "default"), "nothing");
}

// The programs also keep the rules of the stricter options.
TEST(PlantedBugs, StricterChecksWithoutBug_NothingIsReported) {
    EXPECT_EQ(reported("", "default,lock_initialisation,release_order"), "nothing");
}

} // namespace
} // namespace planted
