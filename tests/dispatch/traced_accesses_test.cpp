// Code that clang compiled with -fsanitize-coverage=func,trace-loads,trace-stores: the tests make
// the calls that the compiler inserts.
#include <dispatch/pool.h>
#include <dispatch/support/sanitizers.hpp>
#include <dispatch/testing/explore.hpp>

#include <support/findings.hpp>

#include <gtest/gtest.h>

extern "C" {
void __sanitizer_cov_load4(const void* address);
void __sanitizer_cov_store4(const void* address);
}

namespace irpverbs::dispatch {
namespace {

void count_traced(int& count) {
    __sanitizer_cov_load4(&count);
    const int read = count;
    __sanitizer_cov_store4(&count);
    count = read + 1;
}

TEST(TracedAccesses, CountWithoutALock_LosesAnUpdate) {
#if IRPVERBS_ADDRESS_SANITIZER || IRPVERBS_THREAD_SANITIZER
    GTEST_SKIP() << "the sanitizer's runtime has these functions";
#endif
    explore_options how;
    how.exhaustive_runs = 1000;
    how.random_runs = how.pct_runs = 0;
    const explore_summary found =
        explore(how, [](sim_machine& machine) -> std::optional<std::string> {
            static int count;
            count = 0;
            for (const char* name : {"one", "other"})
                machine.spawn(name, [] { count_traced(count); });
            machine.run();
            return count == 2 ? std::nullopt : std::optional<std::string>("an update was lost");
        });
    ASSERT_TRUE(found.failure);
    EXPECT_EQ(found.failure->what, "an update was lost");
    EXPECT_EQ(found.failure->preemptions, 1u);
}

TEST(TracedAccesses, OwnStack_IsNoSchedulingPoint) {
    random_choices source(1);
    sim_machine machine(source);
    machine.spawn("counter", [] {
        int own = 0;
        for (int i = 0; i < 1000; ++i)
            count_traced(own);
    });
    EXPECT_LT(machine.run().steps, 100u);
}

TEST(TracedAccesses, LoadOfFreedMemory_IsReported) {
#if IRPVERBS_ADDRESS_SANITIZER || IRPVERBS_THREAD_SANITIZER
    GTEST_SKIP() << "the sanitizer's runtime has these functions";
#endif
    testing::findings seen{detail::check::pool};
    auto* block = static_cast<int*>(ExAllocatePool2(POOL_FLAG_NON_PAGED, 64, 0x74736554));
    __sanitizer_cov_load4(block + 4);
    EXPECT_TRUE(testing::nothing_reported(seen));
    ExFreePool(block);
    __sanitizer_cov_load4(block + 4);
    EXPECT_TRUE(testing::only_reported(seen, "FreedMemoryUsed", PAGE_FAULT_IN_FREED_SPECIAL_POOL,
                                       0x49520007));
}

} // namespace
} // namespace irpverbs::dispatch
