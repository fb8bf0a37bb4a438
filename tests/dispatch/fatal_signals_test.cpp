// A run that dies of a signal prints the line that repeats it.
#include <dispatch/testing/explore.hpp>

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

namespace {

using namespace irpverbs;
using namespace irpverbs::dispatch;

/// Dies in the first run whose choice is to.
template <class Death>
void explore_until(const Death& death, explore_options options = {}) {
    explore(options, [&](sim_machine& sim) {
        sim.spawn("victim", [&] {
            if (sim.fires("victim.dies", 100)) death();
        });
        sim.run();
    });
}

void read_nothing() {
    int* volatile nothing = nullptr;
    *nothing = 1;
}

#ifdef __clang__
__attribute__((no_sanitize("function"))) // it would read the type of the routine there
#endif
void call_nothing() {
    static volatile int calls;
    void (*volatile routine)() = reinterpret_cast<void (*)()>(0x1000);
    routine();
    calls = calls + 1; // so that the call above is no jump
}

// 400 MB of stack.
void overflow(volatile char* above, unsigned depth = 100'000) {
    volatile char frame[4096];
    frame[0] = *above;
    if (depth != 0) overflow(frame, depth - 1);
    *above = frame[0];
}

class FatalSignalDeathTest : public ::testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

constexpr const char* seed_line = "replay: IRPVERBS_SEED=[0-9]+ IRPVERBS_STRATEGY=random";

TEST_F(FatalSignalDeathTest, AccessToNoMemory_PrintsTheSeed) {
    EXPECT_DEATH(explore_until(read_nothing), seed_line);
    EXPECT_DEATH(explore_until(read_nothing), "fatal signal SIGSEGV at address .* inside a "
                                              "simulated run");
}

TEST_F(FatalSignalDeathTest, Stack_NamesTheFunction) {
    EXPECT_DEATH(explore_until(read_nothing), "read_nothing");
}

TEST_F(FatalSignalDeathTest, CallOfNoCode_NamesTheCaller) {
    EXPECT_DEATH(explore_until(call_nothing), "which is no code:.*call_nothing");
}

TEST_F(FatalSignalDeathTest, AbortAndTerminate_PrintTheSeed) {
    EXPECT_DEATH(explore_until([] { std::abort(); }), seed_line);
    EXPECT_DEATH(explore_until([] { std::terminate(); }), seed_line);
}

// The handler has a stack of its own.
TEST_F(FatalSignalDeathTest, StackOverflow_PrintsTheSeed) {
    char start = 0;
    EXPECT_DEATH(explore_until([&] { overflow(&start); }), seed_line);
}

TEST_F(FatalSignalDeathTest, Pct_PrintsDepthAndSteps) {
    explore_options options;
    options.random_runs = 0;
    EXPECT_DEATH(explore_until(read_nothing, options),
                 "replay: IRPVERBS_SEED=[0-9]+ IRPVERBS_STRATEGY=pct:3:[0-9]+");
}

TEST_F(FatalSignalDeathTest, Exhaustive_PrintsTheDecisions) {
    explore_options options;
    options.random_runs = options.pct_runs = 0;
    options.exhaustive_runs = 100;
    EXPECT_DEATH(explore_until(read_nothing, options), "replay: IRPVERBS_STRATEGY=replay:r1\\.");
}

TEST_F(FatalSignalDeathTest, HandlerOfTheProgram_RunsAfterwards) {
    const auto explore_with_handler = [] {
        std::signal(SIGABRT, [](int) {
            std::fputs("the program's handler\n", stderr);
            std::_Exit(5);
        });
        explore_until([] { std::abort(); });
    };
    EXPECT_EXIT(explore_with_handler(), ::testing::ExitedWithCode(5), seed_line);
    EXPECT_EXIT(explore_with_handler(), ::testing::ExitedWithCode(5), "the program's handler");
}

TEST(FatalSignals, AfterCampaign_HandlersAreAsBefore) {
    struct sigaction before = {};
    struct sigaction after = {};
    sigaction(SIGSEGV, nullptr, &before);
    explore_options options;
    options.random_runs = options.pct_runs = 1;
    explore(options, [](sim_machine& sim) { sim.run(); });
    sigaction(SIGSEGV, nullptr, &after);
    EXPECT_EQ(before.sa_sigaction, after.sa_sigaction);
}

} // namespace
