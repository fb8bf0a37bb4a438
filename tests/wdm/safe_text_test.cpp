// ntstrsafe.h's functions for texts that end with a zero.
#include <gtest/gtest.h>
#include <ntddk.h>
#include <ntstrsafe.h>

#include <cstring>
#include <string>
#include <string_view>

namespace {

UNICODE_STRING counted(PCWSTR text) {
    UNICODE_STRING result;
    RtlInitUnicodeString(&result, text);
    return result;
}

TEST(SafeString, Copy_ThatIsCut_IsStillEnded) {
    WCHAR text[4];
    EXPECT_EQ(RtlStringCchCopyW(text, 4, L"abcdef"), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(IrpverbsWideCompare(text, L"abc"), 0);
    EXPECT_EQ(RtlStringCbCopyW(text, 8, L"ab"), STATUS_SUCCESS);
    EXPECT_EQ(RtlStringCchCatW(text, 4, L"cd"), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(IrpverbsWideCompare(text, L"abc"), 0);
    EXPECT_EQ(RtlStringCchCopyW(text, 0, L""), STATUS_INVALID_PARAMETER);
}

TEST(SafeString, Format_IsWindows) {
    char text[80];
    UNICODE_STRING counted_text = counted(L"name");
    EXPECT_EQ(RtlStringCbPrintfA(text, sizeof(text), "%wZ|%S|%5ls|%I64x|%-4d|%08lX|%.2s",
                                 &counted_text, L"wide", L"ls", 0x123456789aLL, 7, 0xabc, "cut"),
              STATUS_SUCCESS);
    EXPECT_STREQ(text, "name|wide|   ls|123456789a|7   |00000ABC|cu");
    WCHAR wide[8];
    EXPECT_EQ(RtlStringCchPrintfW(wide, 8, L"%s%S", L"ab", "cd"), STATUS_SUCCESS);
    EXPECT_EQ(IrpverbsWideCompare(wide, L"abcd"), 0);
}

// Where the zero stands and what is left from there, in the unit of the function.
TEST(SafeString, ExtendedForms_SayWhereTheTextEnds) {
    WCHAR wide[8] = {};
    PWSTR end = nullptr;
    size_t left = 0;
    EXPECT_EQ(RtlStringCchCopyExW(wide, 8, L"abc", &end, &left, 0), STATUS_SUCCESS);
    EXPECT_EQ(end, wide + 3);
    EXPECT_EQ(left, 5u);
    EXPECT_EQ(RtlStringCbCatExW(wide, sizeof(wide), L"de", &end, &left, 0), STATUS_SUCCESS);
    EXPECT_EQ(end, wide + 5);
    EXPECT_EQ(left, 6u);
    EXPECT_EQ(RtlStringCbPrintfExW(wide, sizeof(wide), &end, &left, 0, L"%d", 12345678),
              STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(end, wide + 7);
    EXPECT_EQ(left, 2u);
    EXPECT_EQ(IrpverbsWideCompare(wide, L"1234567"), 0);
    char narrow[4];
    PSTR narrow_end = nullptr;
    EXPECT_EQ(RtlStringCchCopyNExA(narrow, 4, "abcdef", 2, &narrow_end, &left, 0), STATUS_SUCCESS);
    EXPECT_EQ(narrow_end, narrow + 2);
    EXPECT_EQ(left, 2u);
    EXPECT_STREQ(narrow, "ab");
    EXPECT_EQ(RtlStringCchCatNExA(narrow, 4, "xyz", 1, nullptr, nullptr, 0), STATUS_SUCCESS);
    EXPECT_STREQ(narrow, "abx");
}

// A size in bytes that is no multiple of a character's: the last byte is filled too, and no
// character written.
TEST(SafeString, FillBehindNull_FillsTheRest) {
    UCHAR bytes[9];
    memset(bytes, 0xEE, sizeof(bytes));
    EXPECT_EQ(RtlStringCbCopyExW(reinterpret_cast<PWSTR>(bytes), 7, L"a", nullptr, nullptr,
                                 STRSAFE_FILL_BYTE(0x55)),
              STATUS_SUCCESS);
    const UCHAR expected[9] = {'a', 0, 0, 0, 0x55, 0x55, 0x55, 0xEE, 0xEE};
    EXPECT_EQ(memcmp(bytes, expected, sizeof(bytes)), 0);
}

struct failure {
    ULONG flags;
    const char* copied;   // "old" was there, "abcdef" did not fit
    const char* appended; // the same
};

TEST(SafeString, Failure_LeavesWhatTheFlagsSay) {
    const failure failures[] = {
        {0, "abcde", "oldab"},
        {STRSAFE_NO_TRUNCATION, "", "old"},
        {STRSAFE_NULL_ON_FAILURE, "", ""},
        {STRSAFE_FAILURE_BYTE('x'), "xxxxx", "xxxxx"},
        {STRSAFE_FAILURE_BYTE(0), "", ""},
    };
    for (const failure& each : failures) {
        char text[6] = "old";
        EXPECT_EQ(RtlStringCbCopyExA(text, sizeof(text), "abcdef", nullptr, nullptr, each.flags),
                  STATUS_BUFFER_OVERFLOW);
        EXPECT_STREQ(text, each.copied) << std::hex << each.flags;
        strcpy(text, "old");
        EXPECT_EQ(RtlStringCbCatExA(text, sizeof(text), "abcdef", nullptr, nullptr, each.flags),
                  STATUS_BUFFER_OVERFLOW);
        EXPECT_STREQ(text, each.appended) << std::hex << each.flags;
    }
}

TEST(SafeString, Null_IsAnEmptyTextIfAskedFor) {
    char text[4] = "old";
    EXPECT_EQ(RtlStringCbCopyExA(text, sizeof(text), nullptr, nullptr, nullptr, 0),
              STATUS_INVALID_PARAMETER);
    EXPECT_STREQ(text, "");
    EXPECT_EQ(
        RtlStringCbCatExA(text, sizeof(text), nullptr, nullptr, nullptr, STRSAFE_IGNORE_NULLS),
        STATUS_SUCCESS);
    EXPECT_EQ(RtlStringCbCopyExA(nullptr, 0, nullptr, nullptr, nullptr, STRSAFE_IGNORE_NULLS),
              STATUS_SUCCESS);
    EXPECT_EQ(RtlStringCbCopyExA(nullptr, 0, "a", nullptr, nullptr, STRSAFE_IGNORE_NULLS),
              STATUS_INVALID_PARAMETER);
    EXPECT_EQ(RtlStringCbCopyExA(text, 0, "a", nullptr, nullptr, STRSAFE_IGNORE_NULLS),
              STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(RtlStringCbCopyExA(nullptr, 4, "a", nullptr, nullptr, STRSAFE_IGNORE_NULLS),
              STATUS_INVALID_PARAMETER);
}

TEST(SafeString, BadArguments_AreRefusedAndChangeNothing) {
    char text[4] = "old";
    EXPECT_EQ(RtlStringCbCopyExA(text, sizeof(text), "a", nullptr, nullptr, 0x2000),
              STATUS_INVALID_PARAMETER);
    EXPECT_EQ(RtlStringCbCopyA(text, size_t{NTSTRSAFE_MAX_CCH} + 1, "a"), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(RtlStringCbCopyNA(text, sizeof(text), "a", size_t{NTSTRSAFE_MAX_CCH} + 1),
              STATUS_INVALID_PARAMETER);
    EXPECT_STREQ(text, "old");
    memset(text, 'x', sizeof(text)); // no end
    EXPECT_EQ(RtlStringCbCatA(text, sizeof(text), "a"), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(std::string_view(text, 4), "xxxx");
}

TEST(SafeString, Length_IsInTheUnitOfTheFunction) {
    size_t length = 9;
    EXPECT_EQ(RtlStringCchLengthW(L"abc", 4, &length), STATUS_SUCCESS);
    EXPECT_EQ(length, 3u);
    EXPECT_EQ(RtlStringCbLengthW(L"abc", 8, &length), STATUS_SUCCESS);
    EXPECT_EQ(length, 6u);
    EXPECT_EQ(RtlStringCbLengthW(L"abc", 7, &length), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(length, 0u);
    EXPECT_EQ(RtlStringCbLengthA("abc", 3, nullptr), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(RtlStringCbLengthA(nullptr, 3, nullptr), STATUS_INVALID_PARAMETER);
}

TEST(SafeString, CountedSource_IsCopiedWithAnEnd) {
    WCHAR text[4];
    UNICODE_STRING source = counted(L"abcdef");
    size_t left = 0;
    EXPECT_EQ(RtlStringCbCopyUnicodeStringEx(text, sizeof(text), &source, nullptr, &left, 0),
              STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(left, 2u);
    source.Length = 4;
    EXPECT_EQ(RtlStringCchCopyUnicodeString(text, 4, &source), STATUS_SUCCESS);
    EXPECT_EQ(IrpverbsWideCompare(text, L"ab"), 0);
    source.Length = 3; // odd
    EXPECT_EQ(RtlStringCchCopyUnicodeString(text, 4, &source), STATUS_INVALID_PARAMETER);
}

} // namespace
