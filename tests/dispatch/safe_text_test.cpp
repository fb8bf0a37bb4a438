#include <dispatch/support/safe_text.hpp>

#include <gtest/gtest.h>

#include <string>

namespace irpverbs::dispatch {
namespace {

std::string json_string(std::string_view text) {
    std::string made;
    append_json_string(text, made);
    return made;
}

TEST(SafeText_Printable, PlainTextAndUtf8_Unchanged) {
    for (const char* text :
         {"", "host1", "a\"b\\c", "h\xC3\xB4te", "\xE6\x9C\xAC", "\xF0\x9F\x98\x80"})
        EXPECT_EQ(printable(text), text);
}

TEST(SafeText_Printable, EveryControlCharacter_EscapedByteByByte) {
    for (unsigned each = 0; each < 0x20; ++each)
        EXPECT_EQ(printable(std::string(1, static_cast<char>(each))).size(), 4u) << each;
    EXPECT_EQ(printable("\x7F"), "\\x7f");
    for (unsigned each = 0x80; each < 0xA0; ++each)
        EXPECT_EQ(printable(std::string{'\xC2', static_cast<char>(each)}).substr(0, 6), "\\xc2\\x")
            << each;
    EXPECT_EQ(printable("\xC2\xA0"), "\xC2\xA0"); // the first that is no control character
    EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

// Stray and missing continuation bytes, overlong forms, a surrogate, a code point beyond U+10FFFF.
TEST(SafeText_Printable, InvalidUtf8_EachByteEscaped) {
    const std::pair<const char*, const char*> cases[] = {
        {"\x9B", "\\x9b"},
        {"\xC3", "\\xc3"},
        {"\xC3(", "\\xc3("},
        {"\xE2\x82", "\\xe2\\x82"},
        {"\xC0\x9B", "\\xc0\\x9b"},
        {"\xE0\x82\x9B", "\\xe0\\x82\\x9b"},
        {"\xED\xA0\x80", "\\xed\\xa0\\x80"},
        {"\xF4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
    };
    for (const auto& [text, expected] : cases)
        EXPECT_EQ(printable(text), expected);
}

TEST(SafeText_JsonString, Utf8Kept_SyntaxAndControlsEscaped_InvalidReplaced) {
    EXPECT_EQ(json_string("h\xC3\xB4te"), "\"h\xC3\xB4te\"");
    EXPECT_EQ(json_string("a\"b\\\n\x1B\x7F\xC2\x9B"), R"("a\"b\\\u000a\u001b\u007f\u009b")");
    EXPECT_EQ(json_string("a\xFF\xC3"), "\"a\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(SafeText_PrintableJson, SerializedJson_OnlyControlsAndInvalidBytesChange) {
    EXPECT_EQ(printable_json("{\"a\\n\":\"\xC2\x9B\xFF\"}"), "{\"a\\n\":\"\\u009b\xEF\xBF\xBD\"}");
}

} // namespace
} // namespace irpverbs::dispatch
