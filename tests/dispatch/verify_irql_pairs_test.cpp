// IRQL pairs: a call that raises the IRQL is paired with one that lowers it; waits and pool calls
// have conditions.
#include <dispatch/ke.h>
#include <dispatch/pool.h>
#include <dispatch/support/processor.hpp>

#include "irql_level.hpp"
#include <support/both_machines.hpp>
#include <support/findings.hpp>

#include <gtest/gtest.h>

namespace irpverbs::testing {
namespace {

using dispatch::detail::check;

TEST(IrqlKeRaiseLower, Broken_IsReported) {
    findings seen{check::irql};
    KIRQL old = PASSIVE_LEVEL;
    KeRaiseIrql(DISPATCH_LEVEL, &old);
    KIRQL dropped = PASSIVE_LEVEL;
    EXPECT_THROW(KeRaiseIrql(APC_LEVEL, &dropped), stopped);
    EXPECT_TRUE(only_reported(seen, "IrqlKeRaiseLower", violation, 0x30));
    seen.clear();
    EXPECT_THROW(KeLowerIrql(CLOCK_LEVEL), stopped);
    EXPECT_TRUE(only_reported(seen, "IrqlKeRaiseLower", violation, 0x31));
    KeLowerIrql(old);
}

TEST(IrqlKeRaiseLower, Kept_IsNotReported) {
    const findings seen{check::irql};
    KIRQL old = PASSIVE_LEVEL;
    KeRaiseIrql(PASSIVE_LEVEL, &old);
    KeLowerIrql(old);
    EXPECT_TRUE(nothing_reported(seen));
}

void lower_in_dpc(KDPC*, void*, void*, void*) {
    KeLowerIrql(PASSIVE_LEVEL);
    KIRQL old = PASSIVE_LEVEL;
    KeRaiseIrql(DISPATCH_LEVEL, &old);
}

TEST(IrqlKeRaiseLowerRule, DpcLowersBelowDispatch_IsReported) {
    findings seen{check::irql};
    KDPC dpc;
    KeInitializeDpc(&dpc, lower_in_dpc, nullptr);
    KeInsertQueueDpc(&dpc, nullptr, nullptr);
    EXPECT_TRUE(only_reported(seen, "IrqlKeRaiseLower", violation, 0x31));
}

TEST(IrqlKeRaiseLower2, Broken_IsReported) {
    findings seen{check::irql};
    KIRQL outer = PASSIVE_LEVEL;
    KIRQL inner = PASSIVE_LEVEL;
    KeRaiseIrql(APC_LEVEL, &outer);
    KeRaiseIrql(DISPATCH_LEVEL, &inner);
    KeLowerIrql(outer); // skips the inner one
    EXPECT_TRUE(only_reported(seen, "IrqlKeRaiseLower2", violation, 0x31));
    EXPECT_TRUE(seen.all()[0].has_stack("raised at"));
}

TEST(IrqlKeRaiseLower2, Kept_IsNotReported) {
    const findings seen{check::irql};
    KIRQL outer = PASSIVE_LEVEL;
    KIRQL inner = PASSIVE_LEVEL;
    KeRaiseIrql(APC_LEVEL, &outer);
    KeRaiseIrql(DISPATCH_LEVEL, &inner);
    const KIRQL same = KeRaiseIrqlToDpcLevel();
    KeLowerIrql(same);
    KeLowerIrql(inner);
    KeLowerIrql(outer);
    EXPECT_TRUE(nothing_reported(seen));
}

using wait_function = NTSTATUS (*)(KEVENT& event, PLARGE_INTEGER timeout);

NTSTATUS wait_for_one(KEVENT& event, PLARGE_INTEGER timeout) {
    return KeWaitForSingleObject(&event, Executive, KernelMode, FALSE, timeout);
}
NTSTATUS wait_for_any(KEVENT& event, PLARGE_INTEGER timeout) {
    void* objects[] = {&event};
    return KeWaitForMultipleObjects(1, objects, WaitAny, Executive, KernelMode, FALSE, timeout,
                                    nullptr);
}

NTSTATUS wait_at(KIRQL level, wait_function wait, PLARGE_INTEGER timeout) {
    KEVENT event;
    KeInitializeEvent(&event, NotificationEvent, TRUE);
    const at_level there(level);
    return wait(event, timeout);
}

void breaks_at_each_level(const std::string& rule, wait_function wait) {
    LARGE_INTEGER look;
    look.QuadPart = 0;
    LARGE_INTEGER a_while;
    a_while.QuadPart = -10;
    const struct {
        KIRQL level;
        PLARGE_INTEGER timeout;
        ULONG_PTR id;
    } waits[] = {{CLOCK_LEVEL, &look, 0x120},
                 {DISPATCH_LEVEL, nullptr, 0x121},
                 {DISPATCH_LEVEL, &a_while, 0x122}};
    for (const auto& each : waits) {
        findings seen{check::irql};
        EXPECT_THROW(wait_at(each.level, wait, each.timeout), stopped);
        EXPECT_TRUE(only_reported(seen, rule, violation, each.id));
        EXPECT_EQ(seen.all().back().code, ATTEMPTED_SWITCH_FROM_DPC);
    }
}

void keeps_the_levels(wait_function wait) {
    const findings seen{check::irql};
    LARGE_INTEGER look;
    look.QuadPart = 0;
    EXPECT_EQ(wait_at(DISPATCH_LEVEL, wait, &look), STATUS_SUCCESS);
    EXPECT_EQ(wait_at(APC_LEVEL, wait, nullptr), STATUS_SUCCESS);
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(IrqlKeWaitForMultipleObjects, Broken_IsReported) {
    breaks_at_each_level("IrqlKeWaitForMultipleObjects", wait_for_any);
}
TEST(IrqlKeWaitForMultipleObjects, Kept_IsNotReported) { keeps_the_levels(wait_for_any); }
TEST(IrqlKeWaitForMutexObject, Broken_IsReported) {
    breaks_at_each_level("IrqlKeWaitForMutexObject", wait_for_one);
}
TEST(IrqlKeWaitForMutexObject, Kept_IsNotReported) { keeps_the_levels(wait_for_one); }

void pageable() { PAGED_CODE(); }

TEST(PagedCode, Broken_IsReported) {
    findings seen{check::irql};
    const at_level raised(DISPATCH_LEVEL);
    pageable();
    EXPECT_TRUE(only_reported(seen, "PagedCode", DRIVER_IRQL_NOT_LESS_OR_EQUAL, 0));
}

TEST(PagedCode, Kept_IsNotReported) {
    const findings seen{check::irql};
    const at_level raised(APC_LEVEL);
    pageable();
    EXPECT_TRUE(nothing_reported(seen));
}

void* allocate_at(KIRQL level, POOL_FLAGS flags) {
    const at_level there(level);
    return ExAllocatePool2(flags, 16, 1);
}

void free_at(KIRQL level, void* block) {
    const at_level there(level);
    ExFreePool(block);
}

TEST(IrqlExAllocatePool, Broken_IsReported) {
    findings seen{check::irql};
    ExFreePool(allocate_at(DISPATCH_LEVEL, POOL_FLAG_PAGED));
    EXPECT_TRUE(only_reported(seen, "IrqlExAllocatePool", violation, 0x01));
    seen.clear();
    ExFreePool(allocate_at(CLOCK_LEVEL, POOL_FLAG_NON_PAGED));
    EXPECT_TRUE(only_reported(seen, "IrqlExAllocatePool", violation, 0x02));
}

TEST(IrqlExAllocatePool, Kept_IsNotReported) {
    const findings seen{check::irql};
    ExFreePool(allocate_at(APC_LEVEL, POOL_FLAG_PAGED));
    ExFreePool(allocate_at(DISPATCH_LEVEL, POOL_FLAG_NON_PAGED));
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(IrqlExFree1, Broken_IsReported) {
    findings seen{check::irql, check::pool};
    free_at(DISPATCH_LEVEL, allocate_at(PASSIVE_LEVEL, POOL_FLAG_PAGED));
    EXPECT_TRUE(only_reported(seen, "IrqlExFree1", violation, 0x11));
    seen.clear();
    free_at(CLOCK_LEVEL, allocate_at(PASSIVE_LEVEL, POOL_FLAG_NON_PAGED));
    EXPECT_TRUE(only_reported(seen, "IrqlExFree1", violation, 0x12));
}

TEST(IrqlExFree1, Kept_IsNotReported) {
    const findings seen{check::irql, check::pool};
    free_at(APC_LEVEL, allocate_at(PASSIVE_LEVEL, POOL_FLAG_PAGED));
    free_at(DISPATCH_LEVEL, allocate_at(PASSIVE_LEVEL, POOL_FLAG_NON_PAGED));
    EXPECT_TRUE(nothing_reported(seen));
}

} // namespace
} // namespace irpverbs::testing
