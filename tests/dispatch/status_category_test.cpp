#include <dispatch/status.hpp>

#include <gtest/gtest.h>

namespace {

using namespace irpverbs::dispatch;
namespace errc = boost::system::errc;

boost::system::error_code code_of(NTSTATUS status) { return {status, status_category()}; }

TEST(StatusCategory, Message_EqualsStatusMeaning) {
    EXPECT_STREQ(status_category().name(), "ntstatus");
    EXPECT_EQ(code_of(STATUS_CANCELLED).message(), NtStatusMeaning(STATUS_CANCELLED));
    EXPECT_EQ(code_of(static_cast<NTSTATUS>(0xc0123456u)).message(), "NTSTATUS 0xC0123456");
}

TEST(StatusCategory, Failed_AgreesWithNtSuccess) {
    EXPECT_FALSE(code_of(STATUS_SUCCESS).failed());
    EXPECT_FALSE(code_of(STATUS_TIMEOUT).failed());
    EXPECT_TRUE(code_of(STATUS_BUFFER_OVERFLOW).failed());
    EXPECT_TRUE(code_of(STATUS_UNSUCCESSFUL).failed());
}

TEST(StatusCategory, StatusWithPosixCounterpart_EqualsErrc) {
    EXPECT_EQ(code_of(STATUS_CANCELLED), errc::operation_canceled);
    EXPECT_EQ(code_of(STATUS_REQUEST_CANCELED), errc::operation_canceled);
    EXPECT_EQ(code_of(STATUS_IO_TIMEOUT), errc::timed_out);
    EXPECT_NE(code_of(STATUS_UNSUCCESSFUL), errc::io_error);
}

TEST(StatusCategory, ForeignError_MapsToNearestStatus) {
    EXPECT_EQ(status_of(code_of(STATUS_PENDING)), STATUS_PENDING);
    EXPECT_EQ(status_of({}), STATUS_SUCCESS);
    EXPECT_EQ(status_of(make_error_code(errc::operation_canceled)), STATUS_CANCELLED);
    EXPECT_EQ(status_of(make_error_code(errc::not_enough_memory)), STATUS_INSUFFICIENT_RESOURCES);
    EXPECT_EQ(status_of(make_error_code(errc::cross_device_link)), STATUS_UNSUCCESSFUL);
}

} // namespace
