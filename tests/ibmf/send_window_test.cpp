// The order of transactions, the time-out of an attempt, and the bound by the deadline.
#include "table_agent.hpp"

#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

#include <climits>
#include <map>
#include <set>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

constexpr LONGLONG ticks_per_us = 10;

request_of request_with(std::uint8_t mgmt_class, std::uint64_t tid) {
    request_of made{mgmt_class};
    made.tid = tid;
    return made;
}

/// Transactions whose data begin with their number.
struct batch {
    std::vector<std::unique_ptr<test_message>> all;

    void ask(const client_scope& by, std::uint8_t mgmt_class, unsigned first, unsigned count,
             ibmf_retrans_t times) {
        for (unsigned tid = first; tid < first + count; ++tid) {
            all.push_back(std::make_unique<test_message>(by.handle, request_with(mgmt_class, tid)));
            EXPECT_EQ(all.back()->send(IBMF_MSG_TRANS_FLAG_SEQ, times), IBMF_SUCCESS);
        }
    }
};
UCHAR number_of(const std::array<UCHAR, IB_MAD_SIZE>& datagram) { return datagram[64]; }
constexpr unsigned number_of_any = 1000;

class IbmfFlowControl : public BothMachines {};

TEST_P(IbmfFlowControl, TwoClientsAtPortLimit_AreServedAlternately) {
    wire joined;
    std::vector<unsigned> order;
    std::atomic<bool> lost{true};
    joined.tap = [&](unsigned from, const auto& bytes) {
        if (from == 0) order.push_back(number_of(bytes));
        return !lost;
    };
    const echo_agent performance_class(1);
    const echo_agent boards(1, BM_AGENT);
    const client_scope many(0, PERF_MANAGER);
    const client_scope few(0, BM_MANAGER);
    ASSERT_EQ(ibmf_limit_port(many.handle, 1), IBMF_SUCCESS);
    constexpr ibmf_retrans_t patient{0, 60'000'000, 0, 0};
    batch asked;
    asked.ask(many, MAD_MGMT_CLASS_PERF, 1, 20, patient);
    asked.ask(few, MAD_MGMT_CLASS_BM, 101, 10, patient);
    lost = false;
    ASSERT_EQ(ibmf_cancel_msg(many.handle, asked.all.front()->ibmf_msg), IBMF_SUCCESS);
    for (std::size_t i = 0; i < asked.all.size(); ++i)
        EXPECT_EQ(asked.all[i]->status(), i == 0 ? IBMF_TRANS_FAILURE : IBMF_SUCCESS);
    ASSERT_EQ(order.size(), 30u);
    for (unsigned turn = 0; turn < 10; ++turn) {
        EXPECT_EQ(order[1 + 2 * turn], 2 + turn);
        EXPECT_EQ(order[2 + 2 * turn], 101 + turn);
    }
}

TEST_P(IbmfFlowControl, CancelledQueuedRequest_ReleasesItsTurn) {
    wire joined;
    std::atomic<bool> lost{true};
    joined.tap = [&](unsigned, const auto&) { return !lost; };
    const echo_agent agent(1);
    const client_scope manager(0, PERF_MANAGER);
    ASSERT_EQ(ibmf_limit_port(manager.handle, 1), IBMF_SUCCESS);
    batch asked;
    asked.ask(manager, MAD_MGMT_CLASS_PERF, 1, 5, {0, 60'000'000, 0, 0});
    lost = false;
    for (const std::size_t gone : {2u, 4u, 0u})
        EXPECT_EQ(ibmf_cancel_msg(manager.handle, asked.all[gone]->ibmf_msg), IBMF_SUCCESS);
    for (const std::size_t completed : {1u, 3u})
        EXPECT_EQ(asked.all[completed]->status(), IBMF_SUCCESS);
    EXPECT_EQ(agent.requests_received, 2);
}

IRPVERBS_ON_BOTH_MACHINES(IbmfFlowControl);

/// Returns the send times of each datagram of eight requests that are not answered.
std::map<unsigned, std::vector<LONGLONG>> times_of_attempts(sim_machine& sim,
                                                            ibmf_retrans_t times) {
    std::map<unsigned, std::vector<LONGLONG>> sent;
    wire joined;
    joined.tap = [&](unsigned, const auto& bytes) {
        sent[number_of(bytes)].push_back(static_cast<LONGLONG>(KeQueryInterruptTime()));
        return false;
    };
    const client_scope manager(0, PERF_MANAGER);
    batch asked;
    asked.ask(manager, MAD_MGMT_CLASS_PERF, 1, 8, times);
    for (const auto& each : asked.all) {
        EXPECT_EQ(each->status(), IBMF_TRANS_TIMEOUT);
        sent[number_of_any].push_back(static_cast<LONGLONG>(each->took()));
    }
    sim.run();
    return sent;
}

