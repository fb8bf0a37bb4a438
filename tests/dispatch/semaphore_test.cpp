#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/explore_gtest.hpp>
#include <support/ke_shorthand.hpp>

#include <limits>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

struct semaphore : KSEMAPHORE {
    semaphore(LONG count, LONG limit) { KeInitializeSemaphore(this, count, limit); }
    LONG release(LONG adjustment = 1) {
        return KeReleaseSemaphore(this, IO_NO_INCREMENT, adjustment, FALSE);
    }
    LONG count() { return KeReadStateSemaphore(this); }
};

class Semaphores : public BothMachines {};

TEST_P(Semaphores, EachWait_DecrementsCount) {
    semaphore one(2, 5);
    EXPECT_EQ(try_wait(&one), STATUS_SUCCESS);
    EXPECT_EQ(try_wait(&one), STATUS_SUCCESS);
    EXPECT_EQ(try_wait(&one), STATUS_TIMEOUT);
    EXPECT_EQ(one.count(), 0);
}

TEST_P(Semaphores, Release_ReturnsPreviousCount) {
    semaphore one(1, 5);
    EXPECT_EQ(one.release(), 1);
    EXPECT_EQ(one.release(3), 2);
    EXPECT_EQ(one.count(), 5);
}

// Windows raises STATUS_SEMAPHORE_LIMIT_EXCEEDED, which C on Linux cannot do.
TEST_P(Semaphores, ReleaseBeyondLimit_BugChecksAndKeepsCount) {
    semaphore one(4, 5);
    EXPECT_EQ(bug_check_of([&] { one.release(2); }), KERNEL_SECURITY_CHECK_FAILURE);
    EXPECT_EQ(one.count(), 4);
    EXPECT_EQ(bug_check_of([&] { one.release(std::numeric_limits<LONG>::max()); }),
              KERNEL_SECURITY_CHECK_FAILURE);
    EXPECT_EQ(one.count(), 4);
}

TEST_P(Semaphores, ReleaseOfZeroOrLess_BugChecks) {
    semaphore one(4, 5);
    EXPECT_EQ(bug_check_of([&] { one.release(0); }), KERNEL_SECURITY_CHECK_FAILURE);
    EXPECT_EQ(bug_check_of([&] { one.release(-1); }), KERNEL_SECURITY_CHECK_FAILURE);
}

TEST_P(Semaphores, ReleaseOfThree_ReleasesThreeWaiters) {
    semaphore one(0, 10), through(0, 10);
    const auto body = [&] {
        wait(&one);
        through.release();
    };
    system_thread first(body), second(body), third(body);
    one.release(3);
    for (int i = 0; i < 3; ++i)
        wait(&through);
    EXPECT_EQ(one.count(), 0);
}

IRPVERBS_ON_BOTH_MACHINES(Semaphores);

TEST(SemaphoresExplored, ConcurrentWaits_NeverExceedCount) {
    explore_options options;
    options.random_runs = options.pct_runs = 500;
    options.exhaustive_runs = 20'000;
    options.preemption_bound = 2;
    expect_explored(options, [](sim_machine& machine) {
        semaphore places(2, 2);
        int inside = 0, visits = 0;
        for (int i = 0; i < 3; ++i)
            machine.spawn("attached" + std::to_string(i), [&] {
                wait(&places);
                EXPECT_LE(++inside, 2);
                machine.yield();
                --inside;
                ++visits;
                places.release();
            });
        machine.run();
        EXPECT_EQ(visits, 3);
        EXPECT_EQ(places.count(), 2);
    });
}

} // namespace
