// The litmus tests of stores that become visible late.
#include <dispatch/support/shared_word.hpp>
#include <dispatch/testing/store_buffers.hpp>

#include <support/explore_gtest.hpp>

namespace {

using irpverbs::dispatch::explore_options;
using irpverbs::dispatch::sim_machine;
using irpverbs::dispatch::detail::shared_fence;
using irpverbs::dispatch::detail::shared_word;
using irpverbs::dispatch::testing::store_buffers;
using irpverbs::testing::expect_explored;
using irpverbs::testing::expect_found;

constexpr auto relaxed = std::memory_order_relaxed;

explore_options some_runs() {
    explore_options options;
    options.random_runs = 300;
    options.pct_runs = 300;
    return options;
}

struct words {
    words() {
        for (shared_word* const each : {&x, &y})
            each->store(0, relaxed);
    }
    shared_word x, y;
};

// Each of two actors stores to its own word, and then looks at the other's.
void store_and_look(sim_machine& run, bool with_fences) {
    words both;
    const store_buffers late(run);
    std::uint64_t seen_x = 1;
    std::uint64_t seen_y = 1;
    const auto actor = [with_fences](shared_word& own, const shared_word& other,
                                     std::uint64_t& seen) {
        own.store(1, relaxed);
        if (with_fences) shared_fence();
        seen = other.load(relaxed);
    };
    run.spawn("one", [&] { actor(both.x, both.y, seen_y); });
    run.spawn("other", [&] { actor(both.y, both.x, seen_x); });
    run.run();
    EXPECT_TRUE(seen_x == 1 || seen_y == 1) << "neither has seen the other's store";
}

TEST(StoreBuffers, WithoutFences_NeitherSeesTheOthersStore) {
    expect_found(some_runs(), [](sim_machine& run) { store_and_look(run, false); });
}

TEST(StoreBuffers, WithFences_OneSeesTheOthersStore) {
    expect_explored(some_runs(), [](sim_machine& run) { store_and_look(run, true); });
}

TEST(StoreBuffers, StoresOfAnActor_BecomeVisibleInTheirOrder) {
    expect_explored(some_runs(), [](sim_machine& run) {
        words both;
        const store_buffers late(run);
        run.spawn("writes", [&] {
            both.x.store(1, relaxed);
            both.y.store(1, relaxed);
        });
        run.spawn("reads", [&] {
            const bool flagged = both.y.load(relaxed) == 1;
            EXPECT_TRUE(!flagged || both.x.load(relaxed) == 1);
        });
        run.run();
    });
}

TEST(StoreBuffers, OwnStores_AreSeenAtOnce) {
    expect_explored(some_runs(), [](sim_machine& run) {
        words both;
        const store_buffers late(run);
        run.spawn("writes", [&] {
            for (std::uint64_t i = 1; i < 4; ++i) {
                both.x.store(i, relaxed);
                EXPECT_EQ(both.x.load(relaxed), i);
            }
        });
        run.run();
    });
}

} // namespace
