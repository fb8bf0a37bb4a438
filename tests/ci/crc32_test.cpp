// The CRC-32: carry-less multiplication agrees with the table, at any length and in any pieces.
#include <ci/support/crc32.hpp>

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace {

using irpverbs::ci::crc32;

std::span<const std::uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

TEST(Crc32, CheckText_HasTheKnownValue) {
    crc32 crc;
    crc.add(bytes_of("123456789"));
    EXPECT_EQ(crc.value(), 0xCBF43926u);
}

TEST(Crc32, Pieces_HaveTheValueOfTheWhole) {
    std::vector<std::uint8_t> bytes(700);
    std::uint32_t number = 1;
    for (std::uint8_t& each : bytes)
        each = static_cast<std::uint8_t>((number = number * 1103515245 + 12345) >> 16);
    for (std::size_t first = 0; first < 140; first += 3)
        for (std::size_t size = first; size < bytes.size(); size += 7) {
            boost::crc_32_type by_table;
            by_table.process_bytes(bytes.data(), size);
            crc32 crc;
            crc.add(std::span(bytes).first(first));
            crc.add(std::span(bytes).subspan(first, size - first));
            ASSERT_EQ(crc.value(), by_table.checksum()) << first << ' ' << size;
        }
}

} // namespace
