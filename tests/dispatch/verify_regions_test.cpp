// Critical and guarded regions are left as often as they are entered.
#include <dispatch/ke.h>

#include <support/both_machines.hpp>
#include <support/findings.hpp>

#include <gtest/gtest.h>

namespace irpverbs::testing {
namespace {

using dispatch::detail::check;

TEST(CriticalRegions, Broken_IsReported) {
    findings seen{check::locks};
    EXPECT_THROW(KeLeaveCriticalRegion(), stopped);
    EXPECT_TRUE(only_reported(seen, "CriticalRegions", violation, 0x00040003));
}

TEST(CriticalRegions, Kept_IsNotReported) {
    const findings seen{check::locks, check::irql};
    system_thread([] {
        for (int i = 0; i < 2; ++i)
            KeEnterCriticalRegion();
        EXPECT_TRUE(KeAreApcsDisabled());
        for (int i = 0; i < 2; ++i)
            KeLeaveCriticalRegion();
    }).join();
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(CriticalRegionsRule, ThreadEndsInside_IsReported) {
    findings seen{check::locks};
    system_thread(KeEnterCriticalRegion).join();
    EXPECT_TRUE(only_reported(seen, "CriticalRegions", violation, 0x00040003));
    EXPECT_TRUE(seen.all()[0].has_stack("entered at"));
}

void enter_region(void* done) {
    KeEnterCriticalRegion();
    KeSetEvent(static_cast<KEVENT*>(done), 0, FALSE);
}

void leave_region(void* done) { KeSetEvent(static_cast<KEVENT*>(done), 0, FALSE); }

TEST(CriticalRegionsRule, WorkItemReturnsInside_IsReported) {
    findings seen{check::locks};
    const dispatch::asio_machine::options chosen{.processors = 1};
    {
        dispatch::asio_machine machine(chosen);
        const dispatch::machine::scope here(machine);
        for (const PWORKER_THREAD_ROUTINE routine : {enter_region, leave_region}) {
            KEVENT done;
            KeInitializeEvent(&done, NotificationEvent, FALSE);
            WORK_QUEUE_ITEM item;
            ExInitializeWorkItem(&item, routine, &done);
            ExQueueWorkItem(&item, DelayedWorkQueue);
            KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, nullptr);
        }
    } // its threads have ended: all findings are reported
    EXPECT_TRUE(only_reported(seen, "CriticalRegions", violation, 0x00040003));
}

TEST(GuardedRegions, Broken_IsReported) {
    findings seen{check::locks};
    EXPECT_THROW(KeLeaveGuardedRegion(), stopped);
    EXPECT_TRUE(only_reported(seen, "GuardedRegions", violation, 0x0004000E));
}

TEST(GuardedRegions, Kept_IsNotReported) {
    const findings seen{check::locks, check::irql};
    system_thread([] {
        KeEnterGuardedRegion();
        KeEnterCriticalRegion();
        EXPECT_TRUE(KeAreAllApcsDisabled());
        KeLeaveCriticalRegion();
        KeLeaveGuardedRegion();
    }).join();
    EXPECT_TRUE(nothing_reported(seen));
}

} // namespace
} // namespace irpverbs::testing
