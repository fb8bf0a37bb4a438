#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/explore_gtest.hpp>
#include <support/ke_shorthand.hpp>

#include <memory>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

struct rundown : EX_RUNDOWN_REF {
    rundown() { ExInitializeRundownProtection(this); }
};

class RundownProtection : public BothMachines {};

TEST_P(RundownProtection, AcquireAfterWait_Fails) {
    rundown one;
    EXPECT_TRUE(ExAcquireRundownProtection(&one));
    EXPECT_TRUE(ExAcquireRundownProtection(&one));
    ExReleaseRundownProtection(&one);
    ExReleaseRundownProtection(&one);
    ExWaitForRundownProtectionRelease(&one);
    EXPECT_FALSE(ExAcquireRundownProtection(&one));
    ExRundownCompleted(&one);
    EXPECT_FALSE(ExAcquireRundownProtection(&one));
}

TEST_P(RundownProtection, ReinitialisedAfterWait_AcquireSucceeds) {
    rundown one;
    ExWaitForRundownProtectionRelease(&one);
    ExReInitializeRundownProtection(&one);
    EXPECT_TRUE(ExAcquireRundownProtection(&one));
    ExReleaseRundownProtection(&one);
    ExWaitForRundownProtectionRelease(&one);
}

TEST_P(RundownProtection, AcquireAndReleaseOfManyReferences_AreCounted) {
    rundown one;
    EXPECT_TRUE(ExAcquireRundownProtectionEx(&one, 5));
    ExReleaseRundownProtectionEx(&one, 2);
    ExReleaseRundownProtectionEx(&one, 3);
    ExWaitForRundownProtectionRelease(&one);
    EXPECT_FALSE(ExAcquireRundownProtectionEx(&one, 5));
}

TEST_P(RundownProtection, SecondWait_ReturnsAtOnce) {
    rundown one;
    ExWaitForRundownProtectionRelease(&one);
    ExWaitForRundownProtectionRelease(&one);
}

TEST_P(RundownProtection, Wait_BlocksUntilLastRelease) {
    rundown one;
    bool used = false;
    event inside, leave;
    system_thread user([&] {
        ExAcquireRundownProtection(&one);
        set(inside);
        wait(&leave);
        used = true;
        ExReleaseRundownProtection(&one);
    });
    wait(&inside);
    set(leave);
    ExWaitForRundownProtectionRelease(&one);
    EXPECT_TRUE(used);
}

TEST_P(RundownProtection, ReleaseWithoutAcquire_BugChecks) {
    rundown one;
    EXPECT_EQ(bug_check_of([&] { ExReleaseRundownProtection(&one); }),
              CRITICAL_STRUCTURE_CORRUPTION);
    ExWaitForRundownProtectionRelease(&one);
    EXPECT_EQ(bug_check_of([&] { ExReleaseRundownProtection(&one); }),
              CRITICAL_STRUCTURE_CORRUPTION);
}

IRPVERBS_ON_BOTH_MACHINES(RundownProtection);

// After the wait no thread is inside, and the object may be freed.
TEST(RundownProtectionExplored, AcquireRacesWithWait_NoUserRemainsAfterWait) {
    int entered = 0, refused = 0;
    explore_options options;
    options.random_runs = options.pct_runs = 500;
    options.exhaustive_runs = 20'000;
    options.preemption_bound = 2;
    expect_explored(options, [&](sim_machine& machine) {
        rundown door;
        auto object = std::make_unique<int>(0);
        for (const char* name : {"user", "other user"})
            machine.spawn(name, [&] {
                if (!ExAcquireRundownProtection(&door)) {
                    ++refused;
                    return;
                }
                ++entered;
                machine.yield();
                ++*object;
                ExReleaseRundownProtection(&door);
            });
        machine.spawn("owner", [&] {
            ExWaitForRundownProtectionRelease(&door);
            object.reset();
        });
        machine.run();
    });
    EXPECT_GT(entered, 0);
    EXPECT_GT(refused, 0);
}

} // namespace
