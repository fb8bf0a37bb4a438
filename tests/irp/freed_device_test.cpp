// A deleted device and its extension are freed memory, and so is the object of an unloaded driver.
#include <irp/testing/driver.hpp>
#include <irp/wdm.h>
#include <support/findings.hpp>
#include <support/one_run.hpp>

#include <gtest/gtest.h>

namespace {

using irpverbs::dispatch::sim_machine;
using irpverbs::testing::rule_in;

/// The report of one run of the body; "": none.
template <class Body>
std::string report_of_actor(const Body& body) {
    return irpverbs::testing::report_of_one_run([&](sim_machine& sim) {
        sim.spawn("driver", body);
        sim.run();
    });
}

// The driver keeps the address of its extension.
TEST(FreedDevice, EventInTheExtensionOfADeletedDevice_IsFreedMemoryUsed) {
    const std::string report = report_of_actor([] {
        DRIVER_OBJECT driver{};
        DEVICE_OBJECT* device = nullptr;
        IoCreateDevice(&driver, sizeof(KEVENT), nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
        auto* event = static_cast<KEVENT*>(device->DeviceExtension);
        KeInitializeEvent(event, NotificationEvent, FALSE);
        IoDeleteDevice(device);
        KeSetEvent(event, IO_NO_INCREMENT, FALSE);
    });
    EXPECT_EQ(rule_in(report), "FreedMemoryUsed") << report;
}

NTSTATUS start_driver(PDRIVER_OBJECT driver, PUNICODE_STRING) {
    driver->DriverUnload = [](PDRIVER_OBJECT) {};
    return STATUS_SUCCESS;
}

template <class Use>
std::string use_after_unload(const Use& use) {
    return report_of_actor([&] {
        PDRIVER_OBJECT driver = nullptr;
        EXPECT_EQ(irpverbs::irp::load_driver(start_driver, u"Gone", driver), STATUS_SUCCESS);
        EXPECT_EQ(IrpUnloadDriver(driver), STATUS_SUCCESS);
        use(driver);
    });
}

TEST(FreedDriver, SecondUnload_IsFreedMemoryUsed) {
    const std::string report = use_after_unload(IrpUnloadDriver);
    EXPECT_EQ(rule_in(report), "FreedMemoryUsed") << report;
}

TEST(FreedDriver, DeviceOfAnUnloadedDriver_IsFreedMemoryUsed) {
    const std::string report = use_after_unload([](PDRIVER_OBJECT driver) {
        DEVICE_OBJECT* device = nullptr;
        IoCreateDevice(driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
    });
    EXPECT_EQ(rule_in(report), "FreedMemoryUsed") << report;
    EXPECT_NE(report.find("a driver object"), std::string::npos) << report;
}

TEST(FreedDriver, DriverThatIsUnloadedOnce_IsNotReported) {
    EXPECT_EQ(use_after_unload([](PDRIVER_OBJECT) {}), "");
}

} // namespace
