// Security identifiers, access control lists and security descriptors.
#include <gtest/gtest.h>
#include <ntifs.h>

#include <cstring>
#include <string>
#include <vector>

namespace {

struct sid_of_test {
    alignas(SID) UCHAR bytes[SECURITY_MAX_SID_SIZE]{};
    sid_of_test(std::initializer_list<ULONG> parts) {
        SID_IDENTIFIER_AUTHORITY authority = SECURITY_NT_AUTHORITY;
        EXPECT_EQ(RtlInitializeSid(bytes, &authority, static_cast<UCHAR>(parts.size())),
                  STATUS_SUCCESS);
        ULONG index = 0;
        for (const ULONG each : parts)
            *RtlSubAuthoritySid(bytes, index++) = each;
    }
    PSID get() { return bytes; }
};

std::u16string text_of(const UNICODE_STRING& text) {
    return {reinterpret_cast<const char16_t*>(text.Buffer), text.Length / sizeof(WCHAR)};
}

TEST(Sid, Parts_AreCountedComparedAndCopied) {
    sid_of_test administrators{32, 0x220};
    sid_of_test system{18};
    EXPECT_EQ(RtlLengthRequiredSid(2), 16u);
    EXPECT_EQ(RtlLengthSid(administrators.get()), 16u);
    EXPECT_FALSE(RtlEqualSid(administrators.get(), system.get()));
    UCHAR copy[16] = {};
    EXPECT_EQ(RtlCopySid(15, copy, administrators.get()), STATUS_BUFFER_TOO_SMALL);
    EXPECT_EQ(copy[0], 0);
    EXPECT_EQ(RtlCopySid(16, copy, administrators.get()), STATUS_SUCCESS);
    EXPECT_TRUE(RtlEqualSid(copy, administrators.get()));
    EXPECT_EQ(*RtlSubAuthorityCountSid(copy), 2);
    EXPECT_EQ(RtlIdentifierAuthoritySid(copy)->Value[5], 5);
}

TEST(Sid, WrongHead_IsNotValid) {
    sid_of_test system{18};
    EXPECT_TRUE(RtlValidSid(system.get()));
    system.bytes[1] = SID_MAX_SUB_AUTHORITIES + 1;
    EXPECT_FALSE(RtlValidSid(system.get()));
    system.bytes[1] = 1;
    system.bytes[0] = 2;
    EXPECT_FALSE(RtlValidSid(system.get()));
    EXPECT_FALSE(RtlValidSid(nullptr));
    SID_IDENTIFIER_AUTHORITY authority = SECURITY_NT_AUTHORITY;
    EXPECT_EQ(RtlInitializeSid(system.get(), &authority, 16), STATUS_INVALID_PARAMETER);
}

TEST(Sid, Text_IsAllocatedOrInTheCallersBuffer) {
    sid_of_test administrators{32, 544};
    UNICODE_STRING text{};
    ASSERT_EQ(RtlConvertSidToUnicodeString(&text, administrators.get(), TRUE), STATUS_SUCCESS);
    EXPECT_EQ(text_of(text), u"S-1-5-32-544");
    EXPECT_EQ(text.MaximumLength, text.Length + sizeof(WCHAR));
    RtlFreeUnicodeString(&text);
    WCHAR buffer[12] = {};
    text = {0, sizeof buffer, buffer};
    EXPECT_EQ(RtlConvertSidToUnicodeString(&text, administrators.get(), FALSE), STATUS_SUCCESS);
    EXPECT_EQ(text_of(text), u"S-1-5-32-544");
    text.MaximumLength -= 2;
    EXPECT_EQ(RtlConvertSidToUnicodeString(&text, administrators.get(), FALSE),
              STATUS_BUFFER_OVERFLOW);
    administrators.bytes[0] = 0;
    EXPECT_EQ(RtlConvertSidToUnicodeString(&text, administrators.get(), TRUE), STATUS_INVALID_SID);
}

TEST(Sid, AuthorityAbove32Bits_IsHexadecimal) {
    sid_of_test sid{12, 72};
    const UCHAR authority[6] = {0, 0x28, 0x65, 0x1f, 0xe8, 0x48};
    memcpy(RtlIdentifierAuthoritySid(sid.get())->Value, authority, sizeof authority);
    UNICODE_STRING text{};
    ASSERT_EQ(RtlConvertSidToUnicodeString(&text, sid.get(), TRUE), STATUS_SUCCESS);
    EXPECT_EQ(text_of(text), u"S-1-0x28651FE848-12-72");
    RtlFreeUnicodeString(&text);
}

struct AccessList : testing::Test {
    alignas(ACL) UCHAR bytes[sizeof(ACL) + 2 * 24] = {};
    PACL list = reinterpret_cast<PACL>(bytes);
    sid_of_test administrators{32, 544};
    sid_of_test system{18};
    void SetUp() override {
        ASSERT_EQ(RtlCreateAcl(list, sizeof bytes, ACL_REVISION), STATUS_SUCCESS);
    }
};

TEST_F(AccessList, Entries_AreAddedUntilTheListIsFull) {
    EXPECT_EQ(RtlAddAccessAllowedAce(list, ACL_REVISION, GENERIC_READ, administrators.get()),
              STATUS_SUCCESS);
    EXPECT_EQ(
        RtlAddAccessAllowedAceEx(list, ACL_REVISION_DS, CONTAINER_INHERIT_ACE, 0x3, system.get()),
        STATUS_SUCCESS);
    EXPECT_EQ(RtlAddAccessAllowedAce(list, ACL_REVISION, GENERIC_READ, system.get()),
              STATUS_ALLOTTED_SPACE_EXCEEDED);
    EXPECT_EQ(list->AceCount, 2);
    EXPECT_EQ(list->AclRevision, ACL_REVISION_DS);
    PVOID found = nullptr;
    ASSERT_EQ(RtlGetAce(list, 1, &found), STATUS_SUCCESS);
    auto* entry = static_cast<ACCESS_ALLOWED_ACE*>(found);
    EXPECT_EQ(entry->Mask, 0x3u);
    EXPECT_EQ(entry->Header.AceFlags, CONTAINER_INHERIT_ACE);
    EXPECT_EQ(entry->Header.AceSize, 20);
    EXPECT_TRUE(RtlEqualSid(&entry->SidStart, system.get()));
    EXPECT_EQ(RtlGetAce(list, 2, &found), STATUS_INVALID_PARAMETER);
}

TEST_F(AccessList, WrongArguments_AreRefused) {
    EXPECT_EQ(RtlCreateAcl(list, sizeof(ACL) - 1, ACL_REVISION), STATUS_BUFFER_TOO_SMALL);
    EXPECT_EQ(RtlCreateAcl(list, 64, 5), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(RtlCreateAcl(list, 65536, ACL_REVISION), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(RtlAddAccessAllowedAce(list, 5, 1, system.get()), STATUS_REVISION_MISMATCH);
    EXPECT_EQ(RtlAddAccessAllowedAceEx(list, ACL_REVISION, 0x80, 1, system.get()),
              STATUS_INVALID_PARAMETER);
    list->AclRevision = 1;
    EXPECT_EQ(RtlAddAccessAllowedAce(list, ACL_REVISION, 1, system.get()), STATUS_INVALID_ACL);
    system.bytes[0] = 0;
    EXPECT_EQ(RtlAddAccessAllowedAce(list, ACL_REVISION, 1, system.get()), STATUS_INVALID_SID);
}

TEST_F(AccessList, EntryBehindTheEnd_IsNotValid) {
    ASSERT_EQ(RtlAddAccessAllowedAce(list, ACL_REVISION, 1, administrators.get()), STATUS_SUCCESS);
    EXPECT_TRUE(RtlValidAcl(list));
    PVOID found = nullptr;
    ASSERT_EQ(RtlGetAce(list, 0, &found), STATUS_SUCCESS);
    auto* head = static_cast<ACE_HEADER*>(found);
    head->AceSize = 20; // the SID has four bytes more
    EXPECT_FALSE(RtlValidAcl(list));
    head->AceSize = 512;
    EXPECT_FALSE(RtlValidAcl(list));
    EXPECT_EQ(RtlGetAce(list, 0, &found), STATUS_INVALID_PARAMETER);
    head->AceSize = 0;
    EXPECT_FALSE(RtlValidAcl(list));
}

struct SecurityDescriptor : AccessList {
    SECURITY_DESCRIPTOR absolute{};
    void SetUp() override {
        AccessList::SetUp();
        ASSERT_EQ(RtlCreateSecurityDescriptor(&absolute, SECURITY_DESCRIPTOR_REVISION),
                  STATUS_SUCCESS);
    }
    std::vector<ULONG> self_relative() {
        ULONG length = 0;
        EXPECT_EQ(RtlAbsoluteToSelfRelativeSD(&absolute, nullptr, &length),
                  STATUS_BUFFER_TOO_SMALL);
        std::vector<ULONG> made(length / sizeof(ULONG));
        EXPECT_EQ(RtlAbsoluteToSelfRelativeSD(&absolute, made.data(), &length), STATUS_SUCCESS);
        return made;
    }
};

TEST_F(SecurityDescriptor, AbsentList_LeavesTheResultAlone) {
    BOOLEAN present = TRUE, defaulted = TRUE;
    PACL found = list;
    EXPECT_EQ(RtlGetDaclSecurityDescriptor(&absolute, &present, &found, &defaulted),
              STATUS_SUCCESS);
    EXPECT_FALSE(present);
    EXPECT_EQ(found, list);
    EXPECT_EQ(RtlSetDaclSecurityDescriptor(&absolute, TRUE, nullptr, FALSE), STATUS_SUCCESS);
    EXPECT_EQ(RtlGetDaclSecurityDescriptor(&absolute, &present, &found, &defaulted),
              STATUS_SUCCESS);
    EXPECT_TRUE(present);
    EXPECT_EQ(found, nullptr);
    EXPECT_FALSE(defaulted);
}

TEST_F(SecurityDescriptor, SelfRelativeForm_HasAllParts) {
    ASSERT_EQ(RtlAddAccessAllowedAce(list, ACL_REVISION, GENERIC_ALL, system.get()),
              STATUS_SUCCESS);
    ASSERT_EQ(RtlSetDaclSecurityDescriptor(&absolute, TRUE, list, TRUE), STATUS_SUCCESS);
    ASSERT_EQ(RtlSetOwnerSecurityDescriptor(&absolute, administrators.get(), FALSE),
              STATUS_SUCCESS);
    EXPECT_TRUE(RtlValidSecurityDescriptor(&absolute));
    std::vector<ULONG> made = self_relative();
    EXPECT_EQ(made.size() * sizeof(ULONG), 20u + sizeof bytes + 16);
    EXPECT_EQ(RtlLengthSecurityDescriptor(made.data()), 20u + sizeof bytes + 16);
    BOOLEAN present = FALSE, defaulted = FALSE;
    PACL found = nullptr;
    ASSERT_EQ(RtlGetDaclSecurityDescriptor(made.data(), &present, &found, &defaulted),
              STATUS_SUCCESS);
    EXPECT_TRUE(present && defaulted);
    EXPECT_EQ(memcmp(found, list, sizeof bytes), 0);
    PSID owner = nullptr;
    ASSERT_EQ(RtlGetOwnerSecurityDescriptor(made.data(), &owner, &defaulted), STATUS_SUCCESS);
    EXPECT_TRUE(RtlEqualSid(owner, administrators.get()));
    EXPECT_TRUE(RtlValidSecurityDescriptor(made.data()));
    EXPECT_EQ(RtlSetDaclSecurityDescriptor(made.data(), FALSE, nullptr, FALSE),
              STATUS_INVALID_SECURITY_DESCR);
    ULONG length = 0;
    EXPECT_EQ(RtlAbsoluteToSelfRelativeSD(made.data(), nullptr, &length),
              STATUS_BAD_DESCRIPTOR_FORMAT);
}

TEST_F(SecurityDescriptor, RelativeForm_IsValidWithinItsLengthOnly) {
    ASSERT_EQ(RtlSetDaclSecurityDescriptor(&absolute, TRUE, list, FALSE), STATUS_SUCCESS);
    std::vector<ULONG> made = self_relative();
    const auto length = static_cast<ULONG>(made.size() * sizeof(ULONG));
    EXPECT_TRUE(SeValidSecurityDescriptor(length, made.data()));
    EXPECT_FALSE(SeValidSecurityDescriptor(length - 1, made.data()));
    EXPECT_TRUE(RtlValidRelativeSecurityDescriptor(made.data(), length, DACL_SECURITY_INFORMATION));
    EXPECT_FALSE(
        RtlValidRelativeSecurityDescriptor(made.data(), length, OWNER_SECURITY_INFORMATION));
    EXPECT_FALSE(SeValidSecurityDescriptor(sizeof absolute, &absolute));
    auto* head = reinterpret_cast<SECURITY_DESCRIPTOR_RELATIVE*>(made.data());
    head->Owner = length;
    EXPECT_FALSE(SeValidSecurityDescriptor(length, made.data()));
    head->Owner = 4; // within the head
    EXPECT_FALSE(SeValidSecurityDescriptor(length, made.data()));
}

TEST_F(SecurityDescriptor, UnknownRevision_IsRefused) {
    EXPECT_EQ(RtlCreateSecurityDescriptor(&absolute, 2), STATUS_UNKNOWN_REVISION);
    absolute.Revision = 2;
    EXPECT_FALSE(RtlValidSecurityDescriptor(&absolute));
    EXPECT_EQ(RtlSetOwnerSecurityDescriptor(&absolute, nullptr, FALSE), STATUS_UNKNOWN_REVISION);
}

} // namespace
