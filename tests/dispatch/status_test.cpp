#include <dispatch/status.hpp>

#include <boost/asio/error.hpp>

#include <gtest/gtest.h>

namespace {

namespace errc = boost::system::errc;
using irpverbs::dispatch::make_error_code;
using irpverbs::dispatch::status_error;
using irpverbs::dispatch::status_of;

// Tests that an error_code is an error exactly when the status fails, and that it keeps the status.
TEST(StatusErrorCode, ErrorCode_IsErrorUnlessStatusIsSuccess) {
    EXPECT_FALSE(make_error_code(STATUS_SUCCESS));
    EXPECT_FALSE(make_error_code(STATUS_PENDING));
    EXPECT_TRUE(make_error_code(STATUS_BUFFER_OVERFLOW));
    EXPECT_TRUE(make_error_code(STATUS_CANCELLED));
    EXPECT_EQ(status_of(make_error_code(STATUS_PENDING)), STATUS_PENDING);
}

// Tests that statuses equal their standard conditions, and that other errors map to statuses.
TEST(StatusErrorCode, StatusAndErrc_MapToEachOther) {
    EXPECT_EQ(make_error_code(STATUS_CANCELLED), errc::operation_canceled);
    EXPECT_EQ(make_error_code(STATUS_IO_TIMEOUT), errc::timed_out);
    EXPECT_NE(make_error_code(STATUS_IO_TIMEOUT), errc::operation_canceled);
    EXPECT_EQ(status_of(boost::asio::error::operation_aborted), STATUS_CANCELLED);
    EXPECT_EQ(status_of(errc::make_error_code(errc::filename_too_long)), STATUS_UNSUCCESSFUL);
    EXPECT_EQ(status_of({}), STATUS_SUCCESS);
}

// Tests that a message describes the status, or at least contains its value.
TEST(StatusErrorCode, UnknownStatus_MessageContainsValue) {
    EXPECT_EQ(make_error_code(STATUS_CANCELLED).message(), "The request was cancelled.");
    EXPECT_EQ(make_error_code(NTSTATUS(0xC0FFFFFF)).message(), "NTSTATUS 0xC0FFFFFF");
}

// Tests that a status that was thrown can be read from the exception.
TEST(StatusErrorCode, ThrownStatus_IsReadFromException) {
    try {
        throw status_error(STATUS_RETRY, "asked too early");
    } catch (const boost::system::system_error& thrown) {
        EXPECT_EQ(status_of(thrown.code()), STATUS_RETRY);
        EXPECT_EQ(std::string(thrown.what()).find("asked too early"), 0u);
    }
}

} // namespace
