// Divisions of 64-bit integers.
#include <gtest/gtest.h>
#include <ntifs.h>

namespace {

TEST(LargeIntegers, Divisions_GiveQuotientAndRemainder) {
    ULONG rest = 0;
    ULARGE_INTEGER few;
    few.QuadPart = 1000;
    EXPECT_EQ(RtlEnlargedUnsignedDivide(few, 7, &rest), 142u);
    EXPECT_EQ(rest, 6u);
    const LARGE_INTEGER many = IrpverbsLarge(10'000'000'000'007);
    EXPECT_EQ(RtlExtendedLargeIntegerDivide(many, 10, &rest).QuadPart, 1'000'000'000'000);
    EXPECT_EQ(rest, 7u);
    LARGE_INTEGER left;
    EXPECT_EQ(RtlLargeIntegerDivide(many, IrpverbsLarge(10'000'000'000), &left).QuadPart, 1000);
    EXPECT_EQ(left.QuadPart, 7);
    // The reciprocal of 10,000, with which drivers made ms of ticks.
    const LARGE_INTEGER magic = IrpverbsLarge(static_cast<LONGLONG>(0xd1b71758e219652c));
    EXPECT_EQ(RtlExtendedMagicDivide(IrpverbsLarge(123'456'789), magic, 13).QuadPart, 12'345);
    EXPECT_EQ(RtlExtendedMagicDivide(IrpverbsLarge(-123'456'789), magic, 13).QuadPart, -12'345);
}

} // namespace
