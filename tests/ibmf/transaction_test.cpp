// Transactions over a wire: their ends and statuses.
#include "ibmf_client.hpp"

#include <engine/slot_table.hpp>
#include <support/both_machines.hpp>

namespace {

using namespace irpverbs::testing;
namespace ibmf = irpverbs::ibmf;

class IbmfTransactions : public BothMachines {};

constexpr ibmf_retrans_t quick{0, 20'000, 1'000, 0}; // us

request_of with_id(std::uint64_t tid) {
    request_of changed = performance;
    changed.tid = tid;
    return changed;
}

TEST_P(IbmfTransactions, Response_HasClientsTransactionIdAndData) {
    const wire joined;
    const echo_agent agent(1);
    const client_scope manager(0, PERF_MANAGER);
    test_message msg(manager.handle, with_id(0x0123456789ABCDEF));
    ASSERT_EQ(msg.send(), IBMF_SUCCESS);
    EXPECT_EQ(msg.status(), IBMF_SUCCESS);
    EXPECT_EQ(msg.level(), PASSIVE_LEVEL);
    EXPECT_EQ(msg.received_header().transaction_id, 0x0123456789ABCDEFu);
    EXPECT_EQ(msg.received_header().method, MAD_METHOD_GET_RESPONSE);
    ASSERT_GE(msg.received().size(), msg.data().size());
    EXPECT_TRUE(std::ranges::equal(msg.received().first(msg.data().size()), msg.data()));
}

TEST_P(IbmfTransactions, BlockingSend_ReturnsResultExceptAtDispatchLevel) {
    const wire joined;
    const echo_agent agent(1);
    const client_scope manager(0, PERF_MANAGER);
    test_message msg(manager.handle, performance);
    EXPECT_EQ(msg.send_and_wait(), IBMF_SUCCESS);
    EXPECT_EQ(msg.send_and_wait(), IBMF_SUCCESS); // again, with the same message
    const at_dispatch_level raised;
    EXPECT_EQ(msg.send_and_wait(), IBMF_INVALID_ARG);
}

TEST_P(IbmfTransactions, NoResponse_TimesOutAfterAllRetries) {
    wire joined;
    echo_agent agent(1);
    agent.silent = true;
    const client_scope manager(0, PERF_MANAGER);
    test_message msg(manager.handle, performance);
    ibmf_retrans_t times = quick;
    times.retrans_retries = 2;
    EXPECT_EQ(msg.send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, times), IBMF_TRANS_TIMEOUT);
    EXPECT_EQ(msg.ibmf_msg->im_msg_status, IBMF_TRANS_TIMEOUT);
    joined.await_empty();
    EXPECT_EQ(joined.datagrams(), 3u);
    EXPECT_EQ(manager.stats().st_retries, 2u);
    EXPECT_EQ(manager.stats().st_timeouts, 1u);
}

TEST_P(IbmfTransactions, LostRequest_IsResent) {
    wire joined;
    int seen = 0;
    joined.tap = [&](unsigned, auto&) { return ++seen != 1; };
    const echo_agent agent(1);
    const client_scope manager(0, PERF_MANAGER);
    test_message msg(manager.handle, performance);
    // Long enough for a loaded machine: the response to the second attempt must not be late.
    const ibmf_retrans_t times{1, 500'000, 100'000, 0};
    EXPECT_EQ(msg.send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, times), IBMF_SUCCESS);
}

TEST_P(IbmfTransactions, BusyPeer_RequestIsRepeatedWithoutRetry) {
    const wire joined;
    echo_agent agent(1);
    agent.change = [&](ib_mad_hdr_t& header) {
        if (agent.requests_received < 3) header.Status = __builtin_bswap16(MAD_STATUS_BUSY);
    };
    const client_scope manager(0, PERF_MANAGER);
    test_message msg(manager.handle, performance);
    EXPECT_EQ(msg.send_and_wait(), IBMF_SUCCESS);
    EXPECT_EQ(agent.requests_received, 3);
    EXPECT_EQ(manager.stats().st_busy, 2u);
}

TEST_P(IbmfTransactions, PeerStaysBusy_EndsAtDeadline) {
    const wire joined;
    echo_agent agent(1);
    agent.change = [](ib_mad_hdr_t& header) { header.Status = __builtin_bswap16(MAD_STATUS_BUSY); };
    const client_scope manager(0, PERF_MANAGER);
    test_message msg(manager.handle, performance);
    EXPECT_EQ(msg.send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, quick), IBMF_TRANS_TIMEOUT);
}

