// The table of transitions.
#include <state/transitions.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace {

using namespace irpverbs::cm::engine;

TEST(CmTransitions, StateAndEvent_HaveAtMostOneRow) {
    std::set<std::pair<unsigned, event>> seen;
    for (const transition& each : transitions())
        for (unsigned from = 0; from < state_count; ++from)
            if ((each.from >> from & 1) != 0) {
                EXPECT_TRUE(seen.emplace(from, each.on).second)
                    << from << ' ' << static_cast<unsigned>(each.on);
            }
}

TEST(CmTransitions, Find_ReturnsTheRowOfStateAndEvent) {
    const transition* const found = find_transition(state::req_sent, event::rep);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->then, action::take_reply);
    EXPECT_EQ(found->to, state::rep_rcvd);
    EXPECT_EQ(find_transition(state::idle, event::rep), nullptr);
}

TEST(CmTransitions, EndedConnection_HasNoTransition) {
    for (const transition& each : transitions())
        EXPECT_FALSE(contains(each.from, state::ended));
}

// A connection ends from every state by events that need neither the peer nor the client.
TEST(CmTransitions, TimeAlone_EndsEachConnectionThatNoClientHas) {
    for (unsigned number = 0; number < state_count; ++number) {
        state at = static_cast<state>(number);
        if (const transition* const closed = find_transition(at, event::close))
            at = closed->to.value_or(at);
        if (at == state::dreq_rcvd) at = *find_transition(at, event::qp_stopped)->to;
        if (at == state::idle || contains(state::req_sent | state::mra_req_rcvd, at))
            at = *find_transition(at, event::cancel)->to;
        if (const transition* const last = find_transition(at, event::exhausted)) at = *last->to;
        if (at == state::timewait) at = *find_transition(at, event::timeout)->to;
        EXPECT_EQ(at, state::ended) << number;
    }
}

TEST(CmTransitions, EachStateButTheFirst_IsReached) {
    std::set<state> reached{state::idle, state::req_rcvd};
    for (const transition& each : transitions())
        if (each.to) reached.insert(*each.to);
    EXPECT_EQ(reached.size(), state_count);
}

} // namespace
