// Responses, time-outs, cancels and unregistering against each other, under every schedule, over a
// wire that loses, duplicates and reorders datagrams.
#include "table_agent.hpp"

#include <support/explore_gtest.hpp>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

constexpr ibmf_retrans_t one_retry{1, 2'000, 500, 0};
constexpr wire_faults bad_wire{4, 4, 4'000};

explore_options campaign() {
    explore_options options;
    options.random_runs = 1500;
    options.pct_runs = 1500;
    return options;
}

void expect_nothing_left(const client_scope& client) {
    const ibmf_stats_t left = client.stats(B_TRUE);
    EXPECT_EQ(left.st_in_flight, 0u);
    EXPECT_EQ(left.st_queued, 0u);
    EXPECT_EQ(left.st_sends_active, 0u);
    EXPECT_EQ(left.st_callbacks_active, 0u);
}

TEST(IbmfTransactionRaces, ResponseCancelAndTimeout_EndTransactionOnce) {
    for (const uint_t flags :
         {0u, unsigned{IBMF_REG_FLAG_NO_OFFLOAD}, unsigned{IBMF_REG_FLAG_SINGLE_OFFLOAD}})
        expect_explored(campaign(), [=](sim_machine& sim) {
            wire joined(bad_wire);
            const echo_agent agent(1);
            const client_scope manager(0, PERF_MANAGER, flags);
            test_message first(manager.handle, performance);
            request_of another = performance;
            another.tid = 2;
            test_message second(manager.handle, another);
            sim.spawn("first", [&] { first.send(IBMF_MSG_TRANS_FLAG_SEQ, one_retry); });
            sim.spawn("second", [&] { second.send(IBMF_MSG_TRANS_FLAG_SEQ, one_retry); });
            sim.spawn("cancel", [&] { ibmf_cancel_msg(manager.handle, first.ibmf_msg); });
            sim.run();
            EXPECT_EQ(first.calls(), 1);
            EXPECT_EQ(second.calls(), 1);
            const KIRQL level = flags == IBMF_REG_FLAG_NO_OFFLOAD ? DISPATCH_LEVEL : PASSIVE_LEVEL;
            EXPECT_EQ(first.level(), level);
            EXPECT_EQ(second.level(), level);
            EXPECT_EQ(manager.stats().st_transactions, 0u);
            expect_nothing_left(manager);
        });
}

// Frees its message in the callback, after which the client may be unregistered, and one actor does
// that.
struct leaver {
    ibmf_handle_t handle = nullptr;
    bool inside = false; // the callback unregisters, too
    int left = 0;

    void leave() {
        ibmf_handle_t copy = handle;
        const int status = ibmf_unregister(&copy, 0);
        if (status == IBMF_SUCCESS) ++left;
        EXPECT_TRUE(status == IBMF_SUCCESS || status == IBMF_BUSY || status == IBMF_BAD_HANDLE);
    }
    static void on_sent(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
        auto& self = *static_cast<leaver*>(context);
        EXPECT_EQ(self.left, 0) << "a callback after unregistering";
        EXPECT_EQ(ibmf_free_msg(handle, &msg), IBMF_SUCCESS);
        if (self.inside) self.leave();
    }
};

TEST(IbmfTransactionRaces, ConcurrentUnregisters_OneSucceeds) {
    for (const bool inside : {false, true})
        for (const uint_t flags : {0u, unsigned{IBMF_REG_FLAG_SINGLE_OFFLOAD}})
            expect_explored(campaign(), [=](sim_machine& sim) {
                wire joined(bad_wire);
                const echo_agent agent(1);
                client_scope manager(0, PERF_MANAGER, flags);
                leaver it{manager.handle, inside};
                manager.handle = nullptr;
                ibmf_msg_t* msg = nullptr;
                ASSERT_EQ(ibmf_alloc_msg(it.handle, IBMF_ALLOC_SLEEP, &msg), IBMF_SUCCESS);
                test_message made(it.handle, performance);
                *msg = *made.ibmf_msg;
                sim.spawn("send", [&] {
                    ibmf_retrans_t times = one_retry;
                    EXPECT_EQ(ibmf_free_msg(it.handle, &made.ibmf_msg), IBMF_SUCCESS);
                    EXPECT_EQ(ibmf_msg_transport(it.handle, nullptr, msg, &times, leaver::on_sent,
                                                 &it, IBMF_MSG_TRANS_FLAG_SEQ),
                              IBMF_SUCCESS);
                });
                sim.spawn("leave", [&] { it.leave(); });
                sim.spawn("leave too", [&] { it.leave(); });
                sim.run();
                if (it.left == 0) it.leave();
                EXPECT_EQ(it.left, 1);
            });
}

// Three actors: two free the message and one sends it.
TEST(IbmfTransactionRaces, ConcurrentFreesAndSend_MessageIsFreedOnce) {
    expect_explored(campaign(), [](sim_machine& sim) {
        const wire joined;
        const client_scope manager(0, PERF_MANAGER);
        test_message made(manager.handle, performance);
        ibmf_msg_t* msg = nullptr;
        ASSERT_EQ(ibmf_alloc_msg(manager.handle, IBMF_ALLOC_SLEEP, &msg), IBMF_SUCCESS);
        *msg = *made.ibmf_msg;
        int freed = 0;
        int ended = 0;
        int sent = IBMF_FAILURE;
        const auto free = [&] {
            ibmf_msg_t* copy = msg;
            const int status = ibmf_free_msg(manager.handle, &copy);
            if (status == IBMF_SUCCESS) ++freed;
            EXPECT_TRUE(status == IBMF_SUCCESS || status == IBMF_BUSY || status == IBMF_BAD_HANDLE);
        };
        const auto note = [](ibmf_handle_t, ibmf_msg_t*, void* count) {
            ++*static_cast<int*>(count);
        };
        sim.spawn("free", free);
        sim.spawn("free too", free);
        sim.spawn("send", [&] {
            ibmf_retrans_t times = one_retry;
            sent = ibmf_msg_transport(manager.handle, nullptr, msg, &times, note, &ended,
                                      IBMF_MSG_TRANS_FLAG_SEQ);
        });
        sim.run();
        EXPECT_TRUE(sent == IBMF_SUCCESS || sent == IBMF_INVALID_ARG);
        EXPECT_EQ(ended, sent == IBMF_SUCCESS ? 1 : 0);
        if (freed == 0) free();
        EXPECT_EQ(freed, 1);
        expect_nothing_left(manager);
    });
}

TEST(IbmfTransactionRaces, HcaFailsDuringSend_TransactionEndsOnce) {
    for (const ibmf_async_event_cb_t on_event :
         {ibmf_async_event_cb_t{[](auto...) {}}, ibmf_async_event_cb_t{}})
        expect_explored(campaign(), [=](sim_machine& sim) {
            wire joined(bad_wire);
            const client_scope manager(0, PERF_MANAGER, 0, on_event);
            test_message msg(manager.handle, performance);
            int status = IBMF_FAILURE;
            sim.spawn("send", [&] { status = msg.send(IBMF_MSG_TRANS_FLAG_SEQ, one_retry); });
            sim.spawn("fail", [&] { HcaReportFatal(joined.fdo(0)); });
            sim.run();
            EXPECT_TRUE(status == IBMF_SUCCESS || status == IBMF_BAD_PORT_STATE);
            EXPECT_EQ(msg.calls(), status == IBMF_SUCCESS ? 1 : 0);
            expect_nothing_left(manager);
        });
}

// Two threads use one message: each call is refused or takes effect, and the message is freed once.
TEST(IbmfTransactionRaces, TwoThreadsOnOneMessage_EndedAndFreedOnce) {
    enum class act { send, free, cancel };
    constexpr std::pair<act, act> pairs[] = {{act::free, act::free},
                                             {act::send, act::free},
                                             {act::send, act::send},
                                             {act::cancel, act::free}};
    for (const auto& [one, other] : pairs)
        expect_explored(campaign(), [=](sim_machine& sim) {
            wire joined(bad_wire);
            const echo_agent agent(1);
            const client_scope manager(0, PERF_MANAGER);
            test_message msg(manager.handle, performance);
            ibmf_msg_t* const ibmf_msg = msg.ibmf_msg;
            const bool under_way = one == act::cancel;
            if (under_way) msg.send(IBMF_MSG_TRANS_FLAG_SEQ, one_retry);
            int sent = 0;
            int freed = 0;
            const auto play = [&](act what) {
                ibmf_msg_t* mine = ibmf_msg;
                int status = IBMF_SUCCESS;
                if (what == act::send) {
                    status = msg.send(IBMF_MSG_TRANS_FLAG_SEQ, one_retry);
                    sent += status == IBMF_SUCCESS;
                } else if (what == act::free) {
                    status = ibmf_free_msg(manager.handle, &mine);
                    freed += status == IBMF_SUCCESS;
                } else {
                    status = ibmf_cancel_msg(manager.handle, mine);
                }
                const bool ended_before = what == act::cancel && status == IBMF_FAILURE;
                EXPECT_TRUE(status == IBMF_SUCCESS || status == IBMF_BUSY ||
                            status == IBMF_INVALID_ARG || status == IBMF_BAD_HANDLE || ended_before)
                    << status;
            };
            sim.spawn("one", [&] { play(one); });
            sim.spawn("other", [&] { play(other); });
            sim.run();
            EXPECT_LE(freed, 1);
            EXPECT_EQ(msg.calls(), sent + under_way);
            if (freed == 1) msg.ibmf_msg = nullptr;
        });
}

TEST(IbmfTransactionRaces, TearDownDuringReceive_NoCallbackAfterwards) {
    expect_explored(campaign(), [](sim_machine& sim) {
        wire joined;
        const client_scope agent(1, PERF_AGENT);
        const client_scope manager(0, PERF_MANAGER);
        struct state {
            bool torn_down = false;
            int requests_received = 0;
        } seen;
        agent.listen(
            [](ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
                auto& self = *static_cast<state*>(context);
                EXPECT_FALSE(self.torn_down);
                ++self.requests_received;
                EXPECT_EQ(ibmf_free_msg(handle, &msg), IBMF_SUCCESS);
            },
            &seen);
        test_message msg(manager.handle, performance);
        sim.spawn("send", [&] { msg.send(0); });
        sim.spawn("tear down", [&] {
            EXPECT_EQ(ibmf_tear_down_async_cb(agent.handle, nullptr, 0), IBMF_SUCCESS);
            seen.torn_down = true;
        });
        sim.run();
        EXPECT_LE(seen.requests_received, 1);
        EXPECT_EQ(agent.stats().st_no_callback + static_cast<unsigned>(seen.requests_received), 1u);
        EXPECT_EQ(agent.stats().st_msgs_alloced, 0u);
    });
}

TEST(IbmfTransactionRaces, SingleOffload_CallbacksDoNotOverlap) {
    expect_explored(campaign(), [](sim_machine& sim) {
        wire joined;
        const client_scope agent(1, PERF_AGENT, IBMF_REG_FLAG_SINGLE_OFFLOAD);
        const client_scope manager(0, PERF_MANAGER);
        struct state {
            sim_machine& sim;
            int inside = 0;
            int requests_received = 0;
        } seen{sim};
        agent.listen(
            [](ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
                auto& self = *static_cast<state*>(context);
                EXPECT_EQ(self.inside++, 0);
                self.sim.yield();
                ++self.requests_received;
                --self.inside;
                EXPECT_EQ(ibmf_free_msg(handle, &msg), IBMF_SUCCESS);
            },
            &seen);
        test_message first(manager.handle, performance);
        test_message second(manager.handle, performance);
        sim.spawn("first", [&] { first.send(0); });
        sim.spawn("second", [&] { second.send(0); });
        sim.run();
        EXPECT_EQ(seen.requests_received, 2);
    });
}

// The table arrives whole or not at all, whatever the wire does, and both sides end.
TEST(IbmfTransactionRaces, TransferOverFaultyWire_IsWholeOrFails) {
    explore_options options = campaign();
    options.random_runs = 500;
    options.pct_runs = 300;
    expect_explored(options, [](sim_machine& sim) {
        wire joined({10, 10, 3'000});
        table_agent agent(1);
        agent.resize(4000);
        const client_scope manager(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP);
        request_of query{MAD_MGMT_CLASS_SUBN_ADM, 0x12};
        test_message whole(manager.handle, query);
        query = {MAD_MGMT_CLASS_SUBN_ADM, 0x14, 2};
        query.data_size = 1500;
        test_message both(manager.handle, query);
        const ibmf_retrans_t times{6, 20'000, 5'000, 0};
        sim.spawn("query", [&] { whole.send(IBMF_MSG_TRANS_FLAG_SEQ, times); });
        sim.spawn("double-sided",
                  [&] { both.send(IBMF_MSG_TRANS_FLAG_SEQ | IBMF_MSG_TRANS_FLAG_RMPP, times); });
        sim.spawn("cancel", [&] {
            if (sim.source().fires("cancel", 4)) ibmf_cancel_msg(manager.handle, both.ibmf_msg);
        });
        sim.run();
        for (test_message* each : {&whole, &both}) {
            EXPECT_EQ(each->calls(), 1);
            if (each->status() == IBMF_SUCCESS) {
                EXPECT_TRUE(std::ranges::equal(each->received(), agent.table()));
            }
        }
        expect_nothing_left(manager);
        expect_nothing_left(agent);
        EXPECT_EQ(agent.stats().st_transactions, 0u);
        EXPECT_EQ(manager.stats().st_transactions, 0u);
    });
}

} // namespace
