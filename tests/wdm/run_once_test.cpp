// Run-once initialization, and cache-aware rundown protection.
#include <gtest/gtest.h>
#include <irp/testing/explore.hpp>

#include <ntddk.h>

namespace {

using irpverbs::dispatch::explore_options;
using irpverbs::dispatch::explore_summary;
using irpverbs::dispatch::sim_machine;

struct initialization {
    PVOID context = nullptr;
    ULONG failures = 0; // before it succeeds
    ULONG calls = 0;
    bool running = false;
    bool overlapped = false;
};

ULONG initialize(PRTL_RUN_ONCE, PVOID parameter, PVOID* context) {
    auto& how = *static_cast<initialization*>(parameter);
    how.overlapped = how.overlapped || how.running;
    how.running = true;
    InterlockedSchedulingPoint(&how);
    how.running = false;
    *context = how.context;
    return ++how.calls > how.failures;
}

TEST(RunOnce, FirstCall_InitializesForAll) {
    RTL_RUN_ONCE once;
    RtlRunOnceInitialize(&once);
    alignas(8) int object = 0;
    initialization how{.context = &object};
    PVOID context = nullptr;
    EXPECT_EQ(RtlRunOnceBeginInitialize(&once, RTL_RUN_ONCE_CHECK_ONLY, &context),
              STATUS_UNSUCCESSFUL);
    EXPECT_EQ(RtlRunOnceExecuteOnce(&once, initialize, &how, nullptr), STATUS_SUCCESS);
    EXPECT_EQ(RtlRunOnceExecuteOnce(&once, initialize, &how, &context), STATUS_SUCCESS);
    EXPECT_EQ(context, &object);
    EXPECT_EQ(how.calls, 1u);
    context = nullptr;
    EXPECT_EQ(RtlRunOnceBeginInitialize(&once, RTL_RUN_ONCE_CHECK_ONLY, &context), STATUS_SUCCESS);
    EXPECT_EQ(context, &object);
}

TEST(RunOnce, Failure_IsTriedAgain) {
    RTL_RUN_ONCE once = RTL_RUN_ONCE_INIT;
    initialization how{.failures = 1};
    EXPECT_EQ(RtlRunOnceExecuteOnce(&once, initialize, &how, nullptr), STATUS_UNSUCCESSFUL);
    EXPECT_EQ(RtlRunOnceExecuteOnce(&once, initialize, &how, nullptr), STATUS_SUCCESS);
    EXPECT_EQ(how.calls, 2u);
}

TEST(RunOnce, ContextWithLowBits_IsRefused) {
    RTL_RUN_ONCE once = RTL_RUN_ONCE_INIT;
    initialization how{.context = reinterpret_cast<PVOID>(6)};
    EXPECT_EQ(RtlRunOnceExecuteOnce(&once, initialize, &how, nullptr), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(once.Ptr, nullptr);
}

TEST(RunOnce, AsynchronousInitializations_FirstOneCounts) {
    RTL_RUN_ONCE once = RTL_RUN_ONCE_INIT;
    alignas(8) int mine = 0, others = 0;
    PVOID context = nullptr;
    EXPECT_EQ(RtlRunOnceBeginInitialize(&once, RTL_RUN_ONCE_ASYNC, &context), STATUS_PENDING);
    EXPECT_EQ(RtlRunOnceBeginInitialize(&once, RTL_RUN_ONCE_ASYNC, &context), STATUS_PENDING);
    EXPECT_EQ(RtlRunOnceBeginInitialize(&once, 0, &context), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(RtlRunOnceComplete(&once, 0, &mine), STATUS_UNSUCCESSFUL);
    EXPECT_EQ(RtlRunOnceComplete(&once, RTL_RUN_ONCE_ASYNC, &others), STATUS_SUCCESS);
    EXPECT_EQ(RtlRunOnceComplete(&once, RTL_RUN_ONCE_ASYNC, &mine), STATUS_OBJECT_NAME_COLLISION);
    EXPECT_EQ(RtlRunOnceBeginInitialize(&once, RTL_RUN_ONCE_ASYNC, &context), STATUS_SUCCESS);
    EXPECT_EQ(context, &others);
}

TEST(RunOnceSchedules, ThreadsWaitForTheOneThatInitializes) {
    explore_options how;
    how.exhaustive_runs = 20'000;
    how.random_runs = how.pct_runs = 1000;
    const explore_summary found =
        irpverbs::irp::explore(how, [](sim_machine& machine) -> std::optional<std::string> {
            RTL_RUN_ONCE once = RTL_RUN_ONCE_INIT;
            alignas(8) int object = 0;
            initialization shared{.context = &object, .failures = 1};
            ULONG succeeded = 0, wrong = 0;
            for (const char* name : {"one", "other", "third"})
                machine.spawn(name, [&] {
                    PVOID context = nullptr;
                    const NTSTATUS status =
                        RtlRunOnceExecuteOnce(&once, initialize, &shared, &context);
                    succeeded += NT_SUCCESS(status);
                    wrong += NT_SUCCESS(status) != (context == &object);
                });
            machine.run();
            if (shared.overlapped) return "two threads initialized at once";
            if (shared.calls != 2 || succeeded != 2 || wrong != 0) return "a thread saw no end";
            return std::nullopt;
        });
    EXPECT_TRUE(found.passed()) << (found.failure ? found.failure->report : "");
}

TEST(CacheAwareRundown, Rundown_RefusesNewUsersUntilItBeginsAgain) {
    PEX_RUNDOWN_REF_CACHE_AWARE users = ExAllocateCacheAwareRundownProtection(NonPagedPool, 'tseT');
    ASSERT_NE(users, nullptr);
    EXPECT_TRUE(ExAcquireRundownProtectionCacheAware(users));
    EXPECT_TRUE(ExAcquireRundownProtectionCacheAwareEx(users, 2));
    ExReleaseRundownProtectionCacheAwareEx(users, 2);
    ExReleaseRundownProtectionCacheAware(users);
    ExWaitForRundownProtectionReleaseCacheAware(users);
    EXPECT_FALSE(ExAcquireRundownProtectionCacheAware(users));
    ExRundownCompletedCacheAware(users);
    ExReInitializeRundownProtectionCacheAware(users);
    EXPECT_TRUE(ExAcquireRundownProtectionCacheAware(users));
    ExReleaseRundownProtectionCacheAware(users);
    ExFreeCacheAwareRundownProtection(users);
}

} // namespace
