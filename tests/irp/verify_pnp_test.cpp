// Rules about Plug and Play and power requests, one violation and one correct use each.
#include "breaking_pnp_driver.hpp"
#include "verified.hpp"

#include <string_view>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::sim_machine;

std::string_view broken;

std::vector<reported_finding> findings_with(std::string_view rule, bool surprise = true) {
    broken = rule;
    return found_in([&](sim_machine&) {
        breaking_pnp_driver::play([](std::string_view each) { return each == broken; }, surprise);
    });
}

bool has(const std::vector<reported_finding>& found, const std::string& rule, ULONG code,
         ULONG_PTR id) {
    return !found.empty() && is({found.front()}, rule, code, id);
}

void expect_nothing() {
    for (const bool surprise : {true, false})
        EXPECT_TRUE(nothing(findings_with("", surprise)));
}

TEST(PnpIrpCompletion, Broken_IsReported) {
    EXPECT_TRUE(has(findings_with("PnpIrpCompletion"), "PnpIrpCompletion", io_violation, 0x22E));
    EXPECT_TRUE(has(findings_with("PnpIrpCompletion2"), "PnpIrpCompletion", io_violation, 0x22F));
}
TEST(PnpIrpCompletion, Kept_IsNotReported) { expect_nothing(); }

TEST(PowerIrpCompletion, Broken_IsReported) {
    for (const char* form : {"PowerIrpCompletion", "PowerIrpCompletion2"})
        EXPECT_TRUE(has(findings_with(form), "PowerIrpCompletion", violation, 0x49521029));
}
TEST(PowerIrpCompletion, Kept_IsNotReported) { expect_nothing(); }

TEST(PnpRemove, Broken_IsReported) {
    EXPECT_TRUE(has(findings_with("PnpRemove"), "PnpRemove", violation, 0x00043006));
}
TEST(PnpRemove, Kept_IsNotReported) { expect_nothing(); }

TEST(PnpSurpriseRemove, Broken_IsReported) {
    EXPECT_TRUE(has(findings_with("PnpSurpriseRemove"), "PnpSurpriseRemove", io_violation, 0x241));
}
TEST(PnpSurpriseRemove, Kept_IsNotReported) { expect_nothing(); }

TEST(PnpFailedIrpForwarded, Broken_IsReported) {
    EXPECT_TRUE(has(findings_with("PnpFailedIrpForwarded", false), "PnpFailedIrpForwarded",
                    io_violation, 0x215));
}
TEST(PnpFailedIrpForwarded, Kept_IsNotReported) { expect_nothing(); }

TEST(PnpStatusChanged, Broken_IsReported) {
    EXPECT_TRUE(has(findings_with("PnpStatusChanged"), "PnpStatusChanged", io_violation, 0x213));
}
TEST(PnpStatusChanged, Kept_IsNotReported) { expect_nothing(); }

TEST(DeviceInitializing, Broken_IsReported) {
    EXPECT_TRUE(
        has(findings_with("DeviceInitializing"), "DeviceInitializing", io_violation, 0x243));
}
TEST(DeviceInitializing, Kept_IsNotReported) { expect_nothing(); }

TEST(RemovedDeviceDeleted, Broken_IsReported) {
    EXPECT_TRUE(
        has(findings_with("RemovedDeviceDeleted"), "RemovedDeviceDeleted", io_violation, 0x21E));
}
TEST(RemovedDeviceDeleted, Kept_IsNotReported) { expect_nothing(); }

} // namespace
