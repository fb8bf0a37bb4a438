#include "toy_program.hpp"

#include <dispatch/testing/shrink.hpp>

#include <gtest/gtest.h>

#include <numeric>

namespace irpverbs::dispatch::testing {
namespace {

using trace_t = std::vector<std::uint32_t>;
using trace_view = std::span<const std::uint32_t>;

trace_t noise(std::uint64_t seed, std::uint32_t length, std::uint32_t count) {
    random_choices random(seed);
    for (std::uint32_t i = 0; i < length; ++i)
        random.pick(count, "noise");
    return random.trace();
}

std::uint32_t at(trace_view trace, std::size_t i) { return i < trace.size() ? trace[i] : 0; }

TEST(Shrink, OneRelevantChoice_IsKept) {
    trace_t trace = noise(1, 200, 5);
    trace[77] = 3;
    const shrunk result = shrink(trace, [](trace_view t) { return at(t, 77) == 3; });
    trace_t minimal(78);
    minimal[77] = 3;
    EXPECT_EQ(result.trace, minimal);
    EXPECT_TRUE(result.reproduced);
    EXPECT_TRUE(result.finished);
}

TEST(Shrink, AnyRunFails_TraceIsEmpty) {
    const shrunk result = shrink(noise(2, 100, 5), [](trace_view) { return true; });
    EXPECT_TRUE(result.trace.empty());
    EXPECT_LE(result.reruns, 3u);
}

// Tests that a long tail is cut before costlier reductions are tried.
TEST(Shrink, LongTail_IsCutInFewReruns) {
    trace_t trace = noise(9, 20000, 5);
    trace[3] = 1;
    const shrunk result = shrink(trace, [](trace_view t) { return at(t, 3) == 1; });
    EXPECT_EQ(result.trace, (trace_t{0, 0, 0, 1}));
    EXPECT_LE(result.reruns, 60u);
}

TEST(Shrink, TwoRelevantChoices_AreKept) {
    trace_t trace = noise(3, 300, 4);
    trace[20] = trace[250] = 2;
    const auto fails = [](trace_view t) { return at(t, 20) >= 1 && at(t, 250) >= 2; };
    const shrunk result = shrink(trace, fails);
    trace_t minimal(251);
    minimal[20] = 1;
    minimal[250] = 2;
    EXPECT_EQ(result.trace, minimal);
}

// Tests that blocks in the middle are removed when the position of a choice does not matter.
TEST(Shrink, PositionIrrelevant_BlocksAreRemoved) {
    const auto fails = [](trace_view t) { return std::count(t.begin(), t.end(), 1u) >= 3; };
    EXPECT_EQ(shrink(noise(4, 150, 3), fails).trace, (trace_t{1, 1, 1}));
}

TEST(Shrink, Values_AreLoweredToTheLeastThatFails) {
    const auto fails = [](trace_view t) { return at(t, 1) >= 12345; };
    EXPECT_EQ(shrink(trace_t{9, 4000000000, 7}, fails).trace, (trace_t{0, 12345}));
    const auto sum = [](trace_view t) {
        return std::accumulate(t.begin(), t.end(), std::uint64_t{0}) >= 100;
    };
    const shrunk result = shrink(noise(5, 50, 30), sum);
    EXPECT_EQ(std::accumulate(result.trace.begin(), result.trace.end(), 0u), 100u);
    EXPECT_EQ(std::count(result.trace.begin(), result.trace.end(), 0u), 0);
}

TEST(Shrink, FailureDoesNotRecur_IsReported) {
    const trace_t trace = noise(6, 20, 3);
    const shrunk result = shrink(trace, [](trace_view) { return false; });
    EXPECT_FALSE(result.reproduced);
    EXPECT_EQ(result.trace, trace);
    EXPECT_EQ(result.reruns, 1u);
}

// Tests that the budget is kept, and that the result still fails and is no larger.
TEST(Shrink, Budget_IsKept) {
    const trace_t trace = noise(7, 400, 6);
    const auto fails = [](trace_view t) { return std::count(t.begin(), t.end(), 5u) >= 20; };
    for (std::size_t budget = 0; budget < 200; budget += 7) {
        std::size_t calls = 0;
        const auto counted = [&](trace_view t) { return ++calls, fails(t); };
        const shrunk result = shrink(trace, counted, budget);
        EXPECT_LE(calls, budget);
        EXPECT_EQ(result.reruns, calls);
        EXPECT_FALSE(result.finished);
        EXPECT_TRUE(fails(result.trace));
        EXPECT_LE(result.trace.size(), trace.size());
    }
    EXPECT_EQ(shrink(trace, fails).trace, trace_t(20, 5));
}

TEST(Shrink, EqualInput_YieldsEqualResult) {
    const trace_t trace = noise(8, 100, 4);
    const auto fails = [](trace_view t) {
        return std::accumulate(t.begin(), t.end(), 0u) % 7 == 3 && !t.empty();
    };
    trace_t failing = trace;
    while (!fails(failing))
        failing.push_back(1);
    const shrunk first = shrink(failing, fails);
    const shrunk second = shrink(failing, fails);
    EXPECT_EQ(first.trace, second.trace);
    EXPECT_EQ(first.reruns, second.reruns);
}

// Two actors add to a shared value in two steps, read and write; an update may be lost.
bool loses_an_update(choices& source) {
    int shared = 0;
    const auto adder = [&shared] {
        return [&shared, phase = 0, read = 0, rounds = 0]() mutable {
            if (phase++ % 2 == 0) return read = shared, step::progress;
            shared = read + 1;
            return ++rounds == 5 ? step::done : step::progress;
        };
    };
    run_toy(source, {adder(), adder()});
    return shared != 10;
}

// Tests the whole way: found at random, shrunk to the two switches that matter.
TEST(Shrink, LostUpdate_ShrinksToTwoSwitches) {
    random_choices random(1);
    while (!loses_an_update(random))
        random.restart(random.value64());
    replay_choices replay(trace_t{});
    const shrunk result = shrink(random.trace(), [&](trace_view t) {
        replay.restart(t);
        return loses_an_update(replay);
    });
    ASSERT_TRUE(result.finished);
    EXPECT_LE(std::count(result.trace.begin(), result.trace.end(), 1u), 2);
    EXPECT_LE(result.trace.size(), 4u);
}

} // namespace
} // namespace irpverbs::dispatch::testing
