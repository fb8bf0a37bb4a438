// The value of IRPVERBS_HCA, and statuses as error numbers.
#include <location.hpp>

#include <ci/support/host_of_hca.hpp>
#include <drop_in/devices.hpp>

#include <gmock/gmock.h>

#include <cerrno>

namespace {

using namespace irpverbs::drop_in;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(DropInLocation, UriAlone_NamesNoHost) {
    EXPECT_EQ(parse_location("software:fabric.net").uri, "software:fabric.net");
    EXPECT_THAT(parse_location("software:").hosts, IsEmpty());
}

TEST(DropInLocation, HostSuffix_IsSeparatedFromTheUri) {
    EXPECT_EQ(parse_location("software:?host=host2").uri, "software:");
    EXPECT_THAT(parse_location("software:?host=host2").hosts, ElementsAre("host2"));
    EXPECT_THAT(parse_location("user:/run/a?host=a b,c").hosts, ElementsAre("a b", "c"));
}

TEST(DropInLocation, SocketOfADaemon_StandsInTheUri) {
    EXPECT_EQ(socket_of("user:/run/a?host=b"), "/run/a");
    EXPECT_EQ(socket_of("user:/run/a"), "/run/a");
    EXPECT_EQ(socket_of("user:?host=b"), socket_of("user:"));
    EXPECT_NE(socket_of("user:"), "");
    EXPECT_EQ(socket_of("software:user:"), "");
    EXPECT_EQ(socket_of("roce:eth0"), "");
}

TEST(DropInLocation, OneHostOfADaemon_IsAttachedAlone) {
    EXPECT_EQ(parse_location("user:/run/a?host=b").uri, "user:/run/a?host=b");
    EXPECT_THAT(parse_location("user:/run/a?host=b").hosts, ElementsAre("b"));
    EXPECT_EQ(parse_location("user:/run/a?host=b,c").uri, "user:/run/a");
    EXPECT_EQ(parse_location("user:/run/a?host=b?static").uri, "user:/run/a?static");
}

TEST(DropInLocation, OtherSuffixes_StayInTheUri) {
    EXPECT_EQ(parse_location("software:x?unmanaged?host=a").uri, "software:x?unmanaged");
    EXPECT_EQ(parse_location("software:x?host=a?unmanaged").uri, "software:x?unmanaged");
    EXPECT_THAT(parse_location("software:x?host=a?unmanaged").hosts, ElementsAre("a"));
}

TEST(DropInLocation, EmptyNames_AreNoHosts) {
    EXPECT_THAT(parse_location("software:?host=").hosts, IsEmpty());
    EXPECT_THAT(parse_location("software:?host=,a,,b,").hosts, ElementsAre("a", "b"));
}

TEST(DropInLocation, Host_IsTheFirstWordOfAnHcasName) {
    EXPECT_TRUE(irpverbs::ci::belongs_to_host("host1", "host1"));
    EXPECT_TRUE(irpverbs::ci::belongs_to_host("host1 HCA-2", "host1"));
    EXPECT_FALSE(irpverbs::ci::belongs_to_host("host10", "host1"));
    EXPECT_FALSE(irpverbs::ci::belongs_to_host("host", "host1"));
}

TEST(DropInErrors, Statuses_AreTheKernelsErrorNumbers) {
    EXPECT_EQ(error_of(STATUS_SUCCESS), 0);
    EXPECT_EQ(error_of(STATUS_INVALID_PARAMETER), EINVAL);
    EXPECT_EQ(error_of(STATUS_SHARING_VIOLATION), EBUSY);
    EXPECT_EQ(error_of(STATUS_INSUFFICIENT_RESOURCES), ENOMEM);
    EXPECT_EQ(error_of(STATUS_NOT_SUPPORTED), EOPNOTSUPP);
    EXPECT_EQ(error_of(STATUS_NO_SUCH_DEVICE), ENODEV);
    EXPECT_EQ(error_of(STATUS_FILE_FORCED_CLOSED), EIO);
}

} // namespace
