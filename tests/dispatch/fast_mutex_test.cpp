#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/explore_gtest.hpp>
#include <support/ke_shorthand.hpp>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

struct fast_mutex : FAST_MUTEX {
    fast_mutex() { ExInitializeFastMutex(this); }
};

class FastMutexes : public BothMachines {};

bool free_for_another(fast_mutex& one) {
    bool acquired = false;
    system_thread other([&] {
        acquired = ExTryToAcquireFastMutex(&one);
        if (acquired) ExReleaseFastMutex(&one);
    });
    other.join();
    return acquired;
}

TEST_P(FastMutexes, Acquire_RaisesToApcLevel) {
    fast_mutex one;
    ExAcquireFastMutex(&one);
    EXPECT_EQ(KeGetCurrentIrql(), APC_LEVEL);
    ExReleaseFastMutex(&one);
    EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
}

TEST_P(FastMutexes, ReleaseAtApcLevel_RestoresApcLevel) {
    fast_mutex one;
    KIRQL old;
    KeRaiseIrql(APC_LEVEL, &old);
    ExAcquireFastMutex(&one);
    ExReleaseFastMutex(&one);
    EXPECT_EQ(KeGetCurrentIrql(), APC_LEVEL);
    KeLowerIrql(old);
}

TEST_P(FastMutexes, TryAcquireHeldMutex_FailsAtUnchangedIrql) {
    fast_mutex one;
    EXPECT_TRUE(ExTryToAcquireFastMutex(&one));
    EXPECT_EQ(KeGetCurrentIrql(), APC_LEVEL);
    BOOLEAN other = TRUE;
    KIRQL level = HIGH_LEVEL;
    {
        system_thread thread([&] {
            other = ExTryToAcquireFastMutex(&one);
            level = KeGetCurrentIrql();
        });
    }
    EXPECT_FALSE(other);
    EXPECT_EQ(level, PASSIVE_LEVEL);
    ExReleaseFastMutex(&one);
}

TEST_P(FastMutexes, SecondAcquireByOwner_BugChecks) {
    fast_mutex one;
    ExAcquireFastMutex(&one);
    EXPECT_EQ(bug_check_of([&] { ExAcquireFastMutex(&one); }), THREAD_NOT_MUTEX_OWNER);
    ExReleaseFastMutex(&one);
}

// Source: WDK ExTryToAcquireFastMutex, "returns TRUE if the mutex is acquired, and FALSE
// otherwise".
TEST_P(FastMutexes, SecondTryByOwner_IsFalse) {
    fast_mutex one;
    ExAcquireFastMutex(&one);
    EXPECT_FALSE(ExTryToAcquireFastMutex(&one));
    EXPECT_FALSE(KeTryToAcquireGuardedMutex(&one));
    EXPECT_EQ(KeGetCurrentIrql(), APC_LEVEL);
    ExReleaseFastMutex(&one);
    EXPECT_TRUE(free_for_another(one));
}

TEST_P(FastMutexes, ReleaseWithoutOwnership_BugChecks) {
    fast_mutex one;
    EXPECT_EQ(bug_check_of([&] { ExReleaseFastMutex(&one); }), THREAD_NOT_MUTEX_OWNER);
}

TEST_P(FastMutexes, AcquireGuardedMutex_DisablesAllApcs) {
    KGUARDED_MUTEX one;
    KeInitializeGuardedMutex(&one);
    KeAcquireGuardedMutex(&one);
    EXPECT_TRUE(KeAreAllApcsDisabled());
    KeReleaseGuardedMutex(&one);
    EXPECT_FALSE(KeAreAllApcsDisabled());
    EXPECT_TRUE(KeTryToAcquireGuardedMutex(&one));
    KeReleaseGuardedMutex(&one);
}

// Source: WDK ExAcquireFastMutexUnsafe, KeAcquireGuardedMutexUnsafe.
TEST_P(FastMutexes, UnsafeAcquire_KeepsIrql) {
    const auto hold_one = [](auto acquire, auto release) {
        fast_mutex one;
        KeEnterGuardedRegion();
        acquire(&one);
        EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
        EXPECT_FALSE(free_for_another(one));
        release(&one);
        EXPECT_TRUE(free_for_another(one));
        KeLeaveGuardedRegion();
    };
    hold_one(ExAcquireFastMutexUnsafe, ExReleaseFastMutexUnsafe);
    hold_one(KeAcquireGuardedMutexUnsafe, KeReleaseGuardedMutexUnsafe);
}

IRPVERBS_ON_BOTH_MACHINES(FastMutexes);

TEST(FastMutexesExplored, ConcurrentAcquires_ExcludeAndAllSucceed) {
    explore_options options;
    options.random_runs = options.pct_runs = 500;
    options.exhaustive_runs = 20'000;
    options.preemption_bound = 2;
    expect_explored(options, [](sim_machine& machine) {
        fast_mutex one;
        int inside = 0, visits = 0;
        for (int i = 0; i < 3; ++i)
            machine.spawn("attached" + std::to_string(i), [&] {
                ExAcquireFastMutex(&one);
                EXPECT_EQ(++inside, 1);
                machine.yield();
                --inside;
                ++visits;
                ExReleaseFastMutex(&one);
            });
        machine.run();
        EXPECT_EQ(visits, 3);
    });
}

} // namespace
