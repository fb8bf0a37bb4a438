#include <gtest/gtest.h>
#include <ntddk.h>

#include <ntstrsafe.h>

namespace {

UNICODE_STRING counted(const WCHAR* text) {
    UNICODE_STRING string;
    RtlInitUnicodeString(&string, text);
    return string;
}

bool is(const UNICODE_STRING& string, const WCHAR* text) {
    const UNICODE_STRING other = counted(text);
    return RtlEqualUnicodeString(&string, &other, FALSE) != FALSE;
}

TEST(UnicodeString, Init_CountsBytesWithoutTheTerminator) {
    const UNICODE_STRING string = counted(L"abc");
    EXPECT_EQ(string.Length, 6u);
    EXPECT_EQ(string.MaximumLength, 8u);
    EXPECT_EQ(counted(nullptr).MaximumLength, 0u);
}

TEST(UnicodeString, Append_ThatDoesNotFit_ChangesNothing) {
    DECLARE_UNICODE_STRING_SIZE(string, 4);
    EXPECT_EQ(RtlAppendUnicodeToString(&string, L"abc"), STATUS_SUCCESS);
    EXPECT_EQ(RtlAppendUnicodeToString(&string, L"de"), STATUS_BUFFER_TOO_SMALL);
    EXPECT_TRUE(is(string, L"abc"));
    EXPECT_EQ(RtlAppendUnicodeToString(&string, L"d"), STATUS_SUCCESS);
    EXPECT_TRUE(is(string, L"abcd"));
}

TEST(UnicodeString, Copy_TakesWhatFits) {
    DECLARE_UNICODE_STRING_SIZE(string, 2);
    const UNICODE_STRING from = counted(L"abc");
    RtlCopyUnicodeString(&string, &from);
    EXPECT_TRUE(is(string, L"ab"));
    RtlCopyUnicodeString(&string, nullptr);
    EXPECT_EQ(string.Length, 0u);
}

TEST(UnicodeString, Comparison_OrdersByCharactersThenLength) {
    const UNICODE_STRING a = counted(L"Abc");
    const UNICODE_STRING b = counted(L"aBC");
    const UNICODE_STRING longer = counted(L"abcd");
    EXPECT_LT(RtlCompareUnicodeString(&a, &b, FALSE), 0);
    EXPECT_EQ(RtlCompareUnicodeString(&a, &b, TRUE), 0);
    EXPECT_LT(RtlCompareUnicodeString(&a, &longer, TRUE), 0);
    EXPECT_TRUE(RtlPrefixUnicodeString(&a, &longer, TRUE));
    EXPECT_FALSE(RtlPrefixUnicodeString(&longer, &a, TRUE));
}

TEST(UnicodeString, Conversion_ThereAndBack_IsTheSame) {
    ANSI_STRING bytes;
    RtlInitAnsiString(&bytes, "a\xc3\xa4\xf0\x9f\x98\x80");
    UNICODE_STRING wide;
    ASSERT_EQ(RtlAnsiStringToUnicodeString(&wide, &bytes, TRUE), STATUS_SUCCESS);
    EXPECT_EQ(wide.Length, 8u); // the last character is a pair of surrogates
    EXPECT_EQ(wide.Buffer[1], 0xe4);
    ANSI_STRING back;
    ASSERT_EQ(RtlUnicodeStringToAnsiString(&back, &wide, TRUE), STATUS_SUCCESS);
    EXPECT_TRUE(RtlEqualString(&bytes, &back, FALSE));
    RtlFreeAnsiString(&back);
    RtlFreeUnicodeString(&wide);
}

TEST(UnicodeString, Conversion_OfWhatIsNoUtf8_IsTheReplacementCharacter) {
    ANSI_STRING bytes;
    RtlInitAnsiString(&bytes, "\xc3(\xff");
    DECLARE_UNICODE_STRING_SIZE(wide, 8);
    ASSERT_EQ(RtlAnsiStringToUnicodeString(&wide, &bytes, FALSE), STATUS_SUCCESS);
    EXPECT_TRUE(is(wide, L"\xfffd(\xfffd"));
}

TEST(UnicodeString, Numbers_AreReadByTheirPrefix) {
    ULONG value = 0;
    UNICODE_STRING text = counted(L" -0x1f!");
    EXPECT_EQ(RtlUnicodeStringToInteger(&text, 0, &value), STATUS_SUCCESS);
    EXPECT_EQ(value, static_cast<ULONG>(-0x1f));
    EXPECT_EQ(RtlUnicodeStringToInteger(&text, 7, &value), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(RtlCharToInteger("777", 8, &value), STATUS_SUCCESS);
    EXPECT_EQ(value, 0777u);
    DECLARE_UNICODE_STRING_SIZE(number, 3);
    EXPECT_EQ(RtlIntegerToUnicodeString(255, 16, &number), STATUS_SUCCESS);
    EXPECT_TRUE(is(number, L"FF"));
    EXPECT_EQ(RtlIntegerToUnicodeString(1000, 10, &number), STATUS_BUFFER_OVERFLOW);
}

TEST(UnicodeString, Guid_ThereAndBack_IsTheSame) {
    UNICODE_STRING text = counted(L"{00112233-4455-6677-8899-AABBCCDDEEFF}");
    GUID guid;
    ASSERT_EQ(RtlGUIDFromString(&text, &guid), STATUS_SUCCESS);
    EXPECT_EQ(guid.Data1, 0x00112233u);
    EXPECT_EQ(guid.Data4[7], 0xff);
    UNICODE_STRING back;
    ASSERT_EQ(RtlStringFromGUID(&guid, &back), STATUS_SUCCESS);
    EXPECT_TRUE(RtlEqualUnicodeString(&text, &back, FALSE));
    RtlFreeUnicodeString(&back);
    text.Buffer = const_cast<PWSTR>(L"{00112233-4455-6677-8899-AABBCCDDEEFG}");
    EXPECT_EQ(RtlGUIDFromString(&text, &guid), STATUS_INVALID_PARAMETER);
}

} // namespace
