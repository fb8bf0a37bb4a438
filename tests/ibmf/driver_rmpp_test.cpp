// Transfers over a driver with RMPP of its own: whole messages pass in both directions, and the
// driver does not report a failed transfer.
#include "table_agent.hpp"

#include <dispatch/sim_machine.hpp>
#include <support/both_machines.hpp>

namespace {

using namespace irpverbs::testing;

struct wire_with_rmpp : wire {
    wire_with_rmpp() { keep_rmpp(); }
};

class DriverRmpp : public BothMachines {};

constexpr request_of table_query{MAD_MGMT_CLASS_SUBN_ADM, 0x12, 5};
constexpr request_of multi_query{MAD_MGMT_CLASS_SUBN_ADM, 0x14, 5, wire::lids[1], 5000};
constexpr uint_t both_ways = IBMF_MSG_TRANS_FLAG_RMPP | IBMF_MSG_TRANS_FLAG_SEQ;
constexpr ibmf_retrans_t quick{0, 20'000, 1'000, 50'000}; // us

struct sa_manager : client_scope {
    explicit sa_manager(uint_t flags = IBMF_REG_FLAG_RMPP)
        : client_scope(0, SUBN_ADM_MANAGER, flags) {}
};

TEST_P(DriverRmpp, TableOfAnyLength_ReceivedInOneBlock) {
    const wire_with_rmpp joined;
    table_agent agent(1);
    const sa_manager manager;
    for (const std::size_t size : {0u, 1u, 199u, 200u, 201u, 2000u, 300'000u}) {
        agent.resize(size);
        test_message msg(manager.handle, table_query);
        EXPECT_EQ(msg.send_and_wait(), IBMF_SUCCESS) << size;
        EXPECT_TRUE(std::ranges::equal(msg.received(), agent.table())) << size;
        EXPECT_EQ(msg.received_header().transaction_id, table_query.tid);
        const auto* const block =
            reinterpret_cast<const std::uint8_t*>(msg.ibmf_msg->im_msgbufs_recv.im_bufs_mad_hdr);
        EXPECT_EQ(msg.ibmf_msg->im_msgbufs_recv.im_bufs_cl_hdr, block + 24);
        EXPECT_EQ(msg.received().data(), block + 44);
    }
    agent.await_responses();
    EXPECT_EQ(agent.last_response_status(), IBMF_SUCCESS);
    EXPECT_EQ(agent.stats().st_datagrams_sent, 7u); // one datagram for each
}

TEST_P(DriverRmpp, LongRequest_GetsLongResponse) {
    const wire_with_rmpp joined;
    table_agent agent(1);
    agent.resize(3000);
    const sa_manager manager;
    test_message msg(manager.handle, multi_query);
    EXPECT_EQ(msg.send_and_wait(both_ways), IBMF_SUCCESS);
    EXPECT_TRUE(std::ranges::equal(msg.received(), agent.table()));
    EXPECT_EQ(agent.last_request_size(), 5000u);
    EXPECT_EQ(manager.stats().st_msgs_received, 1u);
}

TEST_P(DriverRmpp, UnsolicitedMessage_ReceivedWhole) {
    wire_with_rmpp joined;
    table_agent agent(1);
    KEVENT arrived;
    KeInitializeEvent(&arrived, NotificationEvent, FALSE);
    std::vector<std::uint8_t> received;
    agent.on_request = [&](auto data) {
        received.assign(data.begin(), data.end());
        KeSetEvent(&arrived, IO_NO_INCREMENT, FALSE);
    };
    const sa_manager manager;
    test_message msg(manager.handle, multi_query);
    EXPECT_EQ(msg.send_and_wait(IBMF_MSG_TRANS_FLAG_RMPP), IBMF_SUCCESS);
    KeWaitForSingleObject(&arrived, Executive, KernelMode, FALSE, nullptr);
    EXPECT_TRUE(std::ranges::equal(received, msg.data()));
    EXPECT_EQ(agent.stats().st_msgs_received, 1u);
}

TEST_P(DriverRmpp, SingleDatagramResponse_CompletesRequest) {
    const wire_with_rmpp joined;
    const echo_agent agent(1, SUBN_ADM_AGENT, IBMF_REG_FLAG_RMPP);
    const sa_manager manager;
    test_message msg(manager.handle, {MAD_MGMT_CLASS_SUBN_ADM});
    EXPECT_EQ(msg.send_and_wait(), IBMF_SUCCESS);
    EXPECT_EQ(msg.received().size(), 200u);
}

TEST_P(DriverRmpp, ResponseBeyondLimit_IsTruncated) {
    const wire_with_rmpp joined;
    table_agent agent(1);
    agent.resize(5000);
    const sa_manager manager;
    test_message msg(manager.handle, table_query);
    msg.ibmf_msg->im_msg_sz_limit = 1000;
    EXPECT_EQ(msg.send_and_wait(), IBMF_PARTIAL_TRANSFER);
    EXPECT_TRUE(std::ranges::equal(msg.received(), agent.table().first(1000)));
    ibmf_transfer_result_t end{1, B_TRUE, 1};
    ASSERT_EQ(ibmf_query_transfer(manager.handle, msg.ibmf_msg, &end), IBMF_SUCCESS);
    EXPECT_EQ(end.tr_status, 0); // the transfer was complete
}

// The first response is lost without a report.
TEST_P(DriverRmpp, LostTable_RequestIsRetried) {
    wire_with_rmpp joined;
    int responses = 0;
    joined.tap = [&](unsigned from, auto&) { return from == 0 || ++responses > 1; };
    table_agent agent(1);
    agent.resize(5000);
    const sa_manager manager;
    test_message msg(manager.handle, table_query);
    // The time suffices on a loaded machine.
    EXPECT_EQ(msg.send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, {1, 500'000, 100'000, 0}), IBMF_SUCCESS);
    EXPECT_EQ(manager.stats().st_retries, 1u);
    EXPECT_TRUE(std::ranges::equal(msg.received(), agent.table()));
}

TEST_P(DriverRmpp, TransferAbandonedByDriver_EndsAtDeadline) {
    wire_with_rmpp joined;
    joined.tap = [](unsigned, const auto&) { return false; };
    const sa_manager manager;
    test_message table(manager.handle, table_query);
    EXPECT_EQ(table.send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, quick), IBMF_TRANS_TIMEOUT);
    EXPECT_EQ(manager.stats().st_rmpp_errors, 0u); // no transfer had begun
    test_message request(manager.handle, multi_query);
    EXPECT_EQ(request.send_and_wait(both_ways, {3, 20'000, 1'000, 50'000}), IBMF_TRANS_TIMEOUT);
    EXPECT_EQ(joined.datagrams(), 2u);
    EXPECT_EQ(manager.stats().st_timeouts, 2u);
    EXPECT_EQ(manager.stats().st_rmpp_errors, 1u);
}

// The deadline is the client's; without one it is the sum for a received transfer of that size and
// the response.
TEST(DriverRmppTimers, LostLongRequest_EndsAtGivenOrDefaultDeadline) {
    irpverbs::dispatch::random_choices chance(1);
    irpverbs::dispatch::sim_machine machine(chance);
    const irpverbs::dispatch::machine::scope inside(machine);
    wire_with_rmpp joined;
    joined.tap = [](unsigned, const auto&) { return false; };
    const sa_manager manager;
    test_message request(manager.handle, multi_query);
    const auto time_of = [&](ibmf_retrans_t times) {
        const ULONGLONG before = KeQueryInterruptTime();
        EXPECT_EQ(request.send_and_wait(both_ways, times), IBMF_TRANS_TIMEOUT);
        return (KeQueryInterruptTime() - before) / 10'000; // ms
    };
    EXPECT_EQ(time_of({3, 20'000, 1'000, 50'000}), 50u);
    EXPECT_EQ(time_of({3, 900'000, 100'000, 0}), 41'000u);
    EXPECT_EQ(joined.datagrams(), 2u); // resending segments is up to the driver
}

// The repeated request has another ID, since the peer may remember the first one.
TEST_P(DriverRmpp, LongRequestToBusyPeer_IsRepeated) {
    wire_with_rmpp joined;
    std::vector<std::uint32_t> ids;
    joined.tap = [&](unsigned from, auto& bytes) {
        std::uint32_t id = 0;
        std::memcpy(&id, &bytes[12], sizeof id);
        if (from == 0) ids.push_back(id);
        if (from == 1 && ids.size() == 1) {
            bytes[5] |= MAD_STATUS_BUSY;
            bytes[26] = 0; // a single datagram
        }
        return true;
    };
    table_agent agent(1);
    agent.resize(3000);
    const sa_manager manager;
    test_message msg(manager.handle, multi_query);
    EXPECT_EQ(msg.send_and_wait(both_ways), IBMF_SUCCESS);
    EXPECT_TRUE(std::ranges::equal(msg.received(), agent.table()));
    EXPECT_EQ(manager.stats().st_busy, 1u);
    ASSERT_EQ(ids.size(), 2u);
    EXPECT_NE(ids[0], ids[1]);
}

TEST_P(DriverRmpp, ResponseOfWrongKind_IsUnexpected) {
    const wire_with_rmpp joined;
    table_agent agent(1);
    agent.resize(5000);
    {
        const sa_manager without(0);
        test_message msg(without.handle, table_query);
        EXPECT_EQ(msg.send_and_wait(), IBMF_UNEXP_TRANS_RECVD);
        EXPECT_EQ(msg.send_and_wait(IBMF_MSG_TRANS_FLAG_RMPP), IBMF_BAD_RMPP_OPT);
    }
    const sa_manager manager;
    test_message msg(manager.handle, multi_query);
    agent.as_one_datagram = true;
    EXPECT_EQ(msg.send_and_wait(both_ways), IBMF_UNEXP_TRANS_RECVD);
}

TEST_P(DriverRmpp, CancelOfLongRequest_EndsTransaction) {
    wire_with_rmpp joined;
    joined.tap = [](unsigned, const auto&) { return false; };
    const sa_manager manager;
    test_message msg(manager.handle, multi_query);
    ASSERT_EQ(msg.send(both_ways), IBMF_SUCCESS);
    EXPECT_EQ(ibmf_cancel_msg(manager.handle, msg.ibmf_msg), IBMF_SUCCESS);
    EXPECT_EQ(msg.status(), IBMF_TRANS_FAILURE);
    EXPECT_EQ(manager.stats().st_cancelled, 1u);
}

TEST_P(DriverRmpp, DriverSendFails_ReturnsTransportFailure) {
    wire_with_rmpp joined;
    joined.fail_sends(STATUS_IO_DEVICE_ERROR);
    const sa_manager manager;
    test_message msg(manager.handle, multi_query);
    EXPECT_EQ(msg.send_and_wait(IBMF_MSG_TRANS_FLAG_RMPP), IBMF_TRANSPORT_FAILURE);
    EXPECT_EQ(msg.send_and_wait(both_ways), IBMF_TRANSPORT_FAILURE);
}

// Random messages, first as they are, then with the header of an expected response.
TEST_P(DriverRmpp, RandomMessages_CountedOrDelivered) {
    wire_with_rmpp joined;
    const client_scope agent(0, SUBN_ADM_AGENT, IBMF_REG_FLAG_RMPP);
    const sa_manager manager;
    test_message waiting(manager.handle, table_query);
    std::array<UCHAR, IB_MAD_SIZE> request{};
    joined.tap = [&](unsigned, const auto& bytes) {
        request = bytes;
        return false;
    };
    ASSERT_EQ(waiting.send(), IBMF_SUCCESS);
    irpverbs::dispatch::detail::generator random(1);
    for (ULONG length = 0; length <= 2048; ++length)
        for (const bool responses : {false, true}) {
            std::vector<std::uint8_t> bytes(length);
            for (std::uint8_t& each : bytes)
                each = static_cast<std::uint8_t>(random.next());
            std::copy_n(request.begin(), std::min<std::size_t>(length, 24), bytes.begin());
            // of another slot generation
            if (responses && length > 13) bytes[3] |= 0x80, bytes[13] ^= 1;
            joined.inject(0, bytes.data(), length, wire::lids[1]);
        }
    joined.await_empty();
    EXPECT_EQ(manager.stats(B_TRUE).st_malformed, 2u * 56u); // shorter than the SA's headers
    EXPECT_EQ(manager.stats(B_TRUE).st_stale, 2048u - 55u);
    EXPECT_EQ(agent.stats().st_no_callback, 2048u - 55u);
    request[3] |= 0x80;
    joined.inject(0, request.data(), 57, wire::lids[1]);
    EXPECT_EQ(waiting.status(), IBMF_SUCCESS);
    EXPECT_EQ(waiting.received().size(), 1u);
}

TEST_P(DriverRmpp, DriverWithoutRmpp_RmppClassIsNotSupported) {
    wire_with_rmpp joined;
    joined.do_no_rmpp();
    const client_scope performance(0, PERF_MANAGER);
    ibmf_register_info_t info{wire::guids[0], 1, SUBN_ADM_MANAGER};
    ibmf_handle_t handle = nullptr;
    ibmf_impl_caps_t capabilities{};
    EXPECT_EQ(ibmf_register(&info, IBMF_VERSION, IBMF_REG_FLAG_RMPP, nullptr, nullptr, &handle,
                            &capabilities),
              IBMF_NOT_SUPPORTED);
}

IRPVERBS_ON_BOTH_MACHINES(DriverRmpp);

} // namespace
