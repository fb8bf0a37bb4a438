// Entries of the error log.
#include <gtest/gtest.h>
#include <ntifs.h>

namespace {

TEST(ErrorLog, Entry_IsWrittenOrFreed) {
    DRIVER_OBJECT driver{};
    RtlInitUnicodeString(&driver.DriverName, L"\\Driver\\Log");
    EXPECT_EQ(IoAllocateErrorLogEntry(&driver, sizeof(IO_ERROR_LOG_PACKET) - 1), nullptr);
    EXPECT_EQ(IoAllocateErrorLogEntry(&driver, ERROR_LOG_MAXIMUM_SIZE + 1), nullptr);
    auto* const written = static_cast<IO_ERROR_LOG_PACKET*>(
        IoAllocateErrorLogEntry(&driver, sizeof(IO_ERROR_LOG_PACKET)));
    ASSERT_NE(written, nullptr);
    written->ErrorCode = static_cast<NTSTATUS>(0xC0040009);
    written->UniqueErrorValue = 7;
    testing::internal::CaptureStderr();
    IoWriteErrorLogEntry(written);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "\\Driver\\Log: error log entry 0xc0040009, final status 0x00000000, "
              "unique value 7\n");
    IoFreeErrorLogEntry(IoAllocateErrorLogEntry(&driver, ERROR_LOG_MAXIMUM_SIZE));
}

} // namespace
