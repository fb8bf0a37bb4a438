#include "toy_program.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>

namespace irpverbs::dispatch::testing {
namespace {

using trace_t = std::vector<std::uint32_t>;

// Makes one choice of each kind, repeatedly.
void ask_everything(choices& source, int rounds) {
    constexpr std::array<actor_id, 3> three{0, 1, 2};
    for (int i = 0; i < rounds; ++i) {
        source.pick_actor(three, i % 2 == 0, i % 4 == 0);
        source.pick(10, "value");
        source.fires("fault", 3);
        source.record_choice("advice", i % 2 == 1);
        source.value64();
    }
}

std::vector<std::unique_ptr<choices>> one_of_each() {
    static constexpr std::array<std::uint8_t, 40> bytes{3, 1, 4, 1, 5, 9, 2, 6,
                                                        5, 3, 5, 8, 9, 7, 9};
    std::vector<std::unique_ptr<choices>> all;
    all.push_back(std::make_unique<random_choices>(7));
    all.push_back(std::make_unique<pct_choices>(7, 3, 20));
    all.push_back(std::make_unique<exhaustive_choices>());
    all.push_back(std::make_unique<replay_choices>(trace_t{1, 9, 1, 1, 77, 88, 2, 3}));
    all.push_back(std::make_unique<byte_choices>(bytes));
    return all;
}

// Tests that a seed yields the same choices in every version and with every compiler.
TEST(RandomChoices, Seed58_YieldsGoldenChoices) {
    random_choices source(58);
    ask_everything(source, 3);
    const trace_t golden{2,         4, 0, 0, 2339445773, 2609770478, 1,         5, 0, 1, 3340295138,
                         279352938, 0, 5, 0, 0,          3585479943, 3902350572};
    EXPECT_EQ(source.trace(), golden);
}

TEST(PctChoices, Seed58_YieldsGoldenChoices) {
    pct_choices source(58, 3, 10);
    ask_everything(source, 3);
    const trace_t golden{2,         5, 0, 0, 3340295138, 279352938,  2,         2, 0, 1, 2791244420,
                         751037089, 2, 8, 0, 0,          2025900037, 3835489740};
    EXPECT_EQ(source.trace(), golden);
}

// Tests that equal construction yields equal runs, and that the fingerprint differs between
// sources.
TEST(Choices, EqualConstruction_YieldsEqualRuns) {
    auto first = one_of_each();
    auto second = one_of_each();
    for (std::size_t i = 0; i < first.size(); ++i) {
        ask_everything(*first[i], 10);
        ask_everything(*second[i], 10);
        EXPECT_EQ(first[i]->trace(), second[i]->trace());
        EXPECT_EQ(first[i]->next_draw_fingerprint(), second[i]->next_draw_fingerprint());
        const std::uint64_t before = first[i]->next_draw_fingerprint();
        EXPECT_EQ(first[i]->next_draw_fingerprint(), before) << "the fingerprint makes no draw";
        first[i]->value64();
        EXPECT_NE(first[i]->next_draw_fingerprint(), before);
    }
}

// Tests that the fingerprint covers the future draws: sources may differ although their traces are
// equal.
TEST(Choices, DifferentSources_FingerprintsDiffer) {
    EXPECT_NE(random_choices(1).next_draw_fingerprint(), random_choices(2).next_draw_fingerprint());
    EXPECT_NE(replay_choices(trace_t{1}).next_draw_fingerprint(),
              replay_choices(trace_t{2}).next_draw_fingerprint());
}

TEST(Choices, Restart_EqualsANewObject) {
    random_choices random(1);
    pct_choices pct(1, 4, 30);
    ask_everything(random, 5);
    ask_everything(pct, 5);
    random.restart(9);
    pct.restart(9);
    random_choices new_random(9);
    pct_choices new_pct(9, 4, 30);
    for (choices* source : {static_cast<choices*>(&random), static_cast<choices*>(&pct),
                            static_cast<choices*>(&new_random), static_cast<choices*>(&new_pct)})
        ask_everything(*source, 5);
    EXPECT_EQ(random.trace(), new_random.trace());
    EXPECT_EQ(pct.trace(), new_pct.trace());
    EXPECT_EQ(pct.actor_decisions(), 5u);
}

// Tests that a draw with one possible choice is not recorded as a decision.
TEST(Choices, OnePossibleChoice_ConsumesNothing) {
    for (auto& source : one_of_each()) {
        const std::uint64_t before = source->next_draw_fingerprint();
        const std::array<actor_id, 1> alone{4};
        EXPECT_EQ(source->pick_actor(alone, true, true), 0u);
        EXPECT_EQ(source->pick(1, "one"), 0u);
        EXPECT_EQ(source->pick(0, "none"), 0u);
        EXPECT_FALSE(source->fires("never", 0));
        EXPECT_TRUE(source->fires("always", 1));
        EXPECT_TRUE(source->trace().empty());
        EXPECT_EQ(source->actor_decisions(), 0u);
        EXPECT_EQ(source->next_draw_fingerprint(), before);
    }
}

TEST(Choices, AnyCount_ChoicesStayInRange) {
    for (auto& source : one_of_each()) {
        const std::array<actor_id, 3> three{5, 0, 2};
        for (std::uint32_t n = 2; n < 70000; n = n * 3 - 1) {
            EXPECT_LT(source->pick(n, "value"), n);
            EXPECT_LT(source->pick_actor(three, true, false), 3u);
        }
        EXPECT_LT(source->pick(0xffffffff, "value"), 0xffffffff);
    }
}

TEST(Choices, OddsOfAFault_AreMet) {
    random_choices random(3);
    pct_choices pct(3, 3, 100);
    for (choices* source : {static_cast<choices*>(&random), static_cast<choices*>(&pct)}) {
        int fired = 0;
        for (int i = 0; i < 40000; ++i)
            fired += source->fires("fault", 40);
        EXPECT_GT(fired, 850);
        EXPECT_LT(fired, 1150);
    }
}

TEST(Choices, RandomWalk_IsEven) {
    random_choices source(11);
    const std::array<actor_id, 3> three{0, 1, 2};
    std::array<int, 3> taken{};
    for (int i = 0; i < 30000; ++i)
        ++taken[source.pick_actor(three, true, false)];
    for (const int count : taken)
        EXPECT_NEAR(count, 10000, 400);
}

// Tests that replaying the trace of any strategy yields the same choices.
TEST(Choices, TraceReplayed_YieldsTheSameChoices) {
    for (auto& source : one_of_each()) {
        std::vector<decision> log;
        source->log_to(&log);
        ask_everything(*source, 10);
        replay_choices replay(source->trace());
        std::vector<decision> replayed;
        replay.log_to(&replayed);
        ask_everything(replay, 10);
        EXPECT_EQ(replay.trace(), source->trace());
        EXPECT_EQ(replay.out_of_range() + replay.past_end() + replay.unused(), 0u);
        EXPECT_EQ(describe(replayed), describe(log));
    }
}

TEST(Choices, Log_ListsDeviations) {
    replay_choices source(trace_t{2, 0, 1, 7});
    std::vector<decision> log;
    source.log_to(&log);
    const std::array<actor_id, 3> three{4, 5, 6};
    source.pick_actor(three, true, false);
    source.fires("pool.allocate", 10);
    source.fires("pool.allocate", 10);
    source.pick(16, "link.delay");
    EXPECT_EQ(describe(log), "#0 actor: 2 of 0..2, actor 6\n"
                             "#2 pool.allocate: 1 of 0..1\n"
                             "#3 link.delay: 7 of 0..15\n");
    log.clear();
    source.fires("pool.allocate", 10);
    EXPECT_EQ(describe(log), "all 1 decisions are plain\n");
    source.log_to(nullptr);
    source.fires("pool.allocate", 10);
    EXPECT_EQ(log.size(), 1u);
}

// --- PCT ---------------------------------------------------------------------------------------

TEST(PctChoices, NoPriorityChanges_NoActorIsPreempted) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        pct_choices source(seed, 1, 20);
        EXPECT_EQ(run_toy(source, counters(4, 5)).preemptions, 0u);
        EXPECT_EQ(source.priority_changes(), 0u);
    }
}

