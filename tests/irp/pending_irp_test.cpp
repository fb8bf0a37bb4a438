#include "test_driver.hpp"

#include <support/bug_checks.hpp>

#include <gtest/gtest.h>

namespace {

using irpverbs::irp::pending_irp;
using irpverbs::testing::numbered_request;
using irpverbs::testing::report_of;
using irpverbs::testing::test_device;

static_assert(!std::is_copy_constructible_v<pending_irp> &&
              std::is_move_constructible_v<pending_irp>);

// Tests that complete() returns the status and delivers the results to the originator.
TEST(PendingIrp, Complete_ReturnsStatusAndDeliversResult) {
    const test_device device(
        [](pending_irp owed) { return std::move(owed).complete(STATUS_BUFFER_OVERFLOW, 7); });
    numbered_request one(device);
    EXPECT_EQ(one.send(), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(one.completions(), 1);
    EXPECT_EQ(one.information(), 7u);
}

// Tests that dropping a pending_irp is reported, also when it was moved.
TEST(PendingIrp, DroppedPendingIrp_IsReported) {
    const test_device device([](pending_irp owed) {
        const pending_irp mine(std::move(owed));
        return STATUS_SUCCESS;
    });
    numbered_request one(device);
    const auto report = report_of([&] { one.send(); });
    ASSERT_TRUE(report);
    EXPECT_EQ(report->code, DRIVER_VERIFIER_IOMANAGER_VIOLATION);
    EXPECT_EQ(report->id, 0x226u);
    EXPECT_NE(report->text.find("neither completed, forwarded nor pended"), std::string::npos);
    pending_irp(one.irp()).complete(STATUS_UNSUCCESSFUL);
}

// Tests that a filter forwards its own location, or a copy with a routine that is called once.
TEST(PendingIrp, Forward_PassesLocationAndCallsRoutineOnce) {
    DEVICE_OBJECT* below = nullptr;
    bool skip = true;
    int seen = 0;
    const test_device bottom([](pending_irp owed) {
        EXPECT_EQ(owed.parameters<void*>(), &owed.stack().Parameters);
        return std::move(owed).complete(STATUS_SUCCESS, 3);
    });
    const test_device filter([&](pending_irp owed) {
        if (skip) return std::move(owed).forward(below);
        return std::move(owed).forward_with(
            below,
            [](DEVICE_OBJECT*, IRP*, void* context) -> NTSTATUS {
                ++*static_cast<int*>(context);
                return STATUS_CONTINUE_COMPLETION;
            },
            &seen);
    });
    below = IoAttachDeviceToDeviceStack(filter.get(), bottom.get());
    for (const bool skipped : {true, false}) {
        skip = skipped;
        numbered_request one(filter);
        // Skipping keeps the location and copying duplicates it, so the parameters are equal.
        IoGetNextIrpStackLocation(one.irp())->Parameters.Others.Argument1 =
            skipped ? &IoGetNextIrpStackLocation(one.irp())->Parameters
                    : &(IoGetNextIrpStackLocation(one.irp()) - 1)->Parameters;
        EXPECT_EQ(one.send(), STATUS_SUCCESS);
        EXPECT_EQ(one.information(), 3u);
        EXPECT_EQ(seen, skipped ? 0 : 1);
    }
    IoDetachDevice(bottom.get());
}

} // namespace
