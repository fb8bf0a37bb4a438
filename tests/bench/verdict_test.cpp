#include "verdict.hpp"

#include <gtest/gtest.h>

namespace irpverbs::bench {
namespace {

constexpr bar one{"one", "a", "b", 0.5};
constexpr bar two_threads_bar{"two", "a", "b", 0.5, bar_kind::two_threads};

series same(const char* name, double nanoseconds, std::size_t rounds = 9, std::size_t clean = 9) {
    series all{{name, "", {}, threads::one}, {}};
    for (std::size_t round = 0; round < rounds; ++round)
        all.samples.push_back({nanoseconds, 1, round < clean});
    return all;
}

outcome judged(const bar& which, std::vector<series> results) {
    return judge(results, {&which, 1}).front().what;
}

// A one-thread bar tolerates ten per cent, and no more.
TEST(BenchmarkVerdict, OneThreadBar_ToleratesTenPercent) {
    EXPECT_EQ(outcome::passed, judged(one, {same("a", 54), same("b", 100)}));
    EXPECT_EQ(outcome::failed, judged(one, {same("a", 56), same("b", 100)}));
}

// A two-thread bar tolerates thirty per cent.
TEST(BenchmarkVerdict, TwoThreadBar_ToleratesThirtyPercent) {
    EXPECT_EQ(outcome::passed, judged(two_threads_bar, {same("a", 64), same("b", 100)}));
    EXPECT_EQ(outcome::failed, judged(two_threads_bar, {same("a", 66), same("b", 100)}));
}

// A bar in nanoseconds needs no second measurement and no probe.
TEST(BenchmarkVerdict, NanosecondBar_NeedsNoSecondMeasurement) {
    constexpr bar fixed{"fixed", "a", nanosecond, 100};
    EXPECT_EQ(outcome::passed, judged(fixed, {same("a", 109)}));
    EXPECT_EQ(outcome::failed, judged(fixed, {same("a", 111)}));
}

// With mostly disturbed samples a two-thread bar is skipped, but a one-thread bar is judged.
TEST(BenchmarkVerdict, MostlyDisturbedSamples_SkipOnlyTwoThreadBars) {
    const std::vector<series> mostly_disturbed{same("a", 900, 9, 3), same("b", 100, 9, 5)};
    EXPECT_EQ(outcome::skipped, judged(two_threads_bar, mostly_disturbed));
    EXPECT_EQ(outcome::failed, judged(one, mostly_disturbed));
    EXPECT_EQ(outcome::failed,
              judged(two_threads_bar, {same("a", 900, 9, 4), same("b", 100, 9, 5)}));
}

// A bar is skipped with fewer than nine rounds, and without its second measurement.
TEST(BenchmarkVerdict, TooFewRoundsOrMissingSeries_BarIsSkipped) {
    EXPECT_EQ(outcome::skipped, judged(one, {same("a", 900, 8), same("b", 100, 8)}));
    const std::vector<series> only_one_side{same("a", 900)};
    const auto verdicts = judge(only_one_side, {&one, 1});
    EXPECT_EQ(outcome::skipped, verdicts.front().what);
    EXPECT_EQ("not measured: b", verdicts.front().why);
}

// A core that slows down during the run does not change a ratio.
TEST(BenchmarkVerdict, CoreSlowsDownDuringRun_RatioIsUnchanged) {
    series a = same("a", 50), b = same("b", 100);
    for (std::size_t round = 4; round < 9; ++round) {
        a.samples[round].nanoseconds *= 2;
        a.samples[round].call *= 2;
    }
    EXPECT_DOUBLE_EQ(0.5, judge({a, b}, {&one, 1}).front().ratio);
}

// One outlying round does not decide.
TEST(BenchmarkVerdict, OneOutlierRound_MedianDecides) {
    series a = same("a", 50);
    a.samples[0].nanoseconds = 100000;
    EXPECT_EQ(outcome::passed, judged(one, {a, same("b", 100)}));
}

// The cost of a further level is half of the difference between three levels and one.
TEST(BenchmarkVerdict, TwoFurtherLevels_CostIsHalfTheDifference) {
    constexpr bar level{"level", "three", indirect_call, 9, bar_kind::one_thread, "one", 2};
    const auto verdicts = judge({same("three", 22), same("one", 6)}, {&level, 1});
    EXPECT_DOUBLE_EQ(8, verdicts.front().ratio);
    EXPECT_EQ(outcome::passed, verdicts.front().what);
}

// A bar that a prototype of the minimum also misses is impossible, and the limit is shown; it fails
// when the measurement is more than 5 % above that limit, or when the limit meets the bar.
TEST(BenchmarkVerdict, LimitMissesBarToo_ImpossibleOnlyNearLimit) {
    constexpr bar limited{"limited", "a", "b", 0.5, bar_kind::one_thread, {}, 1, "least"};
    const auto with_limit = [&](double nanoseconds, double least) {
        return judge({same("a", nanoseconds), same("b", 100), same("least", least)}, {&limited, 1})
            .front();
    };
    EXPECT_EQ(outcome::impossible, with_limit(63, 60).what);
    EXPECT_EQ("the limit, least, is 0.600", with_limit(63, 60).why);
    EXPECT_EQ(outcome::failed, with_limit(64, 60).what);
    EXPECT_EQ(outcome::failed, with_limit(56, 54).what);
    EXPECT_EQ(outcome::passed, with_limit(54, 60).what);
    EXPECT_EQ(outcome::failed, judged(limited, {same("a", 63), same("b", 100)}));
}

} // namespace
} // namespace irpverbs::bench
