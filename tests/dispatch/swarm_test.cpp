#include <dispatch/testing/swarm.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

namespace irpverbs::dispatch {
namespace {

using trace_t = std::vector<std::uint32_t>;
using turn_t = std::vector<std::uint64_t>;

constexpr const char* sites[] = {"pool.allocate", "pool.free", "dpc.delay", "link.drop"};

// Visits all sites so many times and returns which fired.
std::vector<bool> visit(swarm& faults, int rounds) {
    std::vector<bool> fired;
    for (int i = 0; i < rounds; ++i)
        for (const char* site : sites)
            fired.push_back(faults.fires(site, 4));
    return fired;
}

TEST(Swarm, EqualSource_YieldsEqualFaults) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        random_choices first(seed), second(seed);
        swarm one(first), two(second);
        const auto faults = visit(one, 20);
        EXPECT_EQ(visit(two, 20), faults);
        replay_choices replay(first.trace());
        swarm three(replay);
        EXPECT_EQ(visit(three, 20), faults);
    }
}

TEST(Swarm, Sites_AreInOrderOfFirstUse) {
    random_choices source(1);
    swarm faults(source);
    for (const char* site : {"b.x", "a.y", "b.x", "c", "a.y"})
        faults.fires(site, 2);
    ASSERT_EQ(faults.sites().size(), 3u);
    EXPECT_EQ(faults.sites()[0].name, "b.x");
    EXPECT_EQ(faults.sites()[1].name, "a.y");
    EXPECT_EQ(faults.sites()[2].name, "c");
    EXPECT_EQ(faults.sites()[1].visits, 2u);
}

// Tests that a site is identified by its text: equal literals may lie at different addresses.
TEST(Swarm, EqualTexts_AreOneSite) {
    random_choices source(1);
    swarm faults(source);
    const std::string one = "pool.allocate", two = "pool.allocate";
    faults.fires(one.c_str(), 2);
    faults.fires(two.c_str(), 2);
    EXPECT_EQ(faults.sites().size(), 1u);
}

// Tests the two draws: a quarter of the sites of three quarters of the kinds, then the odds.
TEST(Swarm, Site_IsActiveInAQuarterOfTheRunsWithItsKind) {
    int active = 0, fired_while_active = 0;
    for (std::uint64_t seed = 0; seed < 4000; ++seed) {
        random_choices source(seed);
        swarm faults(source);
        for (int i = 0; i < 32; ++i)
            faults.fires("pool.allocate", 2);
        const swarm::site& site = faults.sites()[0];
        active += site.active;
        if (site.weight == 1) fired_while_active += static_cast<int>(site.fired);
        if (!site.active) {
            EXPECT_EQ(site.fired, 0u);
        }
    }
    EXPECT_NEAR(active, 4000 * 3 / 16, 100);
    EXPECT_NEAR(fired_while_active, active / 3 * 16, 1200);
}

TEST(Swarm, SitesOfAKind_AreOffTogether) {
    int runs_with_both = 0, runs_with_one = 0;
    for (std::uint64_t seed = 0; seed < 4000; ++seed) {
        random_choices source(seed);
        swarm faults(source);
        visit(faults, 1);
        runs_with_both += faults.sites()[0].active && faults.sites()[1].active;
        runs_with_one += faults.sites()[0].active;
    }
    EXPECT_NEAR(runs_with_one, 750, 90);
    EXPECT_NEAR(runs_with_both, 4000 * 3 / 64, 45) << "by itself 1/4 of 1/4 of 3/4";
}

TEST(Swarm, KindDisabled_DrawsNothing) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        random_choices source(seed);
        swarm faults(source);
        for (const char* kind : {"pool", "dpc", "link"})
            faults.disable(kind);
        const auto fired = visit(faults, 10);
        EXPECT_EQ(std::count(fired.begin(), fired.end(), true), 0);
        EXPECT_TRUE(source.trace().empty());
    }
}

TEST(Swarm, KindDisabledDuringTheRun_FiresNoMore) {
    replay_choices source(trace_t{1, 1, 2, 1, 1, 1, 1}); // kind on, site active, weight 1, fires
    swarm faults(source);
    EXPECT_TRUE(faults.fires("pool.allocate", 2));
    faults.disable("pool");
    EXPECT_FALSE(faults.fires("pool.allocate", 2));
    EXPECT_EQ(source.trace().size(), 4u);
}