/// The first attempt waits for `most_of(0)`, each later one for `most_of(attempt)` less up to a
/// quarter, and not all for equal times.
template <class Most>
void expect_waits(const std::map<unsigned, std::vector<LONGLONG>>& attempts, const Most& most_of) {
    std::set<LONGLONG> second_waits;
    for (const auto& [number, sent] : attempts) {
        if (number == number_of_any) continue;
        ASSERT_EQ(sent.size(), 6u) << number;
        for (std::size_t i = 1; i < sent.size(); ++i) {
            const LONGLONG most = most_of(i - 1);
            EXPECT_LE(sent[i] - sent[i - 1], most);
            EXPECT_GE(sent[i] - sent[i - 1], i == 1 ? most : most - most / 4);
        }
        second_waits.insert(sent[2] - sent[1]);
    }
    EXPECT_GT(second_waits.size(), 4u);
}

TEST(IbmfDeadlines, DefaultTimes_OfASilentPeer_DoubleWithEachAttempt) {
    random_choices chance(7);
    sim_machine sim(chance);
    const machine::scope inside(sim);
    constexpr LONGLONG base = 4'100'000 * ticks_per_us;
    expect_waits(times_of_attempts(sim, {5, 0, 0, 0}),
                 [](std::size_t attempt) { return base << std::min<std::size_t>(attempt, 3); });
}

