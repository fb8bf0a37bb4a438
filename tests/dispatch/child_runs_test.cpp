// Campaigns whose runs are made in child processes: what ends a run's process is a failure.
#include <dispatch/testing/explore.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>

namespace {

using namespace irpverbs;
using namespace irpverbs::dispatch;

explore_options in_children(std::uint64_t runs = 200) {
    explore_options options;
    options.random_runs = options.pct_runs = runs;
    options.own_process = true;
    options.process_time_ms = 200;
    return options;
}

void write_to_nothing() {
    int* volatile nothing = nullptr;
    *nothing = 1;
}

/// Dies where the second actor stops between its two steps.
template <class Death>
auto race_that_ends_in(const Death& death) {
    return [&death](sim_machine& sim) {
        int stage = 0;
        sim.spawn("first", [&] {
            sim.yield();
            if (stage == 1) death();
        });
        sim.spawn("second", [&] {
            stage = 1;
            sim.yield();
            stage = 2;
        });
        sim.run();
    };
}

std::optional<std::string> lose_an_update(sim_machine& sim) {
    int value = 0;
    for (const char* name : {"one", "two"})
        sim.spawn(name, [&] {
            const int read = value;
            sim.yield();
            value = read + 1;
        });
    sim.run();
    if (value != 2) return "an update was lost";
    return std::nullopt;
}

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

TEST(ChildRuns, FatalSignal_IsAShrunkFailureWithStackAndEvents) {
    const explore_summary found = explore(in_children(), race_that_ends_in(write_to_nothing));
    ASSERT_TRUE(found.failure) << found.text();
    EXPECT_TRUE(has(found.failure->what, "fatal signal SIGSEGV")) << found.text();
    EXPECT_TRUE(has(found.failure->what, "write_to_nothing")) << found.text();
    EXPECT_LE(found.failure->trace.size(), found.failure->decisions_found);
    EXPECT_TRUE(has(found.failure->event_log, "second starts")) << found.text();
    const std::string& report = found.failure->report;
    EXPECT_EQ(report.find("replay: "), report.rfind("replay: ")) << report;
}

TEST(ChildRuns, ReplayLine_RepeatsTheFatalSignal) {
    const auto body = race_that_ends_in(write_to_nothing);
    const explore_summary found = explore(in_children(), body);
    ASSERT_TRUE(found.failure);
    const std::size_t equals = found.failure->replay.find('=');
    setenv("IRPVERBS_STRATEGY", found.failure->replay.substr(equals + 1).c_str(), 1);
    const explore_summary again = explore(in_children(), body);
    unsetenv("IRPVERBS_STRATEGY");
    ASSERT_TRUE(again.failure);
    EXPECT_EQ(again.runs(), 1u);
    EXPECT_EQ(again.failure->event_log, found.failure->event_log);
}

TEST(ChildRuns, AbortAndExit_AreFailures) {
    const auto aborts = [] { std::abort(); };
    EXPECT_TRUE(has(explore(in_children(), race_that_ends_in(aborts)).text(), "SIGABRT"));
    const auto exits = [] { std::_Exit(7); };
    EXPECT_TRUE(has(explore(in_children(), race_that_ends_in(exits)).text(), "exit with status 7"));
}

TEST(ChildRuns, CampaignThatGoesOn_CountsEachDeath) {
    explore_options options = in_children(40);
    options.stop_at_failure = false;
    const explore_summary found = explore(options, race_that_ends_in(write_to_nothing));
    EXPECT_EQ(found.random.runs, 40u);
    EXPECT_EQ(found.pct.runs, 40u);
    EXPECT_GT(found.random.failures, 1u);
    EXPECT_LT(found.random.failures, 40u);
}

TEST(ChildRuns, LoopWithoutSchedulingPoint_IsAFailure) {
    const auto loops = [] {
        for (volatile bool more = true; more;) {
        }
    };
    const explore_summary found = explore(in_children(), race_that_ends_in(loops));
    ASSERT_TRUE(found.failure);
    EXPECT_TRUE(has(found.failure->what, "endless loop")) << found.text();
}

TEST(ChildRuns, OtherFailuresAndCounts_AreThoseOfOneProcess) {
    explore_options options = in_children();
    const explore_summary there = explore(options, lose_an_update);
    options.own_process = false;
    const explore_summary here = explore(options, lose_an_update);
    ASSERT_TRUE(there.failure && here.failure);
    EXPECT_EQ(there.failure->report, here.failure->report);
    EXPECT_EQ(there.random.first_failure, here.random.first_failure);
    EXPECT_EQ(there.distinct, here.distinct);
}

TEST(ChildRuns, ExhaustiveSearch_EndsAtTheDeathOrSaysAll) {
    explore_options options = in_children(0);
    options.exhaustive_runs = 10'000;
    const explore_summary found = explore(options, race_that_ends_in(write_to_nothing));
    ASSERT_TRUE(found.failure) << found.text();
    EXPECT_FALSE(found.exhausted);
    const auto lives = [] {};
    const explore_summary all = explore(options, race_that_ends_in(lives));
    EXPECT_TRUE(all.passed());
    EXPECT_TRUE(all.exhausted);
    EXPECT_GT(all.exhaustive.runs, 1u);
}

TEST(ChildRuns, RequiredProbes_AreRefused) {
    explore_options options = in_children();
    options.required_probes = {"some.probe"};
    EXPECT_THROW(explore(options, [](sim_machine&) {}), std::invalid_argument);
}

} // namespace
