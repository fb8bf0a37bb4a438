#include <support/explore_gtest.hpp>

#include <dispatch/support/processor.hpp>
#include <dispatch/testing/probe.hpp>
#include <dispatch/testing/schedule.hpp>

#include <cstdlib>
#include <set>
#include <string>

namespace irpverbs::dispatch {
namespace {

using detail::point;
using irpverbs::testing::expect_explored;
using irpverbs::testing::expect_found;
using irpverbs::testing::run_exploration;

void step() { detail::sched_point(point::user); }

// The tests count the runs of explorations, so the caller's environment must not change them.
class ScheduleExplorer : public ::testing::Test {
protected:
    void SetUp() override {
        for (const char* name :
             {"IRPVERBS_SEED", "IRPVERBS_STRATEGY", "IRPVERBS_SEEDS", "IRPVERBS_FIRST_SEED"})
            unsetenv(name);
    }
    void TearDown() override { SetUp(); }
};

// Two read-modify-writes with a preemption point inside: the result is wrong when one preempts the
// other there.
std::optional<std::string> lost_update(sim_machine& machine) {
    int value = 0;
    for (const char* name : {"one", "two"})
        machine.spawn(name, [&] {
            for (int i = 0; i < 4; ++i)
                step();
            const int read = value;
            step();
            value = read + 1;
            for (int i = 0; i < 4; ++i)
                step();
        });
    machine.run();
    if (value != 2) return "an update was lost";
    return std::nullopt;
}

// The failure needs two preemptions at the right places: "late" between the two halves of "early".
std::optional<std::string> torn_read(sim_machine& machine) {
    int low = 0;
    int high = 0;
    bool torn = false;
    machine.spawn("writer", [&] {
        for (int i = 0; i < 5; ++i)
            step();
        low = 1;
        step();
        high = 1;
        for (int i = 0; i < 5; ++i)
            step();
    });
    machine.spawn("reader", [&] {
        for (int i = 0; i < 5; ++i)
            step();
        torn = low != high;
        for (int i = 0; i < 5; ++i)
            step();
    });
    machine.run();
    if (torn) return "half of it was read";
    return std::nullopt;
}

explore_options counting(std::uint64_t runs) {
    explore_options options;
    options.random_runs = runs;
    options.pct_runs = runs;
    options.stop_at_failure = false;
    return options;
}

// Tests that both random strategies find planted races at a useful rate.
TEST_F(ScheduleExplorer, RandomAndPct_FindPlantedRaces) {
    for (const auto race : {lost_update, torn_read}) {
        const explore_summary summary = expect_found(counting(500), race);
        EXPECT_EQ(summary.random.runs, 500u);
        EXPECT_EQ(summary.pct.runs, 500u);
        EXPECT_GT(summary.random.failures, 5u) << summary.text();
        EXPECT_GT(summary.pct.failures, 5u) << summary.text();
    }
}

// Tests that the search visits each schedule once: two actors of n steps interleave in C(2n, n)
// ways.
TEST_F(ScheduleExplorer, Exhaustive_VisitsEachScheduleOnce) {
    explore_options options;
    options.random_runs = options.pct_runs = 0;
    options.exhaustive_runs = 10'000;
    const explore_summary summary = expect_explored(options, [](sim_machine& machine) {
        for (const char* name : {"one", "two"})
            machine.spawn(name, [] {
                for (int i = 0; i < 4; ++i)
                    step();
            });
        machine.run();
    });
    EXPECT_TRUE(summary.exhausted);
    EXPECT_EQ(summary.exhaustive.runs, 252u); // C(10, 5): a start and 4 steps each
    EXPECT_EQ(summary.distinct, 252u);
}

TEST_F(ScheduleExplorer, ExhaustiveWithPreemptionBound_FindsRacesWithinBound) {
    for (const auto race : {lost_update, torn_read}) {
        explore_options options = counting(0);
        options.exhaustive_runs = 100'000;
        options.preemption_bound = 0;
        EXPECT_EQ(run_exploration(options, race).exhaustive.failures, 0u);
        options.preemption_bound = 1;
        const explore_summary one = run_exploration(options, race);
        EXPECT_TRUE(one.exhausted);
        EXPECT_GT(one.exhaustive.failures, 0u);
        options.preemption_bound = 2;
        EXPECT_GT(run_exploration(options, race).exhaustive.failures, one.exhaustive.failures);
    }
}

constexpr std::uint32_t an_hour = 3'600'000; // ms: longer than any test

TEST_F(ScheduleExplorer, Budget_TriesFewPreemptionsFirst) {
    for (const bool own_process : {false, true}) {
        explore_options options;
        options.budget_ms = an_hour;
        options.own_process = own_process;
        const explore_summary summary = expect_found(options, lost_update);
        EXPECT_EQ(summary.exhaustive.failures, 1u) << summary.text();
        EXPECT_EQ(summary.random.runs + summary.pct.runs, 0u);
        EXPECT_TRUE(summary.exhausted);
        EXPECT_EQ(summary.preemptions, 0u);
    }
}

// The program fails after so many runs, so that the test does not depend on a clock.
TEST_F(ScheduleExplorer, Budget_EndsWithRandomAndPctRunsInTurn) {
    explore_options options;
    options.budget_ms = an_hour;
    options.shrink_budget = 0;
    std::uint64_t runs = 0;
    std::uint64_t seen = 0;
    options.progress = [&](std::uint64_t so_far) { seen = so_far; };
    const explore_summary summary =
        expect_found(options, [&](sim_machine& machine) -> std::optional<std::string> {
            for (const char* name : {"one", "two"})
                machine.spawn(name, [] { step(); });
            machine.run();
            return ++runs > 2000 ? std::optional<std::string>("enough") : std::nullopt;
        });
    EXPECT_TRUE(summary.exhausted);
    EXPECT_EQ(summary.preemptions, 2u);
    EXPECT_GT(summary.random.runs, 500u);
    EXPECT_GT(summary.pct.runs, 500u);
    EXPECT_LE(summary.random.runs - summary.pct.runs, 64u);
    EXPECT_GT(seen, 1000u);
    EXPECT_NE(summary.text().find("(all with at most 2 preemptions)"), std::string::npos)
        << summary.text();
}

TEST_F(ScheduleExplorer, BudgetThatIsOver_EndsTheCampaign) {
    explore_options options;
    options.budget_ms = 1;
    const explore_summary summary = expect_explored(options, [](sim_machine& machine) {
        machine.spawn("one", step);
        machine.run();
    });
    EXPECT_GT(summary.runs(), 0u);
}

// Tests that a reported failure is about minimal: one preemption, which the report names.
TEST_F(ScheduleExplorer, FoundFailure_IsShrunkAndReported) {
    explore_options options = counting(500);
    options.stop_at_failure = true;
    const explore_summary summary = expect_found(options, lost_update);
    const explore_failure& failure = summary.failure.value();
    EXPECT_LT(failure.trace.size(), failure.decisions_found);
    std::size_t preemptions = 0;
    for (const std::uint32_t choice : failure.trace)
        preemptions += choice != 0;
    EXPECT_LE(preemptions, 2u) << failure.report;
    EXPECT_NE(failure.report.find("an update was lost"), std::string::npos);
    EXPECT_NE(failure.report.find("replay: IRPVERBS_STRATEGY=replay:"), std::string::npos);
    EXPECT_NE(
        failure.report.find("--gtest_filter=ScheduleExplorer.FoundFailure_IsShrunkAndReported"),
        std::string::npos);
    EXPECT_NE(failure.event_log.find("one starts"), std::string::npos) << failure.report;
}

void set_environment(const std::string& line) {
    for (std::size_t from = 0; from < line.size();) {
        const std::size_t end = std::min(line.find(' ', from), line.size());
        const std::string word = line.substr(from, end - from);
        const std::size_t equals = word.find('=');
        setenv(word.substr(0, equals).c_str(), word.substr(equals + 1).c_str(), 1);
        from = end + 1;
    }
}

// Tests that both replay lines of a report repeat the failure in one run each.
TEST_F(ScheduleExplorer, ReplayLine_RepeatsFailureInOneRun) {
    for (const bool by_pct : {false, true}) {
        explore_options options = counting(500);
        (by_pct ? options.random_runs : options.pct_runs) = 0;
        options.stop_at_failure = true;
        const explore_summary found = expect_found(options, torn_read);
        for (const std::string& line : {found.failure->replay, found.failure->found_by}) {
            set_environment(line);
            const explore_summary again = expect_found(options, torn_read);
            EXPECT_EQ(again.random.runs + again.pct.runs, 1u) << line;
            EXPECT_EQ(again.failure->event_log, found.failure->event_log) << line;
            SetUp();
        }
    }
}

TEST_F(ScheduleExplorer, EnvironmentVariables_ScaleRunsAndSelectStrategy) {
    explore_options options = counting(10);
    setenv("IRPVERBS_SEEDS", "3", 1);
    EXPECT_EQ(run_exploration(options, lost_update).random.runs, 30u);
    setenv("IRPVERBS_STRATEGY", "pct:2", 1);
    const explore_summary only_pct = run_exploration(options, lost_update);
    EXPECT_EQ(only_pct.random.runs, 0u);
    EXPECT_EQ(only_pct.pct.runs, 30u);
    setenv("IRPVERBS_SEEDS", "many", 1);
    EXPECT_THROW(run_exploration(options, lost_update), std::invalid_argument);
    setenv("IRPVERBS_SEEDS", "1", 1);
    setenv("IRPVERBS_STRATEGY", "replay:nonsense", 1);
    EXPECT_THROW(run_exploration(options, lost_update), schedule_error);
}

TEST_F(ScheduleExplorer, FirstSeedNamed_CampaignBeginsThere) {
    explore_options options = counting(3);
    options.stop_at_failure = false;
    const auto fail = [](sim_machine&) -> std::optional<std::string> { return "always"; };
    setenv("IRPVERBS_FIRST_SEED", "5000", 1);
    const explore_summary moved = run_exploration(options, fail);
    EXPECT_EQ(moved.random.runs, 3u);
    EXPECT_EQ(moved.random.first_failure, 5000u);
    setenv("IRPVERBS_FIRST_SEED", "-1", 1);
    EXPECT_THROW(run_exploration(options, fail), std::invalid_argument);
}

TEST_F(ScheduleExplorer, FirstSeedOfTheOptions_CampaignBeginsThere) {
    explore_options options = counting(3);
    options.stop_at_failure = false;
    options.first_seed = 40;
    const explore_summary moved = run_exploration(
        options, [](sim_machine&) -> std::optional<std::string> { return "always"; });
    EXPECT_EQ(moved.random.first_failure, 40u);
    EXPECT_EQ(moved.pct.first_failure, 40u);
}

TEST_F(ScheduleExplorer, StrategyNamedForACampaignThatHasNoneOfIt_StillRuns) {
    explore_options options = counting(50);
    setenv("IRPVERBS_STRATEGY", "exhaustive", 1);
    const explore_summary exhaustive = run_exploration(options, lost_update);
    EXPECT_EQ(exhaustive.exhaustive.runs, 100u);
    options.random_runs = 0;
    setenv("IRPVERBS_STRATEGY", "random", 1);
    EXPECT_EQ(run_exploration(options, lost_update).random.runs, 50u);
    options.random_runs = 50;
    options.pct_runs = 0;
    setenv("IRPVERBS_STRATEGY", "pct", 1);
    EXPECT_EQ(run_exploration(options, lost_update).pct.runs, 50u);
}

TEST_F(ScheduleExplorer, CampaignWithoutRuns_DoesNotPass) {
    explore_options options = counting(0);
    EXPECT_FALSE(run_exploration(options, [](sim_machine&) {}).passed());
}

// The line was printed by another program, or by an earlier version of this one.
TEST_F(ScheduleExplorer, ReplayLineOfAnotherProgram_DoesNotPass) {
    const explore_summary found = expect_found(counting(500), torn_read);
    set_environment(found.failure->replay);
    const explore_summary unused = run_exploration(explore_options{}, [](sim_machine& machine) {
        machine.spawn("one", step);
        machine.run();
    });
    EXPECT_FALSE(unused.passed());
    EXPECT_NE(unused.text().find("does not fit this program"), std::string::npos) << unused.text();
    const std::vector<std::uint32_t> out_of_range{7};
    set_environment(replay_line(out_of_range));
    const explore_summary wrong = run_exploration(explore_options{}, [](sim_machine& machine) {
        for (const char* name : {"one", "two"})
            machine.spawn(name, step);
        machine.run();
    });
    EXPECT_FALSE(wrong.passed());
    EXPECT_NE(wrong.text().find("does not fit this program"), std::string::npos) << wrong.text();
}

// A replay string holds 2^20 decisions; the run makes more.
TEST_F(ScheduleExplorer, FailureAfterMoreDecisionsThanAReplayLineHolds_IsReportedWithItsSeed) {
    explore_options options;
    options.random_runs = 3;
    options.pct_runs = 0;
    options.shrink_budget = 0;
    options.machine.step_limit = 10'000'000;
    const explore_summary summary = run_exploration(options, [](sim_machine& machine) {
        machine.spawn("one", [&machine] {
            for (std::size_t i = 0; i <= max_replay_length / 2; ++i)
                machine.random();
            KeBugCheck(MANUALLY_INITIATED_CRASH);
        });
        machine.run();
    });
    ASSERT_TRUE(summary.failure);
    EXPECT_NE(summary.failure->what.find("MANUALLY_INITIATED_CRASH"), std::string::npos)
        << summary.text().substr(0, 2000);
    EXPECT_NE(summary.failure->report.find("replay: IRPVERBS_SEED=0 IRPVERBS_STRATEGY=random"),
              std::string::npos)
        << summary.failure->report.substr(0, 2000);
    EXPECT_EQ(summary.failure->replay, "IRPVERBS_SEED=0 IRPVERBS_STRATEGY=random");
}

// Tests that a program whose decisions depend on more than the choices is reported as such.
TEST_F(ScheduleExplorer, StateKeptBetweenRuns_ReportedAsNotDeterministic) {
    int kept = 0;
    explore_options options;
    options.random_runs = 100;
    const explore_summary summary = expect_found(options, [&kept](sim_machine& machine) {
        machine.spawn("one", [&kept] {
            for (int i = 0; i < kept; ++i)
                step();
            ++kept;
        });
        machine.run();
    });
    EXPECT_NE(summary.failure->what.find("not deterministic"), std::string::npos);
}

// Tests that the body does not continue after a run that did not finish, and that its objects stay
// alive.
TEST_F(ScheduleExplorer, HungRun_StopsBodyWithoutUnwinding) {
    bool destroyed = false;
    bool went_on = false;
    explore_options options;
    options.stop_at_failure = false;
    const explore_summary summary = expect_found(options, [&](sim_machine& machine) {
        struct world {
            bool& destroyed;
            ~world() { destroyed = true; }
        } here{destroyed};
        machine.spawn("lost", [&] { machine.park(detail::this_processor(), detail::no_deadline); });
        machine.run();
        went_on = true;
    });
    EXPECT_FALSE(destroyed);
    EXPECT_FALSE(went_on);
    EXPECT_EQ(summary.random.failures, options.random_runs);
    EXPECT_NE(summary.failure->what.find("lost: waits"), std::string::npos) << summary.text();
}

// Tests that a bug check fails the run in an actor as well as in the body around the run.
TEST_F(ScheduleExplorer, BugCheckInActorOrBody_FailsRun) {
    for (const bool inside : {true, false}) {
        explore_options options;
        const explore_summary summary = expect_found(options, [inside](sim_machine& machine) {
            if (!inside) KeBugCheckEx(MANUALLY_INITIATED_CRASH, 0, 0, 0, 0);
            machine.spawn("one", [] { KeBugCheckEx(MANUALLY_INITIATED_CRASH, 0, 0, 0, 0); });
            machine.run();
        });
        EXPECT_NE(summary.failure->what.find(inside ? "bug check by one" : "bug check by main"),
                  std::string::npos)
            << summary.text();
    }
}

TEST_F(ScheduleExplorer, ExceptionInBody_FailsRun) {
    const explore_summary summary =
        expect_found({}, [](sim_machine&) { throw std::runtime_error("thrown by the body"); });
    EXPECT_EQ(summary.random.first_failure, 0u);
    EXPECT_NE(summary.failure->what.find("thrown by the body"), std::string::npos);
}

// Tests that a failed EXPECT_* in a body fails the schedule instead of the test, so that it is
// shrunk.
TEST_F(ScheduleExplorer, FailedExpectation_FailsScheduleOnly) {
    const explore_summary summary = expect_found(counting(200), [](sim_machine& machine) {
        std::string order;
        for (const char* name : {"a", "b", "c"})
            machine.spawn(name, [&order, name] {
                step();
                order += name;
            });
        machine.run();
        EXPECT_NE(order, "cab");
    });
    EXPECT_GT(summary.random.failures, 0u);
    EXPECT_LT(summary.random.failures, 200u);
    EXPECT_NE(summary.failure->what.find("cab"), std::string::npos) << summary.text();
}

// Tests that a fuzzer's bytes are a schedule: some bytes lose the update; zeros or no bytes do not.
TEST_F(ScheduleExplorer, FuzzerBytes_SelectSchedule) {
    const std::vector<std::uint8_t> plain(40, 0);
    EXPECT_TRUE(explore_input({}, plain, lost_update).passed());
    EXPECT_TRUE(explore_input({}, {}, lost_update).passed());
    const std::vector<std::uint8_t> alternating(40, 1);
    const explore_summary summary = explore_input({}, alternating, lost_update);
    EXPECT_FALSE(summary.passed());
    EXPECT_NE(summary.text().find("replay: IRPVERBS_STRATEGY=replay:"), std::string::npos);
}

TEST_F(ScheduleExplorer, RequiredProbeNeverHit_FailsCampaign) {
    explore_options options;
    options.required_probes = {"explore_test.often", "explore_test.never"};
    const auto body = [](sim_machine& machine) {
        machine.spawn("one", [] { IRPVERBS_PROBE("explore_test.often"); });
        machine.run();
        if (machine.last().steps == 12345) IRPVERBS_PROBE("explore_test.never");
    };
    const explore_summary summary = run_exploration(options, body);
    EXPECT_FALSE(summary.passed());
    EXPECT_EQ(summary.missed_probes, (std::vector<std::string_view>{"explore_test.never"}));
    EXPECT_NE(summary.text().find("probe never hit: explore_test.never"), std::string::npos);
}

} // namespace
} // namespace irpverbs::dispatch