// With given times a client can state its longest wait: seed 000, 193.
TEST(IbmfDeadlines, GivenTimes_OfASilentPeer_AreMaxima) {
    random_choices chance(7);
    sim_machine sim(chance);
    const machine::scope inside(sim);
    constexpr LONGLONG base = 10'000 * ticks_per_us;
    for (const ibmf_retrans_t& times :
         {ibmf_retrans_t{5, 8'000, 2'000, 0}, ibmf_retrans_t{5, 10'000 - 1, 1, 0}}) {
        const auto attempts = times_of_attempts(sim, times);
        expect_waits(attempts, [](std::size_t) { return base; });
        for (const LONGLONG took : attempts.at(number_of_any))
            EXPECT_LE(took, 6 * base + 1 * ticks_per_us);
    }
}

// NULL means IBMF_RETRANS_DEFAULT, whatever the flags; zeros mean no retries.
TEST(IbmfDeadlines, Retries_OfNullAndOfZeros_AreAsTheHeaderSays) {
    random_choices chance(7);
    sim_machine sim(chance);
    const machine::scope inside(sim);
    constexpr ibmf_retrans_t defaults = IBMF_RETRANS_DEFAULT;
    EXPECT_EQ(defaults.retrans_retries, static_cast<uint32_t>(IBMF_DEFAULT_RETRIES));
    const auto datagrams_of = [](ibmf_retrans_t* times, uint_t flags) {
        const wire joined;
        const client_scope manager(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP);
        test_message msg(manager.handle, {MAD_MGMT_CLASS_SUBN_ADM, 0x14});
        EXPECT_EQ(ibmf_msg_transport(manager.handle, IBMF_QP_HANDLE_DEFAULT, msg.ibmf_msg, times,
                                     nullptr, nullptr, flags),
                  IBMF_TRANS_TIMEOUT);
        return manager.stats().st_datagrams_sent;
    };
    ibmf_retrans_t zeros{};
    constexpr unsigned abort = 1; // of an abandoned transfer
    EXPECT_EQ(datagrams_of(nullptr, IBMF_MSG_TRANS_FLAG_SEQ), 1u + IBMF_DEFAULT_RETRIES);
    EXPECT_EQ(datagrams_of(&zeros, IBMF_MSG_TRANS_FLAG_SEQ), 1u);
    EXPECT_EQ(datagrams_of(nullptr, IBMF_MSG_TRANS_FLAG_RMPP), 1u + IBMF_DEFAULT_RETRIES + abort);
    EXPECT_EQ(datagrams_of(&zeros, IBMF_MSG_TRANS_FLAG_RMPP), 1u + abort);
}

/// The time that each transaction may take: its attempts and half as much again, unless its client
/// set less.
LONGLONG most_of(const ibmf_retrans_t& times) {
    const LONGLONG attempts =
        (LONGLONG{times.retrans_retries} + 1) * (times.retrans_rtv + times.retrans_rttv);
    const LONGLONG said = times.retrans_trans_to != 0 ? times.retrans_trans_to : LLONG_MAX;
    return std::min(attempts / 2 * 5, said) * ticks_per_us;
}

struct timed_message : test_message {
    using test_message::test_message;
    LONGLONG begun = static_cast<LONGLONG>(KeQueryInterruptTime());
    std::atomic<LONGLONG> ended{0};

    static void completed(ibmf_handle_t, ibmf_msg_t*, void* self) {
        static_cast<timed_message*>(self)->ended = static_cast<LONGLONG>(KeQueryInterruptTime());
    }
};

TEST(IbmfDeadlines, BusySilentOrLatePeer_DeadlineIsKept) {
    explore_options options;
    options.random_runs = 1000;
    options.pct_runs = 500;
    expect_explored(options, [](sim_machine& sim) {
        wire joined({3, 4, 30'000});
        echo_agent agent(1);
        agent.change = [&](ib_mad_hdr_t& header) {
            if (sim.random() % 2 == 0) header.Status = __builtin_bswap16(MAD_STATUS_BUSY);
        };
        const client_scope manager(0, PERF_MANAGER);
        ibmf_limit_port(manager.handle, 2);
        std::vector<std::unique_ptr<timed_message>> all;
        std::vector<ibmf_retrans_t> wanted;
        for (unsigned i = 0; i < 6; ++i) {
            wanted.push_back({i % 3, 5'000 * (i + 1), 1'000, i % 2 * 7'000 * i});
            all.push_back(std::make_unique<timed_message>(
                manager.handle, request_with(MAD_MGMT_CLASS_PERF, i + 1)));
            EXPECT_EQ(ibmf_msg_transport(manager.handle, IBMF_QP_HANDLE_DEFAULT, all[i]->ibmf_msg,
                                         &wanted[i], timed_message::completed, all[i].get(),
                                         IBMF_MSG_TRANS_FLAG_SEQ),
                      IBMF_SUCCESS);
        }
        sim.run();
        const auto delayed = static_cast<LONGLONG>(sim.delayed_time());
        for (std::size_t i = 0; i < all.size(); ++i) {
            EXPECT_NE(all[i]->ended, 0) << "not reported";
            EXPECT_LE(all[i]->ended - all[i]->begun, most_of(wanted[i]) + delayed);
        }
    });
}

/// Redirects some of the first responses of end 1 to itself.
void redirect_some(wire& on, sim_machine& sim) {
    on.tap = [&sim](unsigned from, auto& bytes) {
        const bool first = bytes[25] == 0 || (bytes[25] == 1 && bytes[31] == 1); // RMPP segment
        if (from == 0 || (bytes[3] & 0x80) == 0 || !first || sim.random() % 3 != 0) return true;
        bytes[5] = MAD_STATUS_REDIRECT_REQUIRED;
        bytes[16] = 0, bytes[17] = MAD_ATTR_ID_CLASSPORTINFO;
        bytes[26] = 0; // no RMPP
        UCHAR* const info = &bytes[56];
        std::fill_n(info, 72, UCHAR{0});
        info[29] = static_cast<UCHAR>(wire::lids[1]);
        info[30] = info[31] = 0xFF;
        info[35] = 1; // QP
        info[36] = 0x80, info[37] = 0x01;
        return true;
    };
}

TEST(IbmfDeadlines, ClientDeadline_HoldsOverQueueTransfersAndRedirects) {
    explore_options options;
    options.random_runs = 500;
    options.pct_runs = 200;
    std::map<int, unsigned> ends;
    std::uint64_t redirected = 0;
    const explore_summary seen = expect_explored(options, [&](sim_machine& sim) {
        wire joined({10, 8, 1'000});
        redirect_some(joined, sim);
        table_agent agent(1);
        agent.resize(3'000);
        const client_scope manager(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP);
        ibmf_limit_port(manager.handle, 2);
        std::vector<std::unique_ptr<timed_message>> all;
        std::vector<ibmf_retrans_t> wanted;
        for (unsigned i = 0; i < 6; ++i) {
            const bool both_ways = i % 2 != 0;
            wanted.push_back({5, 4'000, 1'000, 20'000 * (i + 1)});
            const request_of what{MAD_MGMT_CLASS_SUBN_ADM,
                                  static_cast<std::uint8_t>(both_ways ? 0x14 : 0x12), i + 1,
                                  wire::lids[1], both_ways ? 2'000u : 100u};
            all.push_back(std::make_unique<timed_message>(manager.handle, what));
            EXPECT_EQ(ibmf_msg_transport(manager.handle, IBMF_QP_HANDLE_DEFAULT, all[i]->ibmf_msg,
                                         &wanted[i], timed_message::completed, all[i].get(),
                                         IBMF_MSG_TRANS_FLAG_SEQ |
                                             (both_ways ? IBMF_MSG_TRANS_FLAG_RMPP : 0u)),
                      IBMF_SUCCESS);
        }
        sim.run();
        const auto delayed = static_cast<LONGLONG>(sim.delayed_time());
        for (std::size_t i = 0; i < all.size(); ++i) {
            EXPECT_NE(all[i]->ended, 0) << "not reported";
            EXPECT_LE(all[i]->ended - all[i]->begun,
                      wanted[i].retrans_trans_to * ticks_per_us + delayed);
            ++ends[all[i]->ibmf_msg->im_msg_status];
        }
        redirected += manager.stats().st_redirected;
    });
    EXPECT_GT(ends[IBMF_SUCCESS], seen.runs() / 7);
    EXPECT_GT(ends[IBMF_TRANS_TIMEOUT], seen.runs() / 7);
    EXPECT_GT(redirected, seen.runs() / 7);
}

} // namespace