// A transaction ID is reused after half a million others at the earliest.
TEST(IbmfTransactionIds, FreedId_NotReusedForHalfMillionOthers) {
    struct entry {
        ibmf::table_slot slot;
    };
    ibmf::slot_table<entry> table;
    const std::uint32_t first = table.acquire([](entry&, auto&) {})->slot.key;
    table.release(*table.find(first));
    for (int i = 1; i < 500'000; ++i) {
        entry* const next = table.acquire([](entry&, auto&) {});
        ASSERT_NE(next->slot.key, first) << i;
        table.release(*next);
    }
    EXPECT_EQ(table.find(first), nullptr);
}

// Neighbouring transactions share a timer.
TEST_P(IbmfTransactions, TimeOuts_OfDifferentLengths_EndInTheirOrder) {
    const wire joined;
    const client_scope manager(0, PERF_MANAGER);
    const std::array<uint32_t, 4> milliseconds{40, 10, 30, 20};
    std::vector<std::unique_ptr<test_message>> all;
    for (int round = 0; round < 3; ++round) // later rounds use slots again
        for (const uint32_t each : milliseconds) {
            all.push_back(std::make_unique<test_message>(manager.handle, with_id(all.size() + 1)));
            ASSERT_EQ(all.back()->send(IBMF_MSG_TRANS_FLAG_SEQ, {0, each * 1'000, 1'000, 0}),
                      IBMF_SUCCESS);
            if (round != 0) continue;
            EXPECT_EQ(ibmf_cancel_msg(manager.handle, all.back()->ibmf_msg), IBMF_SUCCESS);
        }
    for (std::size_t i = 4; i < all.size(); ++i)
        EXPECT_EQ(all[i]->status(), IBMF_TRANS_TIMEOUT);
    if (!simulated()) return; // a real thread may be late, and the coarse clock it reads may lag
    for (std::size_t i = 4; i < all.size(); ++i)
        EXPECT_GE(all[i]->took(), milliseconds[i % 4] * 10'000ull);
    EXPECT_LT(all[5]->took(), all[7]->took());
    EXPECT_LT(all[7]->took(), all[6]->took());
    EXPECT_LT(all[6]->took(), all[4]->took());
}

TEST_P(IbmfTransactions, DuplicateIdOfOneClient_IsRefused) {
    const wire joined;
    echo_agent agent(1);
    agent.silent = true;
    const client_scope manager(0, PERF_MANAGER);
    const client_scope other(0, BM_MANAGER);
    test_message first(manager.handle, with_id(7));
    test_message second(manager.handle, with_id(7));
    test_message third(manager.handle, with_id(8));
    ASSERT_EQ(first.send(IBMF_MSG_TRANS_FLAG_SEQ, quick), IBMF_SUCCESS);
    EXPECT_EQ(second.send(IBMF_MSG_TRANS_FLAG_SEQ, quick), IBMF_TID_IN_USE);
    EXPECT_EQ(second.calls(), 0);
    EXPECT_EQ(manager.stats().st_tids_in_use, 1u);
    EXPECT_EQ(manager.stats(B_TRUE).st_tids_in_use, 1u);
    EXPECT_EQ(other.stats().st_tids_in_use, 0u);
    EXPECT_EQ(third.send(IBMF_MSG_TRANS_FLAG_SEQ, quick), IBMF_SUCCESS);
    EXPECT_EQ(first.status(), IBMF_TRANS_TIMEOUT);
    EXPECT_EQ(second.send(IBMF_MSG_TRANS_FLAG_SEQ, quick), IBMF_SUCCESS);
}

TEST_P(IbmfTransactions, MessageDuringSend_IsBusy) {
    const wire joined;
    const client_scope manager(0, PERF_MANAGER);
    test_message msg(manager.handle, performance);
    ASSERT_EQ(msg.send(IBMF_MSG_TRANS_FLAG_SEQ, quick), IBMF_SUCCESS);
    EXPECT_EQ(ibmf_msg_transport(manager.handle, nullptr, msg.ibmf_msg, nullptr, nullptr, nullptr,
                                 IBMF_MSG_TRANS_FLAG_SEQ),
              IBMF_BUSY);
    ibmf_msg_t* copy = msg.ibmf_msg;
    EXPECT_EQ(ibmf_free_msg(manager.handle, &copy), IBMF_BUSY);
    EXPECT_EQ(msg.status(), IBMF_TRANS_TIMEOUT);
}

TEST_P(IbmfTransactions, CancelledTransaction_EndsOnce) {
    wire joined;
    joined.set_faults({0, 0, 5000});
    const echo_agent agent(1);
    const client_scope manager(0, PERF_MANAGER);
    test_message msg(manager.handle, performance);
    EXPECT_EQ(ibmf_cancel_msg(manager.handle, msg.ibmf_msg), IBMF_FAILURE);
    ASSERT_EQ(msg.send(), IBMF_SUCCESS);
    EXPECT_EQ(ibmf_cancel_msg(manager.handle, msg.ibmf_msg), IBMF_SUCCESS);
    EXPECT_EQ(msg.status(), IBMF_TRANS_FAILURE);
    EXPECT_EQ(manager.stats().st_cancelled, 1u);
    EXPECT_EQ(msg.calls(), 1);
}

TEST_P(IbmfTransactions, InvalidSend_ReturnsItsStatus) {
    wire joined;
    const client_scope manager(0, PERF_MANAGER);
    test_message msg(manager.handle, performance);
    const auto status_of_send = [&](auto change, uint_t flags = 0) {
        ibmf_msg_t kept = *msg.ibmf_msg;
        change(*msg.ibmf_msg);
        const int status = msg.send(flags, quick);
        *msg.ibmf_msg = kept;
        return status;
    };
    const auto nothing = [](ibmf_msg_t&) {};
    EXPECT_EQ(status_of_send(nothing, 4), IBMF_INVALID_ARG);
    EXPECT_EQ(status_of_send([](auto& m) { m.im_msgbufs_send.im_bufs_mad_hdr = nullptr; }),
              IBMF_BAD_SIZE);
    EXPECT_EQ(status_of_send([](auto& m) { m.im_msgbufs_send.im_bufs_cl_data_len = 193; }),
              IBMF_BAD_SIZE);
    EXPECT_EQ(
        status_of_send([](auto& m) { m.im_msgbufs_send.im_bufs_cl_data_len = ~std::size_t{0}; }),
        IBMF_BAD_SIZE);
    EXPECT_EQ(status_of_send([](auto& m) { m.im_msgbufs_send.im_bufs_mad_hdr->MgmtClass = 5; }),
              IBMF_BAD_QP_HANDLE);
    msg.ibmf_msg->im_msgbufs_send.im_bufs_mad_hdr->MgmtClass = MAD_MGMT_CLASS_PERF;
    EXPECT_EQ(status_of_send([](auto& m) { m.im_local_addr.ia_p_key = 0x0777; }),
              IBMF_BAD_QP_HANDLE);
    EXPECT_EQ(status_of_send(nothing, IBMF_MSG_TRANS_FLAG_RMPP), IBMF_BAD_RMPP_OPT);
    EXPECT_EQ(ibmf_msg_transport(manager.handle, reinterpret_cast<ibmf_qp_handle_t>(1),
                                 msg.ibmf_msg, nullptr, nullptr, nullptr, 0),
              IBMF_BAD_QP_HANDLE);
    joined.set_state(0, IB_PORT_DOWN);
    EXPECT_EQ(status_of_send(nothing), IBMF_BAD_PORT_STATE);
    EXPECT_EQ(msg.calls(), 0);
}

// A limited and a full member of one partition.
TEST_P(IbmfTransactions, AnyPKeyOfPort_IsAccepted) {
    const wire joined;
    const echo_agent agent(1);
    const client_scope manager(0, PERF_MANAGER);
    test_message msg(manager.handle, performance);
    for (const ib_pkey_t key : std::initializer_list<ib_pkey_t>{0xFFFF, 0x7FFF, 0x8123, 0x0123}) {
        msg.ibmf_msg->im_local_addr.ia_p_key = key;
        EXPECT_EQ(msg.send_and_wait(), IBMF_SUCCESS) << key;
    }
}

TEST_P(IbmfTransactions, DriverSendFails_ReturnsTransportFailure) {
    wire joined;
    joined.fail_sends(STATUS_IO_DEVICE_ERROR);
    const client_scope manager(0, PERF_MANAGER);
    test_message msg(manager.handle, performance);
    EXPECT_EQ(msg.send_and_wait(), IBMF_TRANSPORT_FAILURE);
    EXPECT_EQ(msg.send_and_wait(0), IBMF_TRANSPORT_FAILURE);
    EXPECT_EQ(manager.stats().st_send_failures, 2u);
}

TEST_P(IbmfTransactions, HcaFails_AllTransactionsEnd) {
    const wire joined;
    const client_scope manager(0, PERF_MANAGER, 0, [](auto...) {});
    test_message msg(manager.handle, performance);
    ASSERT_EQ(msg.send(), IBMF_SUCCESS);
    HcaReportFatal(joined.fdo(0));
    EXPECT_EQ(msg.status(), IBMF_TRANSPORT_FAILURE);
    EXPECT_EQ(msg.send(), IBMF_BAD_PORT_STATE);
}

// Reuse rule 1: the received buffers may be sent as a response, but not as a new request.
TEST_P(IbmfTransactions, ReceivedBuffersInSequencedSend_AreRefused) {
    const wire joined;
    const echo_agent agent(1);
    const client_scope manager(0, PERF_MANAGER);
    test_message msg(manager.handle, performance);
    ASSERT_EQ(msg.send_and_wait(), IBMF_SUCCESS);
    const ibmf_msg_bufs_t own = msg.ibmf_msg->im_msgbufs_send;
    msg.ibmf_msg->im_msgbufs_send = msg.ibmf_msg->im_msgbufs_recv;
    EXPECT_EQ(msg.send_and_wait(), IBMF_REQ_INVALID);
    EXPECT_EQ(msg.send_and_wait(0), IBMF_SUCCESS);
    msg.ibmf_msg->im_msgbufs_send = own;
    EXPECT_EQ(msg.send_and_wait(), IBMF_SUCCESS); // rule 2: the old ones are freed
}

TEST_P(IbmfTransactions, ResponseBeyondLimit_IsTruncated) {
    const wire joined;
    const echo_agent agent(1);
    const client_scope manager(0, PERF_MANAGER);
    test_message msg(manager.handle, performance);
    msg.ibmf_msg->im_msg_sz_limit = 10;
    EXPECT_EQ(msg.send_and_wait(), IBMF_PARTIAL_TRANSFER);
    EXPECT_EQ(msg.received().size(), 10u);
}

TEST_P(IbmfTransactions, PortAtLimit_QueueIsServedUrgentFirst) {
    wire joined;
    // A datagram may still be on its way to the driver when its transaction ends.
    std::array<std::atomic<UCHAR>, 64> order{};
    std::atomic<std::size_t> sent{0};
    joined.tap = [&](unsigned from, auto& bytes) {
        if (from == 0) order[sent.fetch_add(1) % order.size()] = bytes[64];
        return false;
    };
    const client_scope manager(0, PERF_MANAGER);
    const client_scope other(0, BM_MANAGER);
    ASSERT_EQ(ibmf_limit_port(manager.handle, 0), IBMF_INVALID_ARG);
    ASSERT_EQ(ibmf_limit_port(manager.handle, 1), IBMF_SUCCESS);
    std::vector<std::unique_ptr<test_message>> all;
    const auto ask = [&](const client_scope& by, std::uint8_t mgmt_class, UCHAR tid,
                         std::uint32_t flags = 0) {
        request_of what{mgmt_class};
        what.tid = tid;
        all.push_back(std::make_unique<test_message>(by.handle, what));
        all.back()->ibmf_msg->im_msg_flags = flags;
        ASSERT_EQ(all.back()->send(IBMF_MSG_TRANS_FLAG_SEQ, quick), IBMF_SUCCESS);
    };
    for (const UCHAR tid : std::initializer_list<UCHAR>{1, 2, 3})
        ask(manager, MAD_MGMT_CLASS_PERF, tid);
    for (const UCHAR tid : std::initializer_list<UCHAR>{11, 12})
        ask(other, MAD_MGMT_CLASS_BM, tid);
    ask(manager, MAD_MGMT_CLASS_PERF, 4, IBMF_MSG_FLAGS_URGENT);
    EXPECT_EQ(manager.stats(B_TRUE).st_in_flight, 1u);
    EXPECT_EQ(manager.stats(B_TRUE).st_queued, 5u);
    EXPECT_EQ(other.stats().st_queued, 2u);
    for (const auto& each : all)
        EXPECT_EQ(each->status(), IBMF_TRANS_TIMEOUT);
    // The deadline includes the wait in the queue, so the last ones were never sent.
    ASSERT_GE(sent, 2u);
    EXPECT_EQ(order[0], 1);
    EXPECT_EQ(order[1], 4);
}

TEST_P(IbmfTransactions, PortLimitRaised_QueuedRequestsAreSent) {
    const wire joined;
    const echo_agent agent(1);
    const client_scope manager(0, PERF_MANAGER);
    ASSERT_EQ(ibmf_limit_port(manager.handle, 2), IBMF_SUCCESS);
    std::vector<std::unique_ptr<test_message>> all;
    for (unsigned tid = 1; tid <= 50; ++tid) {
        all.push_back(std::make_unique<test_message>(manager.handle, with_id(tid)));
        ASSERT_EQ(all.back()->send(), IBMF_SUCCESS);
        if (tid == 25) {
            ASSERT_EQ(ibmf_limit_port(manager.handle, 64), IBMF_SUCCESS);
        }
    }
    for (const auto& each : all)
        EXPECT_EQ(each->status(), IBMF_SUCCESS);
}

/// Sends to the other end by its GID.
void route_globally(ibmf_msg_t& msg, unsigned from, unsigned to) {
    msg.im_msg_flags |= IBMF_MSG_FLAGS_GLOBAL_ADDRESS;
    msg.im_global_addr = {wire::gid_of(from), wire::gid_of(to), 0, 0, 64};
}

/// Keeps the global route of the requests that it receives, and responds from their buffers, by a
/// route that `turn` may change.
struct route_keeper : client_scope {
    route_keeper() : client_scope(1, PERF_AGENT, IBMF_REG_FLAG_NO_OFFLOAD) {
        listen(respond, this);
    }
    static void respond(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
        auto& self = *static_cast<route_keeper*>(context);
        self.flags = msg->im_msg_flags;
        self.route = msg->im_global_addr;
        msg->im_msgbufs_send = msg->im_msgbufs_recv;
        msg->im_msgbufs_send.im_bufs_mad_hdr->R_Method |= MAD_RESPONSE_BIT;
        if (self.turns)
            std::swap(msg->im_global_addr.ig_sender_gid, msg->im_global_addr.ig_recver_gid);
        const auto free = [](ibmf_handle_t by, ibmf_msg_t* sent, void*) {
            EXPECT_EQ(ibmf_free_msg(by, &sent), IBMF_SUCCESS);
        };
        EXPECT_EQ(
            ibmf_msg_transport(handle, IBMF_QP_HANDLE_DEFAULT, msg, nullptr, free, nullptr, 0),
            IBMF_SUCCESS);
    }
    std::atomic<bool> turns{false};
    std::atomic<std::uint32_t> flags{0};
    ibmf_global_addr_info_t route{};
};

bool same(const ib_gid_t& left, const ib_gid_t& right) {
    return left.gid_prefix == right.gid_prefix && left.gid_guid == right.gid_guid;
}

TEST_P(IbmfTransactions, GlobalRoute_OfAReceivedMessage_NamesItsSenderAndLeadsBackTurnedOrNot) {
    wire joined;
    std::atomic<bool> back{true};
    joined.sending = [&](unsigned from, const IB_MAD_SEND& what) {
        if (from == 1) back = back && same(what.To.Gid, wire::gid_of(0)) && what.To.GidIndex == 0;
    };
    route_keeper agent;
    const client_scope manager(0, PERF_MANAGER);
    for (const bool turns : {false, true}) {
        agent.turns = turns;
        test_message msg(manager.handle, performance);
        route_globally(*msg.ibmf_msg, 0, 1);
        EXPECT_EQ(msg.send_and_wait(), IBMF_SUCCESS);
        EXPECT_TRUE((agent.flags & IBMF_MSG_FLAGS_GLOBAL_ADDRESS) != 0);
        EXPECT_TRUE(same(agent.route.ig_sender_gid, wire::gid_of(0)));
        EXPECT_TRUE(same(agent.route.ig_recver_gid, wire::gid_of(1)));
        EXPECT_TRUE(back) << turns;
        while (agent.stats().st_msgs_alloced != 0)
            KeStallExecutionProcessor(10);
    }
}

// A message to the own port, and one without a source, go where their address says.
TEST_P(IbmfTransactions, GlobalRoute_ToThePortItself_IsNotTurned) {
    wire joined;
    ib_gid_t sent_to{};
    joined.sending = [&](unsigned, const IB_MAD_SEND& what) { sent_to = what.To.Gid; };
    const client_scope manager(0, PERF_MANAGER);
    test_message msg(manager.handle, performance);
    route_globally(*msg.ibmf_msg, 0, 0);
    for (const ib_gid_t& sender : {wire::gid_of(0), ib_gid_t{}}) {
        msg.ibmf_msg->im_global_addr.ig_sender_gid = sender;
        EXPECT_EQ(msg.send_and_wait(0), IBMF_SUCCESS);
        EXPECT_TRUE(same(sent_to, wire::gid_of(0)));
    }
}

IRPVERBS_ON_BOTH_MACHINES(IbmfTransactions);

} // namespace