// Tests that a run of the expected length has exactly depth-1 priority changes, each at most one
// preemption.
TEST(PctChoices, ExpectedLength_ChangesPriorityDepthMinusOneTimes) {
    for (std::uint32_t depth = 1; depth <= 6; ++depth) {
        std::size_t most_preemptions = 0;
        for (std::uint64_t seed = 0; seed < 200; ++seed) {
            pct_choices source(seed, depth, 30);
            const toy_run run = run_toy(source, counters(2, 31));
            ASSERT_GE(source.actor_decisions(), 30u);
            EXPECT_EQ(source.priority_changes(), depth - 1);
            most_preemptions = std::max(most_preemptions, run.preemptions);
        }
        EXPECT_EQ(most_preemptions, depth - 1);
    }
}

TEST(PctChoices, FirstDecision_MayChangePriority) {
    const std::array<actor_id, 2> two{0, 1};
    pct_choices unchanged(5, 1, 1), changed(5, 2, 1);
    unchanged.pick(2, "as many draws as the plan of the other one");
    EXPECT_NE(unchanged.pick_actor(two, true, false), changed.pick_actor(two, true, false));
    EXPECT_EQ(changed.priority_changes(), 1u);
}

TEST(PctChoices, FirstActor_IsAnyEquallyOften) {
    std::map<actor_id, int> first;
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        pct_choices source(seed, 1, 10);
        ++first[run_toy(source, counters(3, 2)).schedule.front()];
    }
    for (actor_id id = 0; id < 3; ++id)
        EXPECT_NEAR(first[id], 1000, 120);
}

