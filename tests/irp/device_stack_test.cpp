// Devices below and beside a device, and what clients attach to its driver object.
#include <irp/testing/driver.h>
#include <irp/wdm.h>

#include <gtest/gtest.h>

namespace {

TEST(DeviceStacks, LowerDevices_AreReferenced) {
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* below = nullptr;
    DEVICE_OBJECT* above = nullptr;
    for (DEVICE_OBJECT** each : {&below, &above})
        ASSERT_EQ(IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, each),
                  STATUS_SUCCESS);
    DEVICE_OBJECT* lower = nullptr;
    EXPECT_EQ(IoAttachDeviceToDeviceStackSafe(above, below, &lower), STATUS_SUCCESS);
    EXPECT_EQ(lower, below);
    EXPECT_EQ(IoGetLowerDeviceObject(below), nullptr);
    EXPECT_EQ(IoGetLowerDeviceObject(above), below);
    EXPECT_EQ(IoGetDeviceAttachmentBaseRef(above), below);
    EXPECT_EQ(below->Header.ReferenceCount, 3);
    DEVICE_OBJECT* devices[2];
    ULONG count = 0;
    EXPECT_EQ(IoEnumerateDeviceObjectList(&driver, devices, sizeof devices[0], &count),
              STATUS_BUFFER_TOO_SMALL);
    EXPECT_EQ(count, 2u);
    ObDereferenceObject(devices[0]);
    EXPECT_EQ(IoEnumerateDeviceObjectList(&driver, devices, sizeof devices, &count),
              STATUS_SUCCESS);
    for (DEVICE_OBJECT* each : {devices[0], devices[1], below, below})
        ObDereferenceObject(each);
    IoDetachDevice(below);
    IoDeleteDevice(above);
    EXPECT_EQ(below->Header.ReferenceCount, 1);
    IoDeleteDevice(below);
}

TEST(DriverExtensions, AreTheClientsAndZeroed) {
    DRIVER_OBJECT driver{};
    int first = 0;
    int second = 0;
    PVOID memory = nullptr;
    EXPECT_EQ(IoAllocateDriverObjectExtension(&driver, &first, 64, &memory), STATUS_SUCCESS);
    EXPECT_EQ(static_cast<char*>(memory)[63], 0);
    EXPECT_EQ(IoGetDriverObjectExtension(&driver, &first), memory);
    EXPECT_EQ(IoGetDriverObjectExtension(&driver, &second), nullptr);
    EXPECT_EQ(IoAllocateDriverObjectExtension(&driver, &first, 64, &memory),
              STATUS_OBJECT_NAME_COLLISION);
    EXPECT_EQ(IoAllocateDriverObjectExtension(&driver, &second, 64, &memory), STATUS_SUCCESS);
}

NTSTATUS entry(PDRIVER_OBJECT driver, PUNICODE_STRING) {
    driver->DriverUnload = [](PDRIVER_OBJECT) {};
    return STATUS_SUCCESS;
}

TEST(DriverExtensions, EndWithTheirDriver) {
    WCHAR text[] = {'E', 'x'};
    UNICODE_STRING name{sizeof text, sizeof text, text};
    DRIVER_OBJECT* driver = nullptr;
    ASSERT_EQ(IrpLoadDriver(entry, &name, &driver), STATUS_SUCCESS);
    int client = 0;
    PVOID memory = nullptr;
    EXPECT_EQ(IoAllocateDriverObjectExtension(driver, &client, 64, &memory), STATUS_SUCCESS);
    EXPECT_EQ(IrpUnloadDriver(driver), STATUS_SUCCESS);
    EXPECT_EQ(IoGetDriverObjectExtension(driver, &client), nullptr);
}

} // namespace
