// The inline functions' calls to the verifier.
#define IRPVERBS_CHECKED_INLINES 1
#include "verified.hpp"

#include <support/bug_checks.hpp>

#include <dispatch/support/processor.hpp>
#include <dispatch/support/sanitizers.hpp>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::sim_machine;

constexpr KIRQL above_dispatch = CLOCK_LEVEL;

// The findings of the call at that level, on an IRP with a current and a next location.
std::vector<reported_finding> found_at(KIRQL level, void (*call)(IRP*)) {
    return found_with("irql", [&](sim_machine&) {
        IRP* irp = IoAllocateIrp(2, FALSE);
        IoSetNextIrpStackLocation(irp);
        irpverbs::dispatch::detail::this_processor().irql = level;
        call(irp);
        irpverbs::dispatch::detail::this_processor().irql = PASSIVE_LEVEL;
        IoFreeIrp(irp);
    });
}

void set_routine(IRP* irp) { IoSetCompletionRoutine(irp, nullptr, nullptr, TRUE, TRUE, TRUE); }
void mark(IRP* irp) { IoMarkIrpPending(irp); }

// Source: WDK reference pages, "IRQL" row.
TEST(InlineIrpFunctionsIrql, CallAboveDispatchLevel_IsReported) {
    for (const auto call : {set_routine, IoCopyCurrentIrpStackLocationToNext}) {
        EXPECT_TRUE(is(found_at(above_dispatch, call), "IrqlIoDispatch",
                       DRIVER_VERIFIER_DETECTED_VIOLATION, 0x00020022));
        EXPECT_TRUE(nothing(found_at(DISPATCH_LEVEL, call)));
    }
}

TEST(InlineIrpFunctionsIrql, MarkOrSkipAtAnyIrql_IsAccepted) {
    EXPECT_TRUE(nothing(found_at(above_dispatch, mark)));
    EXPECT_TRUE(nothing(found_at(above_dispatch, IoSkipCurrentIrpStackLocation)));
}

extern "C" void __sanitizer_cov_load8(const void* address);

std::vector<reported_finding> loaded(bool freed_before) {
    return found_in([&](sim_machine&) {
        IRP* irp = IoAllocateIrp(1, FALSE);
        if (!freed_before) __sanitizer_cov_load8(&irp->IoStatus.Information);
        IoFreeIrp(irp);
        if (freed_before) __sanitizer_cov_load8(&irp->IoStatus.Information);
    });
}

// Code that clang compiled with -fsanitize-coverage=func,trace-loads,trace-stores reports its
// loads.
TEST(TracedAccesses, LoadFromAFreedIrp_IsUseAfterFree) {
#if IRPVERBS_ADDRESS_SANITIZER || IRPVERBS_THREAD_SANITIZER
    GTEST_SKIP() << "the sanitizer's runtime has these functions";
#endif
    EXPECT_TRUE(is(loaded(true), "UseAfterFree", DRIVER_VERIFIER_IOMANAGER_VIOLATION, 0x03));
    EXPECT_TRUE(nothing(loaded(false)));
}

std::vector<reported_finding> located(bool freed_before) {
    return found_in([&](sim_machine&) {
        IRP* irp = IoAllocateIrp(1, FALSE);
        if (!freed_before) IoGetCurrentIrpStackLocation(irp);
        IoFreeIrp(irp);
        if (freed_before) IoGetCurrentIrpStackLocation(irp);
    });
}

// A driver that reads the parameters of an IRP which it has queued reads freed memory if the IRP
// is completed before.
TEST(InlineIrpFunctions, LocationOfFreedIrp_IsUseAfterFree) {
#if IRPVERBS_ADDRESS_SANITIZER
    GTEST_SKIP() << "the sanitizer ends the program at the read that follows the report";
#endif
    EXPECT_TRUE(is(located(true), "UseAfterFree", DRIVER_VERIFIER_IOMANAGER_VIOLATION, 0x03));
    EXPECT_TRUE(nothing(located(false)));
}

} // namespace