// Two actors spin until the third, which they can starve, raises a flag.
std::vector<actor_body> spinners(bool& flag) {
    flag = false;
    const auto spin = [&flag] { return flag ? step::done : step::spin; };
    return {spin, spin, [&flag] { return flag = true, step::done; }};
}

// Tests that a yield lets the others run. The second half shows that they starve without it.
TEST(PctChoices, ActorSpins_OthersMakeProgress) {
    bool flag = false;
    int starved = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        pct_choices source(seed, 3, 20);
        EXPECT_TRUE(run_toy(source, spinners(flag), 50).finished) << seed;
        pct_choices deaf(seed, 3, 20);
        starved += !run_toy(deaf, spinners(flag), 50, false).finished;
    }
    EXPECT_GT(starved, 0);
}

// --- exhaustive --------------------------------------------------------------------------------

struct enumeration {
    std::set<std::vector<actor_id>> schedules;
    std::map<std::size_t, std::size_t> by_preemptions;
    std::uint64_t runs = 0;
};

enumeration enumerate(const std::function<toy_run(choices&)>& run,
                      std::optional<std::uint32_t> bound = std::nullopt) {
    enumeration result;
    exhaustive_choices source(bound);
    do {
        const toy_run one = run(source);
        if (!one.finished) { // the tree may be endless
            ADD_FAILURE() << "a run did not end";
            break;
        }
        EXPECT_TRUE(result.schedules.insert(one.schedule).second) << "a schedule occurred twice";
        ++result.by_preemptions[one.preemptions];
    } while (source.next());
    result.runs = source.runs();
    return result;
}

TEST(ExhaustiveChoices, TwoActors_InterleaveInBinomiallyManyWays) {
    const std::array<std::uint64_t, 7> binomial{1, 2, 6, 20, 70, 252, 924}; // C(2k, k)
    for (int k = 1; k < 7; ++k) {
        const auto all = enumerate([&](choices& c) { return run_toy(c, counters(2, k)); });
        EXPECT_EQ(all.runs, binomial[static_cast<std::size_t>(k)]);
        EXPECT_EQ(all.schedules.size(), all.runs);
    }
}

TEST(ExhaustiveChoices, ThreeActors_InterleaveInMultinomiallyManyWays) {
    EXPECT_EQ(enumerate([](choices& c) { return run_toy(c, counters(3, 2)); }).runs, 90u);
    EXPECT_EQ(enumerate([](choices& c) { return run_toy(c, counters(3, 3)); }).runs, 1680u);
}

