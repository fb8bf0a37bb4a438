// The HCAs that a program sees through the drop-in libraries. A process attaches them once, so each
// case runs in a child process.
#include <drop_in/devices.hpp>

#include <support/child_process.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>

namespace {

using namespace irpverbs::drop_in;
using irpverbs::testing::in_child;

TEST(DropInDevices, WithoutVariable_NoneWithEnodevAndOneLine) {
    testing::internal::CaptureStderr();
    EXPECT_TRUE(in_child([] {
        unsetenv("IRPVERBS_HCA");
        errno = 0;
        return devices().empty() && errno == ENODEV && devices().empty();
    }));
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "irpverbs: IRPVERBS_HCA is not set; irpctl run -- PROGRAM sets it\n");
}

TEST(DropInDevices, UnknownSchemeFileOrHost_NoneWithItsReason) {
    testing::internal::CaptureStderr();
    for (const char* const uri :
         {"nonsense:", "software:/no/such/file", "software:?host=nowhere"}) {
        setenv("IRPVERBS_HCA", uri, 1);
        EXPECT_TRUE(in_child([] { return devices().empty() && errno == ENODEV; }));
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "irpverbs: no driver of HCAs is named 'nonsense': expected 'roce:' or 'software:'\n"
              "irpverbs: /no/such/file: No such file or directory\n"
              "irpverbs: software:?host=nowhere: no such host\n");
}

TEST(DropInDevices, WithoutHost_TheFirstHca) {
    setenv("IRPVERBS_HCA", "software:", 1);
    EXPECT_TRUE(in_child([] {
        return devices().size() == 1 && devices()[0].host == "host1" &&
               devices()[0].name == "irpverbs0" && devices()[0].fdo != nullptr;
    }));
}

TEST(DropInDevices, NamedHosts_AreNumberedInTheOrderOfAttaching) {
    setenv("IRPVERBS_HCA", "software:?host=host3,host2", 1);
    EXPECT_TRUE(in_child([] {
        return devices().size() == 2 && devices()[0].host == "host2" &&
               find_device("irpverbs1")->host == "host3" && find_device("irpverbs2") == nullptr;
    }));
}

TEST(DropInDevices, ChildOfAFork_HasNone) {
    setenv("IRPVERBS_HCA", "software:", 1);
    EXPECT_TRUE(in_child([] {
        return !is_forked_child() && devices().size() == 1 &&
               in_child([] { return is_forked_child() && devices().empty() && errno == ENODEV; });
    }));
}

TEST(DropInDevices, SubnetManager_GetsTheUriWithoutItsHosts) {
    setenv("IRPVERBS_HCA", "software:?host=host2", 1);
    EXPECT_TRUE(in_child([] {
        static std::string seen;
        set_subnet_manager([](const std::string& uri) { seen = uri; });
        return devices().size() == 1 && seen == "software:";
    }));
}

} // namespace
