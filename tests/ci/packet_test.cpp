// Several messages in one packet of a socket.
#include <ci/support/packet.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <vector>

namespace {

using namespace irpverbs::ci;
using crossing::message;

/// A message of a header and so many bytes.
struct sample {
    sample(std::uint64_t id, std::size_t size) : bytes(size, std::byte{0xAB}) {
        head.id = id;
        whole.add(&head, sizeof(head));
        whole.add(bytes.data(), bytes.size());
    }
    wire::header head{wire::kind::request, 0, {}, 0, 0};
    std::vector<std::byte> bytes;
    crossing::parts whole;
};

std::vector<std::byte> received(crossing::packet& sent) {
    std::vector<std::byte> made;
    for (const iovec& each : sent.list()) {
        const auto* const from = static_cast<const std::byte*>(each.iov_base);
        made.insert(made.end(), from, from + each.iov_len);
    }
    return made;
}

wire::header head_of(message of) {
    wire::header made{};
    EXPECT_GE(of.size(), sizeof(made));
    if (of.size() >= sizeof(made)) std::memcpy(&made, of.data(), sizeof(made));
    return made;
}

TEST(Packet, Messages_AreTakenOneByOneInTheirOrder) {
    std::deque<sample> all;
    crossing::packet packet;
    for (const std::size_t size : {0u, 8u, 13u, 400u})
        ASSERT_TRUE(packet.add(all.emplace_back(all.size() + 1, size).whole));
    const std::vector<std::byte> bytes = received(packet);
    message rest = bytes;
    for (const sample& each : all) {
        ASSERT_FALSE(rest.empty());
        const message first = crossing::take_first(rest);
        EXPECT_EQ(first.size(), each.whole.size());
        EXPECT_EQ(head_of(first).id, each.head.id);
    }
    EXPECT_TRUE(rest.empty());
}

TEST(Packet, ClearedPacket_LeavesMessagesThatStandAlone) {
    sample one(1, 8);
    sample two(2, 8);
    crossing::packet packet;
    packet.add(one.whole);
    packet.add(two.whole);
    EXPECT_EQ(one.head.next, one.whole.size());
    packet.clear();
    EXPECT_EQ(one.head.next, 0u);
    EXPECT_TRUE(packet.list().empty());
    EXPECT_TRUE(packet.add(two.whole));
    EXPECT_EQ(received(packet).size(), two.whole.size());
}

TEST(Packet, FullPacket_TakesNoMore) {
    std::deque<sample> small;
    crossing::packet of_many;
    while (of_many.add(small.emplace_back(1, 8).whole))
        ASSERT_LT(small.size(), 100u);
    EXPECT_EQ(small[small.size() - 2].head.next, 0u) << "a message that was not added follows it";
    sample half(1, wire::max_message / 2);
    sample other(2, wire::max_message / 2);
    crossing::packet of_long_ones;
    EXPECT_TRUE(of_long_ones.add(half.whole));
    EXPECT_FALSE(of_long_ones.add(other.whole));
    EXPECT_LE(received(of_long_ones).size(), wire::max_message);
}

TEST(Packet, MalformedPacket_HasNoMessage) {
    constexpr std::size_t size = 4 * sizeof(wire::header);
    for (const std::size_t next :
         {std::size_t{1}, sizeof(wire::header) - 8, sizeof(wire::header) + 4, size, size + 8,
          std::size_t{0xFFFFFFF8}}) {
        std::array<wire::header, 4> all{};
        all[0].next = static_cast<std::uint32_t>(next);
        message rest = std::as_bytes(std::span(all));
        EXPECT_TRUE(crossing::take_first(rest).empty()) << next;
        EXPECT_TRUE(rest.empty()) << next;
    }
    const std::array<std::byte, 8> brief{};
    message rest = brief;
    EXPECT_TRUE(crossing::take_first(rest).empty());
    EXPECT_TRUE(rest.empty());
}

} // namespace
