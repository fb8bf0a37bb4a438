// Exploration in GoogleTest's words: EXPECT_* inside the body fails the schedule, the campaign's
// first failure fails the test, with the line that repeats it.
#pragma once

#include <dispatch/explore.hpp>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <string>

namespace irpverbs::testing {

/// How to run the test that is running: what belongs behind a replay line.
inline std::string this_test() {
    const ::testing::TestInfo* info = ::testing::UnitTest::GetInstance()->current_test_info();
    if (info == nullptr) return program_invocation_name;
    return std::string(program_invocation_name) + " --gtest_filter=" + info->test_suite_name() +
           '.' + info->name();
}

namespace detail {

/// The EXPECT_* and ASSERT_* failures of the bodies of one campaign.
class expectations {
public:
    /// Those since the last call.
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

} // namespace detail

/// dispatch::explore, whose bodies may use EXPECT_*. What comes out is for the caller to judge.
template <class Body>
dispatch::explore_summary run_campaign(dispatch::explore_options options, const Body& body) {
    if (options.how_to_run.empty()) options.how_to_run = this_test();
    detail::expectations expectations;
    return dispatch::explore(
        options, [&](dispatch::sim_machine& machine) -> std::optional<std::string> {
            expectations.newly_failed(); // of a run before this one that did not finish
            if constexpr (std::is_void_v<
                              std::invoke_result_t<const Body&, dispatch::sim_machine&>>) {
                body(machine);
            } else {
                if (std::optional<std::string> wrong = body(machine)) return wrong;
            }
            return expectations.newly_failed();
        });
}

/// The program must pass under every schedule.
template <class Body>
dispatch::explore_summary expect_explored(const dispatch::explore_options& options,
                                          const Body& body) {
    dispatch::explore_summary summary = run_campaign(options, body);
    EXPECT_TRUE(summary.passed()) << summary.text();
    return summary;
}

/// The program is wrong, and the campaign must find it out.
template <class Body>
dispatch::explore_summary expect_found(const dispatch::explore_options& options, const Body& body) {
    dispatch::explore_summary summary = run_campaign(options, body);
    EXPECT_TRUE(summary.failure) << "not found: " << summary.text();
    return summary;
}

} // namespace irpverbs::testing
