// Atomics of several queue pairs on one word: each history has an order of its calls in which each
// result is right, and which keeps the order of calls that did not overlap (linearizable; Herlihy
// and Wing, 1990).
#include "connected_end.hpp"

#include <support/explore_gtest.hpp>

#include <hca/software.h>

#include <array>
#include <memory>
#include <set>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

/// An atomic. The times are numbers in the order in which calls began and ended. One whose retries
/// were exceeded has no result: it was executed once, at any time since it began, or never.
struct atomic_call {
    ib_wr_type_t type = WR_FETCH_ADD;
    ULONGLONG first = 0; // the addend, or the comparand
    ULONGLONG swapped = 0;
    ULONGLONG result = 0;
    unsigned began = 0;
    unsigned ended = without_end;

    static constexpr unsigned without_end = ~0u;
    bool has_result() const { return ended != without_end; }
    ULONGLONG applied_to(ULONGLONG word) const {
        if (type == WR_FETCH_ADD) return word + first;
        return word == first ? swapped : word;
    }
};

/// The search for an order of a history of at most 64 calls.
class order_search {
public:
    order_search(std::vector<atomic_call> calls, ULONGLONG last)
        : calls_(std::move(calls)), last_(last) {}

    bool succeeds(ULONGLONG word, std::uint64_t done = 0) {
        if (has_all_results(done) && word == last_) return true;
        if (!tried_.emplace(done, word).second) return false;
        for (std::size_t i = 0; i < calls_.size(); ++i)
            if (may_be_next(i, done) && (!calls_[i].has_result() || calls_[i].result == word) &&
                succeeds(calls_[i].applied_to(word), done | std::uint64_t{1} << i))
                return true;
        return false;
    }

private:
    bool has_all_results(std::uint64_t done) const {
        for (std::size_t i = 0; i < calls_.size(); ++i)
            if ((done >> i & 1) == 0 && calls_[i].has_result()) return false;
        return true;
    }
    bool may_be_next(std::size_t which, std::uint64_t done) const {
        if ((done >> which & 1) != 0) return false;
        for (std::size_t i = 0; i < calls_.size(); ++i)
            if ((done >> i & 1) == 0 && calls_[i].ended < calls_[which].began) return false;
        return true;
    }

    std::vector<atomic_call> calls_;
    ULONGLONG last_;
    std::set<std::pair<std::uint64_t, ULONGLONG>> tried_;
};

constexpr atomic_call add(ULONGLONG addend, ULONGLONG result, unsigned began, unsigned ended) {
    return {WR_FETCH_ADD, addend, 0, result, began, ended};
}
constexpr atomic_call swap(ULONGLONG from, ULONGLONG to, ULONGLONG result, unsigned began,
                           unsigned ended) {
    return {WR_COMPARE_SWAP, from, to, result, began, ended};
}

TEST(OrderSearch, OverlappingCalls_HaveAnOrder) {
    EXPECT_TRUE(order_search({add(1, 1, 1, 3), add(1, 0, 2, 4)}, 2).succeeds(0));
    EXPECT_TRUE(order_search({swap(1, 7, 1, 1, 4), add(1, 0, 2, 3)}, 7).succeeds(0));
}

TEST(OrderSearch, CallWithoutResult_IsExecutedOnceOrNever) {
    const atomic_call unknown = add(5, 0, 2, atomic_call::without_end);
    const atomic_call known = add(1, 0, 1, 3);
    EXPECT_TRUE(order_search({known, unknown}, 6).succeeds(0));
    EXPECT_TRUE(order_search({known, unknown}, 1).succeeds(0));
    EXPECT_FALSE(order_search({known, unknown}, 11).succeeds(0));
}

TEST(OrderSearch, WrongHistories_HaveNone) {
    EXPECT_FALSE(order_search({add(1, 0, 1, 3), add(1, 0, 2, 4)}, 2).succeeds(0)) << "lost";
    EXPECT_FALSE(order_search({add(1, 1, 1, 2), add(1, 0, 3, 4)}, 2).succeeds(0)) << "too late";
    EXPECT_FALSE(order_search({add(1, 0, 1, 2)}, 2).succeeds(0)) << "twice";
    EXPECT_FALSE(order_search({swap(1, 7, 0, 1, 2)}, 7).succeeds(0)) << "without a match";
}

