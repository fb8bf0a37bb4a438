// A deleted device and its extension are freed memory.
#include <irp/testing/explore.hpp>
#include <irp/wdm.h>
#include <support/findings.hpp>

#include <gtest/gtest.h>

namespace {

using irpverbs::dispatch::sim_machine;
using irpverbs::testing::rule_in;

// The driver keeps the address of its extension.
TEST(FreedDevice, EventInTheExtensionOfADeletedDevice_IsFreedMemoryUsed) {
    irpverbs::dispatch::explore_options once;
    once.random_runs = 1;
    once.pct_runs = once.shrink_budget = 0;
    const auto summary = irpverbs::irp::explore(once, [](sim_machine& sim) {
        sim.spawn("driver", [] {
            DRIVER_OBJECT driver{};
            DEVICE_OBJECT* device = nullptr;
            IoCreateDevice(&driver, sizeof(KEVENT), nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE,
                           &device);
            auto* event = static_cast<KEVENT*>(device->DeviceExtension);
            KeInitializeEvent(event, NotificationEvent, FALSE);
            IoDeleteDevice(device);
            KeSetEvent(event, IO_NO_INCREMENT, FALSE);
        });
        sim.run();
    });
    ASSERT_TRUE(summary.failure);
    EXPECT_EQ(rule_in(summary.failure->what), "FreedMemoryUsed") << summary.failure->what;
}

} // namespace
