#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/explore_gtest.hpp>
#include <support/ke_shorthand.hpp>

#include <memory>
#include <vector>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

struct mutex : KMUTEX {
    mutex() { KeInitializeMutex(this, 0); }
    LONG release() { return KeReleaseMutex(this, FALSE); }
    LONG state() { return KeReadStateMutex(this); }
};

class Mutexes : public BothMachines {};

TEST_P(Mutexes, RecursiveAcquire_NeedsEqualReleases) {
    mutex one;
    EXPECT_EQ(one.state(), 1);
    EXPECT_EQ(wait(&one), STATUS_SUCCESS);
    EXPECT_EQ(one.state(), 0);
    EXPECT_EQ(wait(&one), STATUS_SUCCESS);
    EXPECT_EQ(try_wait(&one), STATUS_SUCCESS);
    EXPECT_EQ(one.release(), -2);
    EXPECT_EQ(one.release(), -1);
    EXPECT_EQ(one.state(), 0);
    EXPECT_EQ(one.release(), 0);
    EXPECT_EQ(one.state(), 1);
}

TEST_P(Mutexes, HeldRecursively_OthersWaitForLastRelease) {
    mutex one;
    wait(&one);
    wait(&one);
    NTSTATUS while_owned = STATUS_UNSUCCESSFUL, after = STATUS_UNSUCCESSFUL;
    event looked;
    system_thread other([&] {
        while_owned = try_wait(&one);
        set(looked);
        after = wait(&one);
        one.release();
    });
    wait(&looked);
    one.release();
    one.release();
    other.join();
    EXPECT_EQ(while_owned, STATUS_TIMEOUT);
    EXPECT_EQ(after, STATUS_SUCCESS);
    EXPECT_EQ(one.state(), 1);
}

TEST_P(Mutexes, ReleaseByNonOwner_BugChecks) {
    mutex one;
    EXPECT_EQ(bug_check_of([&] { one.release(); }), THREAD_NOT_MUTEX_OWNER);
    event taken, may_release;
    system_thread owner([&] {
        wait(&one);
        set(taken);
        wait(&may_release);
        one.release();
    });
    wait(&taken);
    EXPECT_EQ(bug_check_of([&] { one.release(); }), THREAD_NOT_MUTEX_OWNER);
    EXPECT_EQ(one.state(), 0);
    set(may_release);
}

TEST_P(Mutexes, OwnerEnds_NextWaitReturnsAbandonedOnce) {
    mutex one, other;
    {
        system_thread owner([&] {
            wait(&one);
            wait(&one);
            wait(&other);
        });
    }
    EXPECT_EQ(wait(&one), STATUS_ABANDONED_WAIT_0);
    EXPECT_EQ(one.state(), 0);
    one.release();
    EXPECT_EQ(wait(&one), STATUS_SUCCESS); // reported once
    one.release();
    PVOID objects[] = {&one, &other};
    EXPECT_EQ(KeWaitForMultipleObjects(2, objects, WaitAll, Executive, KernelMode, FALSE, nullptr,
                                       nullptr),
              STATUS_ABANDONED_WAIT_0);
    one.release();
    other.release();
}

TEST_P(Mutexes, OwnerEndsWhileAnotherWaits_WaiterReturnsAbandoned) {
    mutex one;
    event taken, waiting;
    NTSTATUS status = STATUS_UNSUCCESSFUL;
    auto owner = std::make_unique<system_thread>([&] {
        wait(&one);
        set(taken);
        wait(&waiting);
    });
    wait(&taken);
    system_thread waiter([&] {
        event never;
        PVOID objects[] = {&never, &one};
        set(waiting);
        status = KeWaitForMultipleObjects(2, objects, WaitAny, Executive, KernelMode, FALSE,
                                          nullptr, nullptr);
        one.release();
    });
    owner.reset();
    waiter.join();
    EXPECT_EQ(status, STATUS_ABANDONED_WAIT_0 + 1);
}

IRPVERBS_ON_BOTH_MACHINES(Mutexes);

TEST(MutexesExplored, ConcurrentAcquires_ExcludeAndAllSucceed) {
    expect_explored(thorough(), [](sim_machine& machine) {
        mutex one;
        int inside = 0, visits = 0;
        for (int i = 0; i < 3; ++i)
            machine.spawn("attached" + std::to_string(i), [&] {
                wait(&one);
                EXPECT_EQ(++inside, 1);
                machine.yield();
                wait(&one);
                one.release();
                --inside;
                ++visits;
                one.release();
            });
        machine.run();
        EXPECT_EQ(visits, 3);
        EXPECT_EQ(one.state(), 1);
    });
}

// The hand-over races with the waiter's time-out and with the owner's end.
TEST(MutexesExplored, HandOverRacesTimeoutAndAbandonment_MutexEndsFree) {
    int handed = 0, abandoned = 0, timed_out = 0;
    explore_options options = thorough();
    options.machine.delays = 8;
    expect_explored(options, [&](sim_machine& machine) {
        mutex one;
        NTSTATUS status = STATUS_UNSUCCESSFUL;
        const bool forgets = machine.source().pick(2, "owner forgets to release") == 1;
        machine.spawn("owner", [&] {
            wait(&one);
            delay(millisecond);
            if (!forgets) one.release();
        });
        machine.spawn("waiter", [&] {
            delay(microsecond);
            status = wait_at_most(&one, millisecond);
            if (status != STATUS_TIMEOUT) one.release();
        });
        machine.run();
        EXPECT_EQ(one.state(), 1);
        EXPECT_TRUE(forgets || status != STATUS_ABANDONED_WAIT_0);
        handed += status == STATUS_SUCCESS;
        abandoned += status == STATUS_ABANDONED_WAIT_0;
        timed_out += status == STATUS_TIMEOUT;
    });
    EXPECT_GT(handed, 0);
    EXPECT_GT(abandoned, 0);
    EXPECT_GT(timed_out, 0);
}

} // namespace