/// A queue pair on one host, connected to one of another host that reaches the word by a region of
/// its own.
class atomic_client {
public:
    atomic_client(DEVICE_OBJECT* here, DEVICE_OBJECT* there, ULONGLONG& word)
        : near_(here), far_(there), word_(word),
          region_(register_mr(far_.pd(), &word, sizeof word, IB_AC_REMOTE | IB_AC_LOCAL_WRITE)) {
        near_.connect(far_);
        far_.connect(near_);
    }
    ~atomic_client() {
        far_.destroy();
        EXPECT_EQ(deregister_mr(region_), STATUS_SUCCESS);
    }
    atomic_client(const atomic_client&) = delete;
    atomic_client& operator=(const atomic_client&) = delete;

    /// Sets the result and the times of the call. False: its retries were exceeded.
    bool execute(atomic_call& call, unsigned& clock) {
        ib_send_wr_t wanted = near_.remote(call.type, 1, far_, sizeof word_);
        wanted.remote_ops = {static_cast<ULONGLONG>(reinterpret_cast<std::uintptr_t>(&word_)),
                             call.first, call.swapped, region_->RKey};
        call.began = ++clock;
        EXPECT_EQ(near_.post(wanted), STATUS_SUCCESS);
        const ULONG status = near_.next().Status;
        if (status == IB_WC_RETRY_EXCEEDED) return false;
        EXPECT_EQ(status, ULONG{IB_WC_SUCCESS});
        call.result = near_.number();
        call.ended = ++clock;
        return true;
    }

private:
    connected_end near_;
    connected_end far_;
    ULONGLONG& word_;
    IB_MR* region_;
};

atomic_call drawn_call(dispatch::sim_machine& sim) {
    const auto below = [&](ULONGLONG bound) { return sim.random() % bound; };
    atomic_call made;
    made.type = below(2) == 0 ? WR_FETCH_ADD : WR_COMPARE_SWAP;
    made.first = below(3);
    made.swapped = below(3);
    return made;
}

constexpr std::size_t clients = 3;
constexpr std::size_t calls_each = 4;

void play(dispatch::sim_machine& sim, unsigned& overlaps) {
    attached hcas;
    ULONGLONG word = 0;
    unsigned clock = 0;
    std::array<std::vector<atomic_call>, clients> made;
    {
        std::array<std::unique_ptr<atomic_client>, clients> all;
        for (std::size_t i = 0; i < clients; ++i) {
            // The last one loops back.
            all[i] = std::make_unique<atomic_client>(hcas.fdo(i), hcas.fdo(clients - 1), word);
            HCA_SOFTWARE_FAULTS faults{};
            faults.LossOnceIn = 20;
            faults.DuplicationOnceIn = 10;
            faults.ReorderingOnceIn = 10;
            faults.ReorderingTime = 20;
            EXPECT_EQ(HcaSoftwareSetFaults(hcas.guid(i), 1, &faults), STATUS_SUCCESS);
        }
        for (std::size_t i = 0; i < clients; ++i)
            sim.spawn("client", [&, i] {
                do
                    made[i].push_back(drawn_call(sim));
                while (all[i]->execute(made[i].back(), clock) && made[i].size() != calls_each);
            });
        sim.run();
    }
    std::vector<atomic_call> history;
    for (const auto& of_client : made)
        history.insert(history.end(), of_client.begin(), of_client.end());
    for (const atomic_call& one : history)
        for (const atomic_call& other : history)
            overlaps += one.began < other.began && other.began < one.ended ? 1 : 0;
    EXPECT_TRUE(order_search(history, word).succeeds(0));
}

TEST(AtomicHistories, QueuePairsOfThreeHosts_AreLinearizable) {
    dispatch::explore_options options;
    options.random_runs = 200;
    options.pct_runs = 100;
    options.machine.step_limit = 1'000'000;
    unsigned overlaps = 0;
    const auto seen =
        expect_explored(options, [&](dispatch::sim_machine& sim) { play(sim, overlaps); });
    EXPECT_GT(overlaps, seen.runs()) << "calls that don't overlap test nothing";
}

} // namespace
