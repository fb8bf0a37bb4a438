#include <dispatch/testing/probe.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <thread>

namespace irpverbs::dispatch {
namespace {

// The function has external linkage so that the compiler cannot see that it has no caller.
void pass_common(int times) {
    for (int i = 0; i < times; ++i)
        IRPVERBS_PROBE("test.common");
}

void pass_rare() { IRPVERBS_PROBE("test.rare"); }
void pass_rare_elsewhere() { IRPVERBS_PROBE("test.rare"); }

// A call through this pointer keeps the compiler from removing the function as dead code.
void (*volatile reach_rare)() = pass_rare;
void (*volatile reach_rare_elsewhere)() = pass_rare_elsewhere;

class Probes : public ::testing::Test {
protected:
    Probes() { probe::reset(); }
};

// Tests that a probe is registered before it is reached, which makes "never hit" reportable.
TEST_F(Probes, ProgramStart_AllAreKnown) {
    const auto all = probe::all();
    const auto rare = std::find_if(all.begin(), all.end(), [](const probe::state& s) {
        return std::string_view(s.name) == "test.rare";
    });
    ASSERT_NE(rare, all.end());
    EXPECT_EQ(rare->hits, 0u);
    EXPECT_NE(std::string(rare->file).find("probe_test.cpp"), std::string::npos);
    EXPECT_GT(rare->line, 0u);
}

TEST_F(Probes, Hits_AreCounted) {
    pass_common(5);
    EXPECT_EQ(probe::hits("test.common"), 5u);
    EXPECT_EQ(probe::hits("test.rare"), 0u);
    EXPECT_EQ(probe::hits("test.no_such_probe"), 0u);
}

TEST_F(Probes, OneNameTwice_HitsAddUp) {
    reach_rare();
    reach_rare_elsewhere();
    EXPECT_EQ(probe::hits("test.rare"), 2u);
}

// Tests that a required probe that no code contains counts as missing too: it may have been
// renamed.
TEST_F(Probes, RequiredProbes_NeverHitAreReturned) {
    pass_common(1);
    const std::array<std::string_view, 3> required{"test.common", "test.rare",
                                                   "test.no_such_probe"};
    EXPECT_EQ(probe::never_hit(required),
              (std::vector<std::string_view>{"test.rare", "test.no_such_probe"}));
    reach_rare();
    EXPECT_EQ(probe::never_hit(required), (std::vector<std::string_view>{"test.no_such_probe"}));
}

TEST_F(Probes, Reset_ClearsHits) {
    pass_common(3);
    probe::reset();
    EXPECT_EQ(probe::hits("test.common"), 0u);
}

TEST_F(Probes, List_IsSortedByName) {
    const auto all = probe::all();
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const auto& a, const auto& b) {
        return std::string_view(a.name) < std::string_view(b.name);
    }));
}

TEST_F(Probes, HitsOfTwoThreads_AreSafe) {
    std::thread other([] { pass_common(1000); });
    pass_common(1000);
    other.join();
    EXPECT_GE(probe::hits("test.common"), 1u);
    EXPECT_LE(probe::hits("test.common"), 2000u);
}

TEST_F(Probes, CodeUnloaded_ProbeIsRemoved) {
    {
        probe local("test.local", "nowhere", 1);
        local.hit();
        EXPECT_EQ(probe::hits("test.local"), 1u);
    }
    EXPECT_EQ(probe::hits("test.local"), 0u);
}

} // namespace
} // namespace irpverbs::dispatch
