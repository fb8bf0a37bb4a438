// ntstrsafe.h's functions for counted strings.
#include <gtest/gtest.h>
#include <ntddk.h>
#include <ntstrsafe.h>

#include <string>
#include <vector>

namespace {

struct SafeUnicodeString : testing::Test {
    WCHAR buffer[6] = {'-', '-', '-', '-', '-', '-'};
    UNICODE_STRING to{0, 5 * sizeof(WCHAR), buffer};
    UNICODE_STRING from{};
    PUNICODE_STRING source(PCWSTR text) {
        EXPECT_EQ(RtlUnicodeStringInit(&from, text), STATUS_SUCCESS);
        return &from;
    }
    std::u16string text() const {
        return {reinterpret_cast<const char16_t*>(to.Buffer), to.Length / sizeof(WCHAR)};
    }
};

TEST_F(SafeUnicodeString, Copy_FillsTheDestinationAndSaysThatItCut) {
    EXPECT_EQ(RtlUnicodeStringCopy(&to, source(L"abcde")), STATUS_SUCCESS);
    EXPECT_EQ(text(), u"abcde");
    EXPECT_EQ(RtlUnicodeStringCopyString(&to, L"uvwxyz"), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(text(), u"uvwxy");
    EXPECT_EQ(buffer[5], '-');
    EXPECT_EQ(to.MaximumLength, 10);
    EXPECT_EQ(RtlUnicodeStringCopyString(&to, L""), STATUS_SUCCESS);
    EXPECT_EQ(to.Length, 0);
}

TEST_F(SafeUnicodeString, Cat_ContinuesBehindTheLength) {
    EXPECT_EQ(RtlUnicodeStringCatString(&to, L"ab"), STATUS_SUCCESS);
    EXPECT_EQ(RtlUnicodeStringCat(&to, source(L"cd")), STATUS_SUCCESS);
    EXPECT_EQ(text(), u"abcd");
    EXPECT_EQ(RtlUnicodeStringCatString(&to, L"ef"), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(text(), u"abcde");
}

TEST_F(SafeUnicodeString, CountedForms_TakeNoMoreThanTheirLimit) {
    EXPECT_EQ(RtlUnicodeStringCchCopyN(&to, source(L"abcdef"), 3), STATUS_SUCCESS);
    EXPECT_EQ(text(), u"abc");
    EXPECT_EQ(RtlUnicodeStringCbCatStringN(&to, L"xyz", 2), STATUS_SUCCESS);
    EXPECT_EQ(text(), u"abcx");
    EXPECT_EQ(RtlUnicodeStringCbCopyStringN(&to, L"12345678", 12), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(RtlUnicodeStringCchCatN(&to, source(L"9"), 1), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(text(), u"12345");
}

TEST_F(SafeUnicodeString, Print_IsCutAtTheMaximumLength) {
    EXPECT_EQ(RtlUnicodeStringPrintf(&to, L"%d-%ws", 12, L"ab"), STATUS_SUCCESS);
    EXPECT_EQ(text(), u"12-ab");
    EXPECT_EQ(RtlUnicodeStringPrintf(&to, L"%d", 1234567), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(text(), u"12345");
    EXPECT_EQ(buffer[5], '-');
    EXPECT_EQ(RtlUnicodeStringPrintf(&to, L"%d", 7), STATUS_SUCCESS);
    EXPECT_EQ(text(), u"7");
}

TEST_F(SafeUnicodeString, WrongStrings_AreRefused) {
    EXPECT_EQ(RtlUnicodeStringValidate(nullptr), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(RtlUnicodeStringCopy(&to, nullptr), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(RtlUnicodeStringCopyString(nullptr, L"a"), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(RtlUnicodeStringCatString(&to, nullptr), STATUS_INVALID_PARAMETER);
    to.Length = 12; // above the maximum
    EXPECT_EQ(RtlUnicodeStringCatString(&to, L"a"), STATUS_INVALID_PARAMETER);
    to.Length = 3;
    EXPECT_EQ(RtlUnicodeStringPrintf(&to, L"a"), STATUS_INVALID_PARAMETER);
    to = {0, 2, nullptr};
    EXPECT_EQ(RtlUnicodeStringValidate(&to), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(buffer[0], '-');
}

TEST_F(SafeUnicodeString, EmptyDestination_TakesNothing) {
    to = {};
    EXPECT_EQ(RtlUnicodeStringValidate(&to), STATUS_SUCCESS);
    EXPECT_EQ(RtlUnicodeStringCopyString(&to, L""), STATUS_SUCCESS);
    EXPECT_EQ(RtlUnicodeStringCopyString(&to, L"a"), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(RtlUnicodeStringPrintf(&to, L"a"), STATUS_BUFFER_OVERFLOW);
}

TEST_F(SafeUnicodeString, Init_CountsUpToTheLongestString) {
    std::vector<WCHAR> text(32768, 'x');
    text.back() = 0;
    EXPECT_EQ(RtlUnicodeStringInit(&to, text.data()), STATUS_SUCCESS);
    EXPECT_EQ(to.Length, 65534);
    EXPECT_EQ(to.MaximumLength, 65534);
    text.back() = 'x';
    text.push_back(0);
    EXPECT_EQ(RtlUnicodeStringInit(&to, text.data()), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(RtlUnicodeStringInit(&to, nullptr), STATUS_SUCCESS);
    EXPECT_EQ(to.MaximumLength, 0);
    EXPECT_EQ(RtlUnicodeStringInit(&to, L"ab"), STATUS_SUCCESS);
    EXPECT_EQ(to.MaximumLength, 6);
}

} // namespace