// Tests that a bound keeps exactly the schedules with at most that many preemptions.
TEST(ExhaustiveChoices, PreemptionBound_LimitsPreemptions) {
    const auto run = [](choices& c) { return run_toy(c, counters(3, 3)); };
    const enumeration all = enumerate(run);
    EXPECT_EQ(all.by_preemptions.at(0), 6u); // 3! orders
    std::size_t expected = 0;
    for (const auto& [preemptions, count] : all.by_preemptions) {
        expected += count;
        const enumeration bounded = enumerate(run, static_cast<std::uint32_t>(preemptions));
        EXPECT_EQ(bounded.runs, expected);
        EXPECT_EQ(bounded.by_preemptions.rbegin()->first, preemptions);
    }
    EXPECT_EQ(expected, 1680u);
}

TEST(ExhaustiveChoices, ValuesAndFaults_BranchAndDrawsDoNot) {
    exhaustive_choices source;
    std::set<trace_t> seen;
    std::set<std::uint64_t> draws;
    do {
        draws.insert(source.value64());
        if (source.fires("fault", 1000))
            source.pick(5, "value");
        else
            source.record_choice("advice", source.pick(2, "value") == 1);
        seen.insert(source.trace());
    } while (source.next());
    EXPECT_EQ(source.runs(), 7u);
    EXPECT_EQ(seen.size(), 7u);
    EXPECT_EQ(draws.size(), 1u);
}

TEST(ExhaustiveChoices, ProgramWithoutChoices_RunsOnce) {
    exhaustive_choices source;
    EXPECT_EQ(source.runs(), 0u);
    EXPECT_FALSE(source.next());
    EXPECT_EQ(source.runs(), 1u);
}

// Tests that a program that spins ends, and that every order of the actors that make progress
// occurs.
TEST(ExhaustiveChoices, ProgramThatSpins_Ends) {
    bool flag = false;
    const auto all = enumerate([&](choices& c) { return run_toy(c, spinners(flag), 100); });
    EXPECT_GT(all.runs, 1u);
    EXPECT_LT(all.runs, 1000u);
}

// Tests that fairness loses no outcome: a spinning actor sees each value that the other one writes.
TEST(ExhaustiveChoices, ActorSpins_SeesEachStepOfTheOther) {
    std::set<int> seen;
    int value = 0;
    exhaustive_choices source;
    do {
        value = 0;
        const auto spin = [&] {
            if (value == 0) return step::spin;
            return seen.insert(value), step::done;
        };
        const auto write = [&] { return ++value == 4 ? step::done : step::progress; };
        EXPECT_TRUE(run_toy(source, {spin, write}, 100).finished);
    } while (source.next());
    EXPECT_EQ(seen, (std::set<int>{1, 2, 3, 4}));
}

// Tests that an actor that yields does not run next: the state cannot have changed.
TEST(ExhaustiveChoices, ActorYields_AnotherRuns) {
    bool flag = false;
    const auto all = enumerate([&](choices& c) {
        flag = false;
        const auto spin = [&] { return flag ? step::done : step::spin; };
        const auto raise = [&] { return flag = true, step::done; };
        return run_toy(c, {spin, raise}, 100);
    });
    EXPECT_EQ(all.schedules, (std::set<std::vector<actor_id>>{{0, 1, 0}, {1, 0}}));
}

// Tests that an actor that waits for another one waits for one step of it, not for its end.
TEST(ExhaustiveChoices, ActorSpunTwice_WaitsForOneStepOfTheOther) {
    int value = 0;
    const auto all = enumerate([&](choices& c) {
        value = 0;
        const auto spin = [&] { return value ? step::done : step::spin; };
        const auto write = [&] { return ++value == 2 ? step::done : step::progress; };
        return run_toy(c, {spin, write, counts_to(3)}, 100);
    });
    const auto starts_with = [&](const std::vector<actor_id>& wanted) {
        return std::any_of(all.schedules.begin(), all.schedules.end(), [&](const auto& schedule) {
            return std::equal(wanted.begin(), wanted.end(), schedule.begin());
        });
    };
    EXPECT_TRUE(starts_with({0, 2, 0, 1, 0}));
    EXPECT_TRUE(starts_with({0, 2, 0, 2, 1}));
    EXPECT_FALSE(starts_with({0, 2, 0, 2, 0})) << "a third time without a step of actor 1";
}