// Tests that default choices mean no faults, on which shrinking and a finished input rely.
TEST(Swarm, EmptyReplay_HasNoFaults) {
    replay_choices source(trace_t{});
    swarm faults(source);
    const auto fired = visit(faults, 10);
    EXPECT_EQ(std::count(fired.begin(), fired.end(), true), 0);
}

TEST(Swarm, OddsOfZero_NeverFireAndLargeOnesDoNotOverflow) {
    replay_choices source(trace_t{1, 1, 0}); // kind on, site active, the heaviest weight
    swarm faults(source);
    EXPECT_FALSE(faults.fires("pool.allocate", 0));
    EXPECT_EQ(source.trace().size(), 3u);
    EXPECT_FALSE(faults.fires("pool.allocate", 0xffffffff));
    EXPECT_EQ(source.trace().size(), 4u);
}

// --- sweep -------------------------------------------------------------------------------------

// Runs a program under a sweep and returns all turns of the sweep.
std::vector<turn_t> turns(sweep& faults, const std::function<void(choices&)>& run) {
    std::vector<turn_t> taken;
    do {
        taken.emplace_back(faults.turn().begin(), faults.turn().end());
        random_choices source(1);
        run(source);
    } while (faults.next() && taken.size() < 1000);
    return taken;
}

TEST(FaultSweep, Singles_EachKeyOnceAfterARunWithoutFault) {
    sweep faults(sweep::order::singles);
    const auto taken = turns(faults, [&](choices& source) {
        for (const std::uint64_t key : {30u, 10u, 20u, 10u})
            faults.fires(source, "pool", key);
    });
    EXPECT_EQ(taken, (std::vector<turn_t>{{}, {30}, {10}, {20}}));
    EXPECT_EQ(faults.runs(), 4u);
    EXPECT_EQ(faults.keys().size(), 3u);
}

TEST(FaultSweep, Pairs_EachPairOnceAfterTheSingles) {
    sweep faults(sweep::order::pairs);
    const auto taken = turns(faults, [&](choices& source) {
        for (const std::uint64_t key : {1u, 2u, 3u, 4u})
            faults.fires(source, "pool", key);
    });
    EXPECT_EQ(taken.size(), 1u + 4u + 6u);
    EXPECT_EQ(std::set<turn_t>(taken.begin(), taken.end()).size(), taken.size());
    EXPECT_EQ(taken.back(), (turn_t{3, 4}));
}

// Tests that code paths that only a fault opens are swept too, alone and in pairs.
TEST(FaultSweep, KeySeenOnlyAfterAFault_IsSwept) {
    sweep faults(sweep::order::pairs);
    std::set<std::pair<bool, bool>> seen;
    const auto taken = turns(faults, [&](choices& source) {
        const bool first = faults.fires(source, "pool", 1);
        if (first) seen.insert({first, faults.fires(source, "pool, on the error path", 2)});
    });
    EXPECT_EQ(taken, (std::vector<turn_t>{{}, {1}, {2}, {1, 2}}));
    EXPECT_TRUE(seen.contains({true, true}));
}

TEST(FaultSweep, VisitsOption_KeyFiresAtFirstOrEveryVisit) {
    for (const auto& [which, expected] :
         {std::pair{sweep::visits::first, 1}, std::pair{sweep::visits::every, 5}}) {
        sweep faults(sweep::order::singles, which);
        int fired = 0;
        turns(faults, [&](choices& source) {
            for (int i = 0; i < 5; ++i)
                fired += faults.fires(source, "dispatch", 7);
        });
        EXPECT_EQ(fired, expected);
    }
}

// Tests that the trace alone repeats a run of a sweep.
TEST(FaultSweep, Replay_RepeatsARunOfTheSweep) {
    sweep faults(sweep::order::singles);
    const auto run = [](sweep& s, choices& source) {
        std::vector<bool> fired;
        for (const std::uint64_t key : {1u, 2u, 3u})
            fired.push_back(s.fires(source, "pool", key));
        return fired;
    };
    random_choices source(1);
    run(faults, source);
    ASSERT_TRUE(faults.next());
    ASSERT_TRUE(faults.next());
    source.restart(1);
    EXPECT_EQ(run(faults, source), (std::vector<bool>{false, true, false}));
    replay_choices replay(source.trace());
    sweep untouched(sweep::order::singles);
    EXPECT_EQ(run(untouched, replay), (std::vector<bool>{false, true, false}));
}

TEST(FaultSweep, NoKeys_OneRun) {
    sweep faults(sweep::order::pairs);
    EXPECT_EQ(turns(faults, [](choices&) {}).size(), 1u);
}

} // namespace
} // namespace irpverbs::dispatch
