// The order in which waiting messages of many peers are served.
#include <fair_queue.hpp>

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <map>

namespace {

using irpverbs::subnet_manager::fair_queue;
using irpverbs::subnet_manager::queued_message;

struct filled_queue {
    void push(std::uint16_t peer, unsigned count = 1) {
        for (unsigned i = 0; i < count; ++i) {
            messages.push_back({.peer = peer});
            EXPECT_TRUE(queue.push(messages.back()));
        }
    }
    /// The peers of the next messages.
    std::map<std::uint16_t, unsigned> served(unsigned count) {
        std::map<std::uint16_t, unsigned> by_peer;
        for (unsigned i = 0; i < count; ++i)
            if (const queued_message* const next = queue.pop()) ++by_peer[next->peer];
        return by_peer;
    }

    std::deque<queued_message> messages;
    fair_queue queue;
};

TEST(FairQueue, MessagesOfOnePeer_AreServedInOrder) {
    filled_queue all;
    all.push(7, 3);
    for (const queued_message& each : all.messages)
        EXPECT_EQ(all.queue.pop(), &each);
    EXPECT_EQ(all.queue.pop(), nullptr);
    EXPECT_TRUE(all.queue.empty());
}

TEST(FairQueue, PeersWithFewMessages_AreServedInTurn) {
    filled_queue all;
    for (const std::uint16_t peer : std::to_array<std::uint16_t>({1, 2, 3}))
        all.push(peer, fair_queue::most_light);
    for (const auto& [peer, count] : all.served(30))
        EXPECT_EQ(count, 10u) << peer;
}

TEST(FairQueue, OnePeerFloods_OthersKeepThreeTurnsOfFour) {
    filled_queue all;
    all.push(1, fair_queue::max_per_peer);
    all.push(2, fair_queue::most_light);
    all.served(1); // the flooder's line is known to be long then
    auto served = all.served(40);
    EXPECT_EQ(served[1], 10u);
    EXPECT_EQ(served[2], 30u);
    EXPECT_EQ(all.served(400)[1], fair_queue::max_per_peer - 11);
}

TEST(FairQueue, Full_HasNoRoom) {
    filled_queue all;
    all.push(1, fair_queue::max_per_peer);
    EXPECT_FALSE(all.queue.has_room(1));
    EXPECT_FALSE(all.queue.has_room(257)); // shares the line
    for (const std::uint16_t peer : std::to_array<std::uint16_t>({2, 3, 4}))
        all.push(peer, fair_queue::max_per_peer);
    EXPECT_FALSE(all.queue.has_room(5));
    all.served(1);
    EXPECT_TRUE(all.queue.has_room(5));
}

} // namespace