TEST(ExhaustiveChoices, OtherSourceDecides_Throws) {
    exhaustive_choices source;
    source.pick(2, "a");
    source.pick(2, "b");
    ASSERT_TRUE(source.next());
    source.pick(3, "not as before");
    source.pick(7, "and goes on all the same");
    EXPECT_THROW(source.next(), std::logic_error);

    exhaustive_choices ended_early;
    ended_early.pick(2, "a");
    ended_early.pick(2, "b");
    ASSERT_TRUE(ended_early.next());
    EXPECT_THROW(ended_early.next(), std::logic_error);
}

// --- choices from a script or input --------------------------------------------------------------

TEST(ReplayChoices, ScriptDoesNotFit_RunContinues) {
    const std::array<actor_id, 2> two{0, 1};
    replay_choices source(trace_t{99, 7, 7});
    EXPECT_EQ(source.pick_actor(two, true, false), 1u);
    EXPECT_EQ(source.pick(5, "value"), 4u);
    EXPECT_EQ(source.out_of_range(), 2u);
    EXPECT_EQ(source.unused(), 1u);
    EXPECT_TRUE(source.fires("fault", 10));
    EXPECT_EQ(source.pick_actor(two, true, false), 0u);
    EXPECT_EQ(source.pick(5, "value"), 0u);
    EXPECT_FALSE(source.fires("fault", 10));
    EXPECT_FALSE(source.record_choice("advice", true));
    EXPECT_EQ(source.value64(), 0u);
    EXPECT_EQ(source.past_end(), 6u);
    EXPECT_EQ(source.trace(), (trace_t{1, 4, 1, 0, 0, 0, 0, 0, 0}));
}

TEST(ReplayChoices, Restart_TakesANewScript) {
    replay_choices source(trace_t{9});
    source.pick(5, "value");
    source.restart(trace_t{3, 2});
    EXPECT_EQ(source.pick(5, "value"), 3u);
    EXPECT_EQ(source.out_of_range(), 0u);
    EXPECT_EQ(source.unused(), 1u);
    EXPECT_EQ(source.trace(), trace_t{3});
}

// Tests that the default continuation ends programs that spin, even with an empty script.
TEST(ReplayChoices, PastTheEnd_WaitingActorsTakeTurns) {
    bool flag = false;
    replay_choices replay(trace_t{});
    const toy_run first = run_toy(replay, spinners(flag), 20);
    EXPECT_TRUE(first.finished);
    replay.restart(trace_t{});
    EXPECT_EQ(run_toy(replay, spinners(flag), 20).schedule, first.schedule);
    byte_choices bytes({});
    EXPECT_TRUE(run_toy(bytes, spinners(flag), 20).finished);
}

TEST(ReplayChoices, PastTheEnd_NoActorIsPreempted) {
    replay_choices source(trace_t{});
    EXPECT_EQ(run_toy(source, counters(3, 3)).schedule,
              (std::vector<actor_id>{0, 0, 0, 1, 1, 1, 2, 2, 2}));
}

TEST(ByteChoices, Choice_TakesAsManyBytesAsItNeeds) {
    const std::array<std::uint8_t, 16> input{5, 0x34, 0x12, 1, 2, 1, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8};
    byte_choices source(input);
    EXPECT_EQ(source.pick(4, "value"), 1u);
    EXPECT_EQ(source.pick(0x10000, "value"), 0x1234u);
    EXPECT_TRUE(source.fires("fault", 10));
    EXPECT_FALSE(source.fires("fault", 10));
    EXPECT_EQ(source.pick(0x10000, "value"), 1u);
    EXPECT_FALSE(source.fires("fault", 10));
    EXPECT_EQ(source.value64(), 0x0807060504030201u);
    EXPECT_TRUE(source.exhausted());
}

// Tests that any input is a run, and that default choices follow the end of the input.
TEST(ByteChoices, InputExhausted_RunContinues) {
    const std::array<std::uint8_t, 6> input{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    for (std::size_t length = 0; length <= input.size(); ++length) {
        byte_choices source(std::span<const std::uint8_t>(input).first(length));
        ask_everything(source, 20);
        EXPECT_TRUE(source.exhausted());
        EXPECT_EQ(source.pick(1000, "value"), 0u);
        EXPECT_FALSE(source.fires("fault", 2));
        EXPECT_EQ(source.value64(), 0u);
        EXPECT_TRUE(source.record_choice("advice", true))
            << "advice applies when the input is empty";
    }
}

} // namespace
} // namespace irpverbs::dispatch::testing
