#include <gtest/gtest.h>
#include <ntddk.h>

#include "small_driver.h"

namespace {

NTSTATUS control(DRIVER_OBJECT& driver, ULONG code, WCHAR* text, ULONG bytes,
                 IO_STATUS_BLOCK& result) {
    KEVENT event;
    KeInitializeEvent(&event, NotificationEvent, FALSE);
    PIRP irp = IoBuildDeviceIoControlRequest(code, driver.DeviceObject, text, bytes, text, bytes,
                                             FALSE, &event, &result);
    return IoCallDriver(driver.DeviceObject, irp);
}

TEST(SmallDriver, Request_IsServedByItsDispatchRoutine) {
    DRIVER_OBJECT driver{};
    UNICODE_STRING path = RTL_CONSTANT_STRING(L"\\Registry\\Small");
    ASSERT_EQ(DriverEntry(&driver, &path), STATUS_SUCCESS);
    EXPECT_EQ(driver.DeviceObject->Characteristics, ULONG{FILE_DEVICE_SECURE_OPEN});
    WCHAR text[] = L"abc";
    IO_STATUS_BLOCK result{};
    EXPECT_EQ(control(driver, IOCTL_SMALL_REVERSE, text, 6, result), STATUS_SUCCESS);
    EXPECT_EQ(result.Information, 6u);
    EXPECT_EQ(text[0], L'c');
    EXPECT_EQ(text[2], L'a');
    driver.DriverUnload(&driver);
}

TEST(SmallDriver, UnknownCode_LeavesTheTryBlockForItsFinallyBlock) {
    DRIVER_OBJECT driver{};
    UNICODE_STRING path = RTL_CONSTANT_STRING(L"\\Registry\\Small");
    ASSERT_EQ(DriverEntry(&driver, &path), STATUS_SUCCESS);
    WCHAR text[] = L"abc";
    IO_STATUS_BLOCK result{};
    EXPECT_EQ(control(driver, 0, text, 6, result), STATUS_INVALID_DEVICE_REQUEST);
    EXPECT_EQ(text[0], L'a');
    driver.DriverUnload(&driver);
}

} // namespace
