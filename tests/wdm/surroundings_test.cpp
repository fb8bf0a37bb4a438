// Questions of a driver about its surroundings.
#include <gtest/gtest.h>
#include <ntifs.h>

namespace {

TEST(WindowsSurroundings, PowerState_IsKeptForTheSystemAndForTheDevice) {
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* device = nullptr;
    ASSERT_EQ(IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device),
              STATUS_SUCCESS);
    POWER_STATE state;
    state.DeviceState = PowerDeviceD3;
    EXPECT_EQ(PoSetPowerState(device, DevicePowerState, state).DeviceState, PowerDeviceUnspecified);
    state.SystemState = PowerSystemSleeping1;
    EXPECT_EQ(PoSetPowerState(device, SystemPowerState, state).SystemState, PowerSystemUnspecified);
    state.DeviceState = PowerDeviceD0;
    EXPECT_EQ(PoSetPowerState(device, DevicePowerState, state).DeviceState, PowerDeviceD3);
    EXPECT_EQ(PoSetPowerState(device, DevicePowerState, state).DeviceState, PowerDeviceD0);
    state.SystemState = PowerSystemWorking;
    EXPECT_EQ(PoSetPowerState(device, SystemPowerState, state).SystemState, PowerSystemSleeping1);
    IoDeleteDevice(device);
}

TEST(WindowsSurroundings, Callers_AreTheKernelsThreads) {
    EXPECT_EQ(ExGetPreviousMode(), KernelMode);
    EXPECT_EQ(PsGetCurrentThreadId(), PsGetThreadId(PsGetCurrentThread()));
    EXPECT_NE(PsGetCurrentProcessId(), nullptr);
    EXPECT_EQ(KeSetPriorityThread(KeGetCurrentThread(), 16), KeQueryPriorityThread(nullptr));
    LARGE_INTEGER before, now;
    KeQuerySystemTime(&before);
    KeQuerySystemTimePrecise(&now);
    EXPECT_GE(now.QuadPart, before.QuadPart);
}

TEST(WindowsSurroundings, WdmVersions_AreThoseUpToVistas) {
    EXPECT_TRUE(IoIsWdmVersionAvailable(1, 0x30));
    EXPECT_TRUE(IoIsWdmVersionAvailable(6, 0));
    EXPECT_FALSE(IoIsWdmVersionAvailable(6, 1));
    EXPECT_FALSE(IoIsWdmVersionAvailable(7, 0));
}

TEST(WindowsSurroundings, ReferenceByPointer_KeepsTheObject) {
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* device = nullptr;
    ASSERT_EQ(IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device),
              STATUS_SUCCESS);
    EXPECT_EQ(ObReferenceObjectByPointer(device, 0, *IoDeviceObjectType, KernelMode),
              STATUS_SUCCESS);
    IoDeleteDevice(device);
    EXPECT_EQ(device->DriverObject, &driver);
    ObDereferenceObject(device);
}

} // namespace
