#include <dispatch/support/numbers.hpp>

#include <gtest/gtest.h>

using irpverbs::dispatch::number_in;

TEST(Numbers, DecimalOrHexadecimalText_ItsValue) {
    EXPECT_EQ(number_in("0"), 0u);
    EXPECT_EQ(number_in("17"), 17u);
    EXPECT_EQ(number_in("0x1f"), 31u);
    EXPECT_EQ(number_in("0XffFFffFFffFFffFF"), ~0ull);
}

TEST(Numbers, OtherText_NoValue) {
    for (const char* text :
         {"", "0x", " 1", "1 ", "-1", "+1", "1f", "0x1g", "18446744073709551616"})
        EXPECT_EQ(number_in(text), std::nullopt) << text;
}

TEST(Numbers, AboveLimit_NoValue) {
    EXPECT_EQ(number_in("255", 255), 255u);
    EXPECT_EQ(number_in("256", 255), std::nullopt);
}
