// Drivers, devices, and stacks of devices.
#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/irp_stack.hpp>

namespace {

using namespace irpverbs::testing;

class Device : public BothMachines {};

TEST_P(Device, NewDeviceHasItsFields) {
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* device = nullptr;
    EXPECT_EQ(IoCreateDevice(&driver, 40, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device),
              STATUS_SUCCESS);
    EXPECT_EQ(device->DriverObject, &driver);
    EXPECT_EQ(device->DeviceType, ULONG{FILE_DEVICE_UNKNOWN});
    EXPECT_EQ(device->StackSize, 1);
    EXPECT_EQ(device->AttachedDevice, nullptr);
    EXPECT_EQ(device->CurrentIrp, nullptr);
    EXPECT_FALSE(device->DeviceQueue.Busy);
    EXPECT_TRUE(device->Flags & DO_DEVICE_INITIALIZING);
    const auto* extension = static_cast<const char*>(device->DeviceExtension);
    for (int i = 0; i < 40; ++i)
        EXPECT_EQ(extension[i], 0);
    EXPECT_EQ(reinterpret_cast<ULONG_PTR>(extension) % 16, 0u);
    IoDeleteDevice(device);
}

TEST_P(Device, DriverListsItsDevices) {
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* devices[3] = {};
    for (DEVICE_OBJECT*& each : devices)
        IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &each);
    EXPECT_EQ(driver.DeviceObject, devices[2]);
    EXPECT_EQ(devices[2]->NextDevice, devices[1]);
    IoDeleteDevice(devices[1]);
    EXPECT_EQ(devices[2]->NextDevice, devices[0]);
    IoDeleteDevice(devices[2]);
    IoDeleteDevice(devices[0]);
    EXPECT_EQ(driver.DeviceObject, nullptr);
}

TEST_P(Device, AttachGoesOnTopOfTheStack) {
    test_driver bottom(complete_at_once);
    test_driver middle(pass_on, bottom);
    test_driver top(pass_on);
    EXPECT_EQ(IoAttachDeviceToDeviceStack(top.device, bottom.device), middle.device);
    EXPECT_EQ(top.device->StackSize, 3);
    EXPECT_EQ(top.device->AttachedTo, middle.device);
    EXPECT_EQ(middle.device->AttachedDevice, top.device);
    EXPECT_EQ(IoGetAttachedDevice(bottom.device), top.device);
    EXPECT_EQ(IoGetAttachedDevice(top.device), top.device);
    outcome result;
    IRP* irp = request(top.device, result);
    EXPECT_EQ(IoCallDriver(top.device, irp), STATUS_SUCCESS);
    EXPECT_EQ(result.completions, 1);
    IoFreeIrp(irp);
}

TEST_P(Device, DetachTakesOffWhatIsAbove) {
    test_driver bottom(complete_at_once);
    test_driver top(pass_on, bottom);
    IoDetachDevice(bottom.device);
    EXPECT_EQ(IoGetAttachedDevice(bottom.device), bottom.device);
    EXPECT_EQ(top.device->AttachedTo, nullptr);
    EXPECT_EQ(IoAttachDeviceToDeviceStack(top.device, bottom.device), bottom.device);
}

TEST_P(Device, ReferenceToTheTopKeepsIt) {
    test_driver bottom(complete_at_once);
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* top = nullptr;
    IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &top);
    IoAttachDeviceToDeviceStack(top, bottom.device);
    EXPECT_EQ(IoGetAttachedDeviceReference(bottom.device), top);
    IoDetachDevice(bottom.device);
    IoDeleteDevice(top);
    EXPECT_EQ(top->ReferenceCount, 1); // still there
    IoDereferenceDevice(top);
}

TEST_P(Device, NothingAttachesToADeletedDevice) {
    test_driver top(pass_on);
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* gone = nullptr;
    IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &gone);
    IoReferenceDevice(gone);
    IoDeleteDevice(gone);
    EXPECT_EQ(IoAttachDeviceToDeviceStack(top.device, gone), nullptr);
    IoDereferenceDevice(gone);
}

TEST_P(Device, EachMisuseIsReported) {
    test_driver bottom(complete_at_once);
    test_driver top(pass_on, bottom);
    auto report = report_of([&] { IoDeleteDevice(bottom.device); });
    ASSERT_TRUE(report);
    EXPECT_EQ(report->code, DRIVER_VERIFIER_IOMANAGER_VIOLATION);
    EXPECT_EQ(report->id, 0x201u);
    report = report_of([&] { IoDetachDevice(top.device); });
    ASSERT_TRUE(report);
    EXPECT_EQ(report->id, 0x220u);
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* twice = nullptr;
    IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &twice);
    IoReferenceDevice(twice);
    IoDeleteDevice(twice);
    report = report_of([&] { IoDeleteDevice(twice); });
    ASSERT_TRUE(report);
    EXPECT_EQ(report->id, 0x202u);
    IoDereferenceDevice(twice);
}

IRPVERBS_ON_BOTH_MACHINES(Device);

} // namespace
