// Remove locks: acquisition succeeds until removal begins, and the remover waits for the last
// holder.
#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/exhaustive_gtest.hpp>

#include <irp/remove_lock.h>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::explore_options;
using irpverbs::dispatch::sim_machine;

class RemoveLocks : public BothMachines {
protected:
    RemoveLocks() { IoInitializeRemoveLock(&lock, 0x6b636f4c, 0, 0); }

    void* tag() { return this; }
    IO_REMOVE_LOCK lock;
};

TEST_P(RemoveLocks, AcquireAfterRemoval_ReturnsDeletePending) {
    EXPECT_EQ(IoAcquireRemoveLock(&lock, tag()), STATUS_SUCCESS);
    EXPECT_EQ(IoAcquireRemoveLock(&lock, this + 1), STATUS_SUCCESS);
    IoReleaseRemoveLock(&lock, this + 1);
    IoReleaseRemoveLockAndWait(&lock, tag());
    EXPECT_EQ(IoAcquireRemoveLock(&lock, tag()), STATUS_DELETE_PENDING);
    // still refused, and not counted
    EXPECT_EQ(IoAcquireRemoveLock(&lock, tag()), STATUS_DELETE_PENDING);
}

TEST_P(RemoveLocks, AtDispatchLevel_AcquiresAndReleases) {
    const at_dispatch_level raised;
    EXPECT_EQ(IoAcquireRemoveLock(&lock, tag()), STATUS_SUCCESS);
    IoReleaseRemoveLock(&lock, tag());
}

TEST_P(RemoveLocks, ReleaseAndWait_WaitsForLastRelease) {
    EXPECT_EQ(IoAcquireRemoveLock(&lock, tag()), STATUS_SUCCESS);
    EXPECT_EQ(IoAcquireRemoveLock(&lock, &lock), STATUS_SUCCESS);
    bool released = false;
    system_thread other([&] {
        released = true;
        IoReleaseRemoveLock(&lock, &lock);
    });
    IoReleaseRemoveLockAndWait(&lock, tag());
    EXPECT_TRUE(released);
}

TEST_P(RemoveLocks, ReleaseTooOften_IsReported) {
    EXPECT_EQ(IoAcquireRemoveLock(&lock, tag()), STATUS_SUCCESS);
    IoReleaseRemoveLockAndWait(&lock, tag());
    EXPECT_EQ(bug_check_of([&] { IoReleaseRemoveLock(&lock, tag()); }),
              DRIVER_VERIFIER_DETECTED_VIOLATION);
}

IRPVERBS_ON_BOTH_MACHINES(RemoveLocks);

// A user races with removal: the user either acquires the lock and is waited for, or is refused.
TEST(RemoveLockRaces, AcquireRacesWithRemoval_RemovalWaitsOrAcquireFails) {
    explore_options options;
    options.random_runs = options.pct_runs = 300;
    options.exhaustive_runs = 20'000;
    options.preemption_bound = 3;
    expect_exhausted(options, [](sim_machine& sim) {
        IO_REMOVE_LOCK lock;
        IoInitializeRemoveLock(&lock, 0, 0, 0);
        bool gone = false;
        for (int user = 0; user < 2; ++user)
            sim.spawn("user", [&] {
                if (IoAcquireRemoveLock(&lock, &sim) != STATUS_SUCCESS) return;
                sim.yield();
                EXPECT_FALSE(gone);
                IoReleaseRemoveLock(&lock, &sim);
            });
        sim.spawn("remover", [&] {
            EXPECT_EQ(IoAcquireRemoveLock(&lock, &lock), STATUS_SUCCESS);
            IoReleaseRemoveLockAndWait(&lock, &lock);
            gone = true;
        });
        sim.run();
        EXPECT_TRUE(gone);
    });
}

} // namespace
