// A client that ptrace(2) kills at points all over its life: at its system calls, and between the
// instructions of its posts and polls.
#include "surviving_peer.hpp"
#include "traced_program.hpp"

#include <dispatch/support/sanitizers.hpp>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

class sweep {
public:
    explicit sweep(traced_program::points which) : which_(which) {
        own_.attributes(); // the daemon has received what was sent before
        before_ = settled_share(serving_);
    }

    /// Returns the number of points of a client that is not killed.
    long count_points() { return kill_at(0); }
    /// Returns the number of the last point that was reached.
    long kill_at(long point) {
        const long reached = run(point);
        SCOPED_TRACE("killed at point " + std::to_string(point));
        expect_share(serving_, before_);
        return reached;
    }
    long killed() const { return killed_; }
    long connected() const { return connected_; }

private:
    long run(long point) {
        std::vector<std::string> words = words_of(own_);
        words.insert(words.begin(), {SWEPT_CLIENT, serving_.uri()});
        traced_program dying(words, which_, point);
        printed_end peer;
        const bool has_met = read_end(dying.program(), peer);
        if (has_met) meet(dying.program(), peer);
        while (!dying.has_ended())
            others_.transfer();
        const int status = dying.wait();
        EXPECT_TRUE(status == 0 || (point != 0 && was_killed(status))) << status;
        killed_ += status != 0 ? 1 : 0;
        connected_ += has_met ? 1 : 0;
        if (has_met) expect_end(peer);
        others_.transfer();
        return dying.reached();
    }

    // The client posts a receive for the message of this end, which waits for that.
    void meet(const child_program& client, const printed_end& peer) {
        connect(own_, peer);
        EXPECT_EQ(own_.post_receive(its_message, 8), STATUS_SUCCESS);
        EXPECT_EQ(own_.post(own_.send(message, 8)), STATUS_SUCCESS);
        client.write_byte('b');
    }

    // This end has learnt of it, or does by its next work request. Then it is used again.
    void expect_end(const printed_end& peer) {
        IB_WC sent = own_.next();
        if (sent.WrId == its_message) sent = own_.next();
        EXPECT_EQ(sent.WrId, message);
        if (sent.Status == IB_WC_SUCCESS) {
            expect_failure(own_, peer);
        } else {
            EXPECT_EQ(sent.Status, ULONG{IB_WC_RETRY_EXCEEDED});
            EXPECT_EQ(own_.attributes().state, ib_qp_state_t{IB_QPS_ERROR});
        }
        EXPECT_EQ(modify_qp(own_.qp, ci::to_state(IB_QPS_RESET)), STATUS_SUCCESS);
        own_.drain();
    }

    static constexpr ULONGLONG its_message = 1; // identifiers of work requests
    static constexpr ULONGLONG message = 2;

    const traced_program::points which_;
    test_daemon serving_;
    const client here_{serving_.uri()};
    bystanders others_{first_hca()};
    connected_end own_{first_hca()};
    daemon_share before_;
    long killed_ = 0;
    long connected_ = 0;
};

void expect_nothing_remains(traced_program::points which, long usual) {
    sweep here(which);
    const long all = here.count_points();
    const long count = sweep_points(all, usual, [&](long point) { here.kill_at(point); });
    EXPECT_GT(here.killed(), count / 4); // the number of points differs from run to run
    EXPECT_GT(here.connected(), 1);
    ::testing::Test::RecordProperty("points", std::to_string(all));
}

TEST(KillSweep, AtAnySystemCall_NothingRemainsAndThePeerFails) {
    expect_nothing_remains(traced_program::points::system_calls, 100);
}

// An instrumented program has many more instructions.
TEST(KillSweep, BetweenAccessesToRings_NothingRemainsAndThePeerFails) {
    constexpr bool instrumented = IRPVERBS_ADDRESS_SANITIZER + IRPVERBS_THREAD_SANITIZER != 0;
    expect_nothing_remains(traced_program::points::instructions, instrumented ? 10 : 40);
}

} // namespace
