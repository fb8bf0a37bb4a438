// The version that the interface states, and conditions on it.
#include <gtest/gtest.h>
#include <ntifs.h>

namespace {

RTL_OSVERSIONINFOEXW version() {
    RTL_OSVERSIONINFOEXW info{};
    info.dwOSVersionInfoSize = sizeof info;
    EXPECT_EQ(RtlGetVersion(reinterpret_cast<PRTL_OSVERSIONINFOW>(&info)), STATUS_SUCCESS);
    return info;
}

TEST(WindowsVersion, IsTheInterfaces) {
    const RTL_OSVERSIONINFOEXW info = version();
    EXPECT_EQ(info.dwMajorVersion, 10u);
    EXPECT_EQ(info.wProductType, VER_NT_WORKSTATION);
    ULONG major = 0, build = 0;
    EXPECT_FALSE(PsGetVersion(&major, nullptr, &build, nullptr));
    EXPECT_EQ(major, 10u);
    EXPECT_EQ(build, info.dwBuildNumber);
    EXPECT_TRUE(RtlIsNtDdiVersionAvailable(0x06010000));
    EXPECT_FALSE(RtlIsNtDdiVersionAvailable(0x06010100)); // a service pack is no version
    EXPECT_FALSE(RtlIsNtDdiVersionAvailable(0x0b000000));
}

// The short structure ends where the long one goes on.
TEST(WindowsVersion, ShortStructure_IsNotWrittenBeyond) {
    RTL_OSVERSIONINFOEXW info{};
    info.dwOSVersionInfoSize = sizeof(RTL_OSVERSIONINFOW);
    info.wProductType = 77;
    RtlGetVersion(reinterpret_cast<PRTL_OSVERSIONINFOW>(&info));
    EXPECT_EQ(info.wProductType, 77);
}

TEST(WindowsVersion, Conditions_CompareFromTheMajorNumberOn) {
    constexpr ULONG types = VER_MAJORVERSION | VER_MINORVERSION;
    ULONGLONG at_least = 0;
    VER_SET_CONDITION(at_least, VER_MAJORVERSION, VER_GREATER_EQUAL);
    VER_SET_CONDITION(at_least, VER_MINORVERSION, VER_GREATER_EQUAL);
    RTL_OSVERSIONINFOEXW wanted = version();
    EXPECT_EQ(RtlVerifyVersionInfo(&wanted, types, at_least), STATUS_SUCCESS);
    wanted.dwMinorVersion = 1;
    EXPECT_EQ(RtlVerifyVersionInfo(&wanted, types, at_least), STATUS_REVISION_MISMATCH);
    wanted.dwMajorVersion = 6; // 6.1 is older, though its minor number is higher
    EXPECT_EQ(RtlVerifyVersionInfo(&wanted, types, at_least), STATUS_SUCCESS);
    ULONGLONG server = 0;
    VER_SET_CONDITION(server, VER_PRODUCT_TYPE, VER_EQUAL);
    wanted.wProductType = VER_NT_SERVER;
    EXPECT_EQ(RtlVerifyVersionInfo(&wanted, VER_PRODUCT_TYPE, server), STATUS_REVISION_MISMATCH);
    EXPECT_EQ(RtlVerifyVersionInfo(&wanted, 0, server), STATUS_INVALID_PARAMETER);
}

} // namespace
