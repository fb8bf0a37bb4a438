#include <dispatch/ntstatus.h>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace {

struct entry {
    NTSTATUS value;
    const char* name;
    const char* meaning;
};

constexpr entry all[] = {
#define IRPVERBS_X_STATUS(name, value, meaning) {static_cast<NTSTATUS>(value##u), #name, meaning},
#include <dispatch/ntstatus.def>
#undef IRPVERBS_X_STATUS
};

TEST(NtStatus, EveryListedCode_HasNameAndMeaning) {
    for (const entry& each : all) {
        EXPECT_STREQ(NtStatusName(each.value), each.name);
        EXPECT_STREQ(NtStatusMeaning(each.value), each.meaning);
    }
}

TEST(NtStatus, ListedCodes_AreDistinct) {
    std::set<NTSTATUS> values;
    for (const entry& each : all)
        EXPECT_TRUE(values.insert(each.value).second) << each.name;
}

TEST(NtStatus, UnknownCode_HasNoNameOrMeaning) {
    EXPECT_EQ(NtStatusName(0x12345678), nullptr);
    EXPECT_EQ(NtStatusMeaning(0x12345678), nullptr);
}

// [MS-ERREF] 2.3: bits 31 and 30 distinguish success, information, warning and error.
TEST(NtStatus, TopTwoBits_SelectCategory) {
    const auto status = [](ULONG bits) { return static_cast<NTSTATUS>(bits); };
    for (const ULONG bits : {0u, 0x103u, 0x3fffffffu}) {
        EXPECT_TRUE(NT_SUCCESS(status(bits)));
        EXPECT_FALSE(NT_INFORMATION(status(bits)) || NT_WARNING(status(bits)) ||
                     NT_ERROR(status(bits)));
    }
    for (const ULONG bits : {0x40000000u, 0x7fffffffu}) {
        EXPECT_TRUE(NT_SUCCESS(status(bits)) && NT_INFORMATION(status(bits)));
        EXPECT_FALSE(NT_WARNING(status(bits)) || NT_ERROR(status(bits)));
    }
    for (const ULONG bits : {0x80000000u, 0xbfffffffu}) {
        EXPECT_TRUE(NT_WARNING(status(bits)));
        EXPECT_FALSE(NT_SUCCESS(status(bits)) || NT_ERROR(status(bits)));
    }
    for (const ULONG bits : {0xc0000000u, 0xffffffffu}) {
        EXPECT_TRUE(NT_ERROR(status(bits)));
        EXPECT_FALSE(NT_SUCCESS(status(bits)) || NT_WARNING(status(bits)));
    }
}

TEST(NtStatus, KnownCodes_HaveExpectedCategory) {
    EXPECT_TRUE(NT_SUCCESS(STATUS_PENDING));
    EXPECT_TRUE(NT_SUCCESS(STATUS_TIMEOUT));
    EXPECT_TRUE(NT_WARNING(STATUS_BUFFER_OVERFLOW));
    EXPECT_TRUE(NT_ERROR(STATUS_CANCELLED));
    EXPECT_EQ(STATUS_WAIT_0, STATUS_SUCCESS);
    EXPECT_EQ(STATUS_WAIT_63 - STATUS_WAIT_0, 63);
}

} // namespace
