// Bytes that are read without a lock: a read returns the whole requested version or nothing.
#include "seqlock_buffer.hpp"

#include <threads/concurrent_rounds.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace {

using namespace irpverbs;

constexpr std::size_t size = 256;
using content = std::array<unsigned char, size>;
using block = hca_software::seqlock_buffer<size>;

void write(block& to, std::uint64_t version) {
    content written;
    written.fill(static_cast<unsigned char>(version));
    to.write(written.data(), size, version);
}

TEST(SeqlockBuffer, ReadBeforeFirstWrite_ReturnsNothing) {
    const block empty;
    content into;
    EXPECT_EQ(empty.read(1, into.data(), size), 0u);
}

TEST(SeqlockBuffer, ReadOfOtherVersion_ReturnsNothing) {
    block held;
    write(held, 7);
    content into;
    EXPECT_EQ(held.read(6, into.data(), size), 0u);
    EXPECT_EQ(held.read(8, into.data(), size), 0u);
    EXPECT_EQ(held.read(7, into.data(), size), size);
}

TEST(SeqlockBuffer, ReadIntoShortBuffer_CopiesItsSize) {
    content written;
    std::iota(written.begin(), written.end(), static_cast<unsigned char>(1));
    block held;
    held.write(written.data(), 100, 1);
    for (std::size_t room = 0; room <= 110; ++room) {
        content into{};
        EXPECT_EQ(held.read(1, into.data(), room), 100u);
        const std::size_t wanted = std::min<std::size_t>(room, 100);
        EXPECT_TRUE(std::equal(into.begin(), into.begin() + wanted, written.begin()));
        EXPECT_TRUE(std::all_of(into.begin() + wanted, into.end(), [](auto b) { return b == 0; }));
    }
}

TEST(SeqlockBuffer, ReadDuringWrites_IsNeverTorn) {
    constexpr int rounds = 200;
    constexpr std::uint64_t editions = 200;
    dispatch::asio_machine machine({.processors = 2});
    block held;
    std::atomic<std::uint64_t> newest{0};
    std::uint64_t whole = 0;
    std::uint64_t torn = 0;
    const auto writer = [&](int) {
        for (std::uint64_t i = 0; i < editions; ++i) {
            write(held, newest + 1);
            ++newest;
        }
    };
    const auto reader = [&](int) {
        for (std::uint64_t i = 0; i < editions; ++i) {
            const std::uint64_t version = newest;
            content into;
            if (version == 0 || held.read(version, into.data(), size) == 0) continue;
            const auto expected = static_cast<unsigned char>(version);
            const bool one =
                std::all_of(into.begin(), into.end(), [&](auto b) { return b == expected; });
            ++(one ? whole : torn);
        }
    };
    irpverbs::testing::run_concurrent_rounds(machine, rounds, {writer, reader}, [](int) {});
    EXPECT_EQ(torn, 0u);
    EXPECT_NE(whole, 0u);
}

} // namespace
