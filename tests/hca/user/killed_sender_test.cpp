// A client that is killed at any moment of its transfers: nothing of it remains in the daemon, and
// its peer's queue pair learns of it by its next work request.
#include "surviving_peer.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <random>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

constexpr int rounds = 24;
// Microseconds from the attach of a victim: on a quick machine, and at most.
constexpr int first_longest = 10'000;
constexpr int greatest_longest = 1'000'000;

std::vector<std::string> sender(const std::string& uri, int microseconds,
                                const connected_end& peer) {
    std::vector<std::string> words = words_of(peer);
    words.insert(words.begin(), {KILLED_SENDER, uri, std::to_string(microseconds)});
    return words;
}

/// Several clients that die, each with the end of its connection that survives.
class round_of_kills {
public:
    static constexpr std::size_t size = 4;

    explicit round_of_kills(DEVICE_OBJECT* hca) {
        for (std::unique_ptr<connected_end>& each : own_)
            each = std::make_unique<connected_end>(hca);
        for (const std::unique_ptr<connected_end>& each : own_)
            each->attributes(); // the daemon has received what was sent before
    }

    /// Kills each within `longest` microseconds. Returns the number of those that had connected.
    int play(const std::string& uri, std::minstd_rand& random, int longest) {
        for (std::size_t i = 0; i < size; ++i) {
            dying_[i] = std::make_unique<child_program>(
                sender(uri, static_cast<int>(random() % static_cast<unsigned>(longest)), *own_[i]));
            dying_[i]->start();
        }
        std::array<printed_end, size> peers;
        std::array<bool, size> connected{};
        for (std::size_t i = 0; i < size; ++i) {
            connected[i] = read_end(*dying_[i], peers[i]);
            if (!connected[i]) continue;
            connect(*own_[i], peers[i]);
            dying_[i]->write_byte('b');
        }
        for (std::size_t i = 0; i < size; ++i) {
            if (connected[i]) expect_failure(*own_[i], peers[i]);
            const int status = dying_[i]->wait();
            EXPECT_TRUE(was_killed(status)) << status;
            dying_[i].reset();
        }
        return static_cast<int>(std::ranges::count(connected, true));
    }

private:
    std::array<std::unique_ptr<connected_end>, size> own_;
    std::array<std::unique_ptr<child_program>, size> dying_;
};

TEST(KilledSender, AtAnyMoment_NothingRemainsAndThePeerFails) {
    test_daemon serving;
    const client here(serving.uri());
    const opened_ca other;
    std::minstd_rand random(1);
    daemon_share before;
    int connected = 0;
    int longest = first_longest;
    for (int i = 0; i < rounds && !::testing::Test::HasFailure(); ++i) {
        round_of_kills each(HcaFromGuid(other.guid()));
        if (i == 0) before = settled_share(serving);
        const int lived = each.play(serving.uri(), random, longest);
        connected += lived;
        // A busy machine needs longer until they transfer.
        if (lived < static_cast<int>(round_of_kills::size) / 2)
            longest = std::min(2 * longest, greatest_longest);
        SCOPED_TRACE("round " + std::to_string(i));
        expect_share(serving, before);
    }
    EXPECT_GT(connected, rounds);
}

} // namespace
