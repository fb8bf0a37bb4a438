// Exploration under GoogleTest: a failed EXPECT_* in the body fails the schedule; the first failed
// schedule fails the test and is printed with the command line that replays it.
#pragma once

#include <dispatch/support/sanitizers.hpp>
#include <dispatch/testing/explore.hpp>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <string>

namespace irpverbs::testing {

/// The command line that runs the current test, printed with a replay string.
inline std::string this_test() {
    const ::testing::TestInfo* info = ::testing::UnitTest::GetInstance()->current_test_info();
    if (info == nullptr) return program_invocation_name;
    return std::string(program_invocation_name) + " --gtest_filter=" + info->test_suite_name() +
           '.' + info->name();
}

/// Enough for the races of three actors.
inline dispatch::explore_options thorough(std::uint64_t exhaustive_runs = 20'000) {
    dispatch::explore_options options;
    options.random_runs = options.pct_runs = 500;
    options.exhaustive_runs = exhaustive_runs;
    options.preemption_bound = 2;
    return options;
}

namespace exploration {

/// The EXPECT_* and ASSERT_* failures of the bodies of one campaign.
class expectations {
public:
    /// The failures since the last call.
    std::optional<std::string> newly_failed() {
        std::string text;
        for (; seen_ < failures_.size(); ++seen_)
            text += failures_.GetTestPartResult(seen_).message() + std::string("\n");
        return text.empty() ? std::nullopt : std::optional(text);
    }

private:
    ::testing::TestPartResultArray failures_;
    ::testing::ScopedFakeTestPartResultReporter reporter_{
        ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures_};
    int seen_ = 0;
};

} // namespace exploration

/// dispatch::explore with a body that may use EXPECT_*. Does not itself fail the test.
template <class Body>
dispatch::explore_summary run_exploration(dispatch::explore_options options, const Body& body) {
    if (options.run_command.empty()) options.run_command = this_test();
    exploration::expectations expectations;
    return dispatch::explore(
        options, [&](dispatch::sim_machine& machine) -> std::optional<std::string> {
            expectations.newly_failed(); // drops failures of an earlier run that was abandoned
            if constexpr (std::is_void_v<
                              std::invoke_result_t<const Body&, dispatch::sim_machine&>>) {
                body(machine);
            } else {
                if (std::optional<std::string> wrong = body(machine)) return wrong;
            }
            return expectations.newly_failed();
        });
}

/// For a body whose actors take their turns by the clock (the first waits 1 ms, the second 2 ms),
/// or that expects an exact time: no time passes while an actor can run.
inline dispatch::explore_options without_delays(dispatch::explore_options options) {
    options.machine.delays = 0;
    return options;
}

/// The runs that a sanitizer sees. A run takes it several times as long, and what it finds it finds
/// in a few of them; the optimised build makes all. A campaign whose probes must be hit keeps its
/// runs.
inline dispatch::explore_options for_this_build(dispatch::explore_options options) {
    constexpr std::uint64_t share = IRPVERBS_THREAD_SANITIZER    ? 20
                                    : IRPVERBS_ADDRESS_SANITIZER ? 4
                                                                 : 1;
    if (!options.required_probes.empty()) return options;
    options.random_runs = (options.random_runs + share - 1) / share;
    options.pct_runs = (options.pct_runs + share - 1) / share;
    return options;
}

/// The program must pass under every schedule; each build makes all runs.
template <class Body>
dispatch::explore_summary expect_all_explored(const dispatch::explore_options& options,
                                              const Body& body) {
    dispatch::explore_summary summary = run_exploration(options, body);
    EXPECT_TRUE(summary.passed()) << summary.text();
    return summary;
}

/// The program must pass under every schedule.
template <class Body>
dispatch::explore_summary expect_explored(const dispatch::explore_options& options,
                                          const Body& body) {
    return expect_all_explored(for_this_build(options), body);
}

/// The program is wrong, and some schedule must show it.
template <class Body>
dispatch::explore_summary expect_found(const dispatch::explore_options& options, const Body& body) {
    dispatch::explore_summary summary = run_exploration(options, body);
    EXPECT_TRUE(summary.failure) << "not found: " << summary.text();
    return summary;
}

} // namespace irpverbs::testing
