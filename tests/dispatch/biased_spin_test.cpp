#include <dispatch/support/biased_spin.hpp>

#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

#include <mutex>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;
using irpverbs::dispatch::detail::biased_spin;
using irpverbs::dispatch::detail::point;
using irpverbs::dispatch::detail::sched_point;
using irpverbs::dispatch::detail::this_processor;

class BiasedSpins : public BothMachines {};

// Acquires and releases until this processor is the favoured one.
bool become_favoured(biased_spin& lock) {
    for (int i = 0; i < 10'000; ++i) {
        const bool biased = lock.acquire(this_processor());
        lock.release(this_processor(), biased);
        if (biased) return true;
    }
    return false;
}

TEST_P(BiasedSpins, BiasedSpin_AcquiredOftenByOneProcessor_Biased) {
    biased_spin lock;
    lock.allow_bias(machine());
    EXPECT_TRUE(become_favoured(lock));
}

TEST_P(BiasedSpins, BiasedSpin_AcquiredByAnother_BiasedNoMore) {
    biased_spin lock;
    lock.allow_bias(machine());
    ASSERT_TRUE(become_favoured(lock));
    { const std::lock_guard guard(lock); }
    const bool biased = lock.acquire(this_processor());
    lock.release(this_processor(), biased);
    EXPECT_FALSE(biased);
}

TEST_P(BiasedSpins, BiasedSpin_OfNoMachine_NeverBiased) {
    biased_spin lock;
    EXPECT_FALSE(become_favoured(lock));
}

IRPVERBS_ON_BOTH_MACHINES(BiasedSpins);

// One actor acquires the lock through the bias, the other revokes it, or acquires it as often.
void exclude_each_other(bool both_often) {
    explore_options options;
    options.exhaustive_runs = 20'000;
    int biased_sections = 0;
    expect_explored(options, [&](sim_machine& machine) {
        biased_spin lock;
        lock.allow_bias(machine);
        bool inside = false;
        const auto section = [&] {
            EXPECT_FALSE(inside);
            inside = true;
            sched_point(point::user);
            inside = false;
        };
        const auto often = [&] {
            for (int i = 0; i < 4; ++i) {
                const bool biased = lock.acquire(this_processor());
                biased_sections += biased ? 1 : 0;
                section();
                lock.release(this_processor(), biased);
            }
        };
        machine.spawn("often", often);
        machine.spawn("other", [&] {
            if (both_often) return often();
            const std::lock_guard guard(lock);
            section();
        });
        machine.run();
    });
    EXPECT_GT(biased_sections, 0);
}

TEST(BiasedSpinsExplored, BiasedSpin_RevokedDuringASection_WaitsForItsEnd) {
    exclude_each_other(false);
}
TEST(BiasedSpinsExplored, BiasedSpin_AcquiredOftenByTwo_ExcludesThem) { exclude_each_other(true); }

} // namespace
