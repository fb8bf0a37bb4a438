// RMPP through the whole of IBMF: responses in many datagrams, requests in many datagrams, and
// peers that abort.
#include "table_agent.hpp"

#include <support/both_machines.hpp>

#include <boost/endian/conversion.hpp>

namespace {

using namespace irpverbs::testing;
namespace ibmf = irpverbs::ibmf;

class IbmfTransfers : public BothMachines {};

constexpr request_of table_query{MAD_MGMT_CLASS_SUBN_ADM, 0x12, 5};
constexpr request_of multi_query{MAD_MGMT_CLASS_SUBN_ADM, 0x14, 5, wire::lids[1], 5000};

// Defect D2: reallocation of the block of a response without an announced length left its pointers
// dangling.
TEST_P(IbmfTransfers, TableOfAnyLength_ReceivedInOneBlock) {
    const wire joined;
    table_agent agent(1);
    const client_scope manager(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP);
    for (const std::size_t size : {0u, 1u, 199u, 200u, 201u, 2000u, 20'000u, 300'000u}) {
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
}

/// Reads a response only when about as much is unread as closes the window.
struct lazy_reader {
    static constexpr std::size_t segment_data = 200;
    static constexpr std::size_t held_up_at = 64u << 10;

    explicit lazy_reader(wire& on) {
        on.tap = [this](unsigned from, const auto& bytes) {
            const bool data = from == 1 && (bytes[26] & 1) != 0 && bytes[25] == 1;
            const std::size_t segment = boost::endian::load_big_u32(&bytes[28]);
            if (data && segment > sent) sent = segment;
            return true;
        };
    }
    static void on_data(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
        auto& self = *static_cast<lazy_reader*>(context);
        if (self.sent * segment_data < self.got.size() + held_up_at) return;
        const std::size_t unread = self.sent * segment_data - self.got.size();
        self.most = std::max(self.most, unread);
        std::array<std::uint8_t, 8192> piece;
        for (std::size_t length = 1; length != 0;) {
            length = piece.size();
            EXPECT_EQ(ibmf_read_msg(handle, msg, piece.data(), &length), IBMF_SUCCESS);
            self.got.insert(self.got.end(), piece.begin(), piece.begin() + length);
        }
    }

    std::atomic<std::size_t> sent{0};
    std::size_t most = 0;
    std::vector<std::uint8_t> got;
};

void expect_held_up(const request_of& what, uint_t flags) {
    wire joined;
    lazy_reader reader(joined);
    table_agent agent(1);
    agent.resize(200'000);
    const client_scope manager(0, SUBN_ADM_MANAGER,
                               IBMF_REG_FLAG_RMPP | IBMF_REG_FLAG_SINGLE_OFFLOAD);
    test_message msg(manager.handle, what);
    EXPECT_EQ(ibmf_stream_msg(manager.handle, msg.ibmf_msg, lazy_reader::on_data, &reader),
              IBMF_SUCCESS);
    EXPECT_EQ(msg.send(flags), IBMF_SUCCESS);
    EXPECT_EQ(msg.status(), IBMF_SUCCESS);
    constexpr std::size_t headers = 44;
    constexpr std::size_t window = 64;
    EXPECT_GE(reader.got.size(), lazy_reader::held_up_at);
    EXPECT_LE(reader.most,
              lazy_reader::held_up_at + (window + 1) * lazy_reader::segment_data + headers);
    reader.got.insert(reader.got.end(), msg.received().begin(), msg.received().end());
    EXPECT_EQ(msg.received_header().transaction_id, what.tid);
    EXPECT_TRUE(std::ranges::equal(std::span(reader.got).subspan(headers), agent.table()));
}

TEST_P(IbmfTransfers, UnreadStreamedResponse_HoldsPeer) {
    expect_held_up(table_query, IBMF_MSG_TRANS_FLAG_SEQ);
}

TEST_P(IbmfTransfers, UnreadStreamedResponseToLongRequest_HoldsPeer) {
    expect_held_up(multi_query, IBMF_MSG_TRANS_FLAG_SEQ | IBMF_MSG_TRANS_FLAG_RMPP);
}

/// Reads while it is allowed to.
struct paused_reader {
    static void on_data(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
        auto& self = *static_cast<paused_reader*>(context);
        if (!self.reads) return;
        std::array<std::uint8_t, 8192> piece;
        for (std::size_t length = 1; length != 0;) {
            length = piece.size();
            EXPECT_EQ(ibmf_read_msg(handle, msg, piece.data(), &length), IBMF_SUCCESS);
            self.got += length;
        }
    }

    std::atomic<bool> reads{false};
    std::atomic<std::size_t> got{0};
};

// No segment arrives while the window is closed, so only ibmf_resume_msg continues the transfer.
// The tap loses the peer's probes, since they would open the window.
TEST_P(IbmfTransfers, ResumeAfterPausedRead_ContinuesTransfer) {
    wire joined;
    KEVENT closed;
    KeInitializeEvent(&closed, NotificationEvent, FALSE);
    std::uint32_t sent = 0;
    joined.tap = [&](unsigned from, const auto& bytes) {
        const bool data = from == 1 && (bytes[26] & 1) != 0 && bytes[25] == 1;
        const auto segment = boost::endian::load_big_u32(&bytes[28]);
        if (data && std::exchange(sent, std::max(sent, segment)) >= segment) return false;
        const bool ack = from == 0 && bytes[25] == 2;
        if (ack && bytes[31] != 0 && std::equal(&bytes[28], &bytes[32], &bytes[32]))
            KeSetEvent(&closed, IO_NO_INCREMENT, FALSE);
        return true;
    };
    table_agent agent(1);
    agent.resize(200'000);
    const client_scope manager(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP | IBMF_REG_FLAG_NO_OFFLOAD);
    paused_reader reader;
    test_message msg(manager.handle, table_query);
    EXPECT_EQ(ibmf_resume_msg(manager.handle, nullptr), IBMF_INVALID_ARG);
    EXPECT_EQ(ibmf_resume_msg(manager.handle, msg.ibmf_msg), IBMF_SUCCESS); // not sent yet
    EXPECT_EQ(ibmf_stream_msg(manager.handle, msg.ibmf_msg, paused_reader::on_data, &reader),
              IBMF_SUCCESS);
    EXPECT_EQ(msg.send(), IBMF_SUCCESS);
    KeWaitForSingleObject(&closed, Executive, KernelMode, FALSE, nullptr);
    EXPECT_EQ(reader.got, 0u);
    reader.reads = true;
    EXPECT_EQ(ibmf_resume_msg(manager.handle, msg.ibmf_msg), IBMF_SUCCESS);
    EXPECT_EQ(msg.status(), IBMF_SUCCESS);
    constexpr std::size_t headers = 44;
    EXPECT_GT(reader.got, std::size_t{64} << 10);
    EXPECT_EQ(reader.got + msg.received().size(), headers + 200'000);
}

TEST_P(IbmfTransfers, InvalidStreamCall_IsRefused) {
    const wire joined;
    const client_scope many_at_a_time(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP);
    test_message msg(many_at_a_time.handle, table_query);
    EXPECT_EQ(ibmf_stream_msg(many_at_a_time.handle, nullptr, nullptr, nullptr), IBMF_INVALID_ARG);
    EXPECT_EQ(ibmf_stream_msg(nullptr, msg.ibmf_msg, nullptr, nullptr), IBMF_BAD_HANDLE);
    EXPECT_EQ(ibmf_stream_msg(many_at_a_time.handle, msg.ibmf_msg, lazy_reader::on_data, nullptr),
              IBMF_NOT_SUPPORTED);
    std::uint8_t byte = 0;
    std::size_t length = 1;
    EXPECT_EQ(ibmf_read_msg(many_at_a_time.handle, msg.ibmf_msg, &byte, &length), IBMF_SUCCESS);
    EXPECT_EQ(length, 0u);
    EXPECT_EQ(ibmf_read_msg(many_at_a_time.handle, msg.ibmf_msg, nullptr, &length),
              IBMF_INVALID_ARG);
}

TEST_P(IbmfTransfers, ActiveReceivesAndHeldBuffers_AreCounted) {
    wire joined;
    table_agent agent(1);
    agent.resize(50'000);
    const client_scope manager(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP);
    std::uint64_t most = 0;
    joined.tap = [&](unsigned from, const auto& bytes) {
        const bool is_ack = from == 0 && bytes[25] == 2;
        if (is_ack) most = std::max(most, manager.stats().st_receives_active);
        return true;
    };
    {
        test_message msg(manager.handle, table_query);
        EXPECT_EQ(msg.send_and_wait(), IBMF_SUCCESS);
        EXPECT_EQ(most, 1u);
        EXPECT_EQ(manager.stats().st_receives_active, 0u);
        EXPECT_EQ(manager.stats().st_buffers, 1u);
        EXPECT_EQ(manager.stats(B_TRUE).st_buffers, 1u);
        agent.await_responses();
    }
    EXPECT_EQ(manager.stats(B_TRUE).st_buffers, 0u);
}

TEST_P(IbmfTransfers, LongRequest_GetsLongResponse) {
    const wire joined;
    table_agent agent(1);
    agent.resize(3000);
    const client_scope manager(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP);
    test_message msg(manager.handle, multi_query);
    EXPECT_EQ(msg.send_and_wait(IBMF_MSG_TRANS_FLAG_RMPP | IBMF_MSG_TRANS_FLAG_SEQ), IBMF_SUCCESS);
    EXPECT_TRUE(std::ranges::equal(msg.received(), agent.table()));
    EXPECT_EQ(agent.last_request_size(), 5000u);
}

// A transfer that only acknowledges repeated segments does not count against the limit.
TEST_P(IbmfTransfers, ManyLongRequests_TimeWaitDoesNotCountAgainstLimit) {
    const wire joined;
    table_agent agent(1);
    agent.resize(10);
    const client_scope manager(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP);
    request_of what = multi_query;
    what.data_size = 300;
    const std::uint64_t requests = simulated() ? 300 : 1500; // the limit is 256 transfers at once
    for (what.tid = 1; what.tid <= requests; ++what.tid) {
        test_message msg(manager.handle, what);
        ASSERT_EQ(msg.send_and_wait(IBMF_MSG_TRANS_FLAG_RMPP | IBMF_MSG_TRANS_FLAG_SEQ),
                  IBMF_SUCCESS)
            << what.tid;
    }
    EXPECT_EQ(agent.stats().st_overflows, 0u);
    // so many in time-wait; the last transfer of each side may still run
    EXPECT_LE(agent.stats().st_transactions, 1024u + 2);
    EXPECT_GT(agent.stats().st_transactions, 256u);
}

TEST_P(IbmfTransfers, ResponseBeyondLimit_IsTruncatedWithReason) {
    const wire joined;
    table_agent agent(1);
    agent.resize(5000);
    const client_scope manager(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP);
    test_message msg(manager.handle, table_query);
    msg.ibmf_msg->im_msg_sz_limit = 1000;
    EXPECT_EQ(msg.send_and_wait(), IBMF_PARTIAL_TRANSFER);
    EXPECT_TRUE(std::ranges::equal(msg.received(), agent.table().first(1000)));
    ibmf_transfer_result_t end{};
    ASSERT_EQ(ibmf_query_transfer(manager.handle, msg.ibmf_msg, &end), IBMF_SUCCESS);
    EXPECT_EQ(end.tr_status, 1); // RESX: a STOP
    EXPECT_EQ(end.tr_by_peer, B_FALSE);
    agent.await_responses();
    EXPECT_EQ(agent.last_response_status(), IBMF_TRANS_FAILURE); // the peer got a STOP
}

// A hundred thousand datagrams are too many for a simulated run.
TEST(IbmfLongTransfers, UnsolicitedMessageBeyondLimit_IsTruncated) {
    irpverbs::dispatch::asio_machine machine({.processors = 2});
    const irpverbs::dispatch::machine::scope inside(machine);
    const wire joined;
    table_agent agent(1);
    KEVENT requests_received;
    KeInitializeEvent(&requests_received, NotificationEvent, FALSE);
    agent.on_request = [&](std::span<const std::uint8_t>) {
        KeSetEvent(&requests_received, IO_NO_INCREMENT, FALSE);
    };
    const client_scope manager(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP);
    request_of what = multi_query;
    what.data_size = IBMF_MAX_UNSOLICITED_LEN + 1000;
    test_message msg(manager.handle, what);
    EXPECT_EQ(msg.send_and_wait(IBMF_MSG_TRANS_FLAG_RMPP), IBMF_TRANS_FAILURE); // a STOP
    KeWaitForSingleObject(&requests_received, Executive, KernelMode, FALSE, nullptr);
    EXPECT_EQ(agent.last_request_status(), IBMF_PARTIAL_TRANSFER);
    EXPECT_EQ(agent.last_request_size(), IBMF_MAX_UNSOLICITED_LEN);
}

// Seed 000, 240: trans_to is ignored for a message that is only sent. The peer acknowledges at
// last.
TEST_P(IbmfTransfers, TransactionTimeOut_OfATransferThatIsOnlySent_IsIgnored) {
    wire joined;
    int tries = 0;
    joined.tap = [&](unsigned from, const auto& bytes) {
        const bool first = from == 0 && bytes[25] == 1 && bytes[31] == 1;
        return !first || ++tries > 5;
    };
    table_agent agent(1);
    const client_scope manager(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP);
    test_message msg(manager.handle, multi_query);
    const ULONGLONG before = KeQueryInterruptTime();
    EXPECT_EQ(msg.send_and_wait(IBMF_MSG_TRANS_FLAG_RMPP, {20, 20'000, 1000, 50'000}),
              IBMF_SUCCESS);
    EXPECT_GT(KeQueryInterruptTime() - before, 500'000u);
    agent.await_responses();
}

/// Turns the first responses into BUSY.
void refuse(wire& on, int responses) {
    on.tap = [responses](unsigned from, auto& bytes) mutable {
        if (from == 0 || bytes[25] != 1 || responses-- <= 0) return true; // RMPP data
        bytes[5] |= MAD_STATUS_BUSY;
        bytes[26] &= static_cast<UCHAR>(~1); // and no RMPP
        return true;
    };
}

TEST_P(IbmfTransfers, LongRequestToBusyPeer_IsRepeated) {
    wire joined;
    refuse(joined, 1);
    table_agent agent(1);
    agent.resize(3000);
    const client_scope manager(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP);
    test_message msg(manager.handle, multi_query);
    EXPECT_EQ(msg.send_and_wait(IBMF_MSG_TRANS_FLAG_RMPP | IBMF_MSG_TRANS_FLAG_SEQ), IBMF_SUCCESS);
    EXPECT_TRUE(std::ranges::equal(msg.received(), agent.table()));
    EXPECT_EQ(manager.stats().st_busy, 1u);
}

TEST_P(IbmfTransfers, LongRequestAndPeerStaysBusy_EndsAtDeadline) {
    wire joined;
    refuse(joined, 1'000'000);
    table_agent agent(1);
    agent.resize(100);
    const client_scope manager(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP);
    test_message msg(manager.handle, multi_query);
    EXPECT_EQ(
        msg.send_and_wait(IBMF_MSG_TRANS_FLAG_RMPP | IBMF_MSG_TRANS_FLAG_SEQ, {1, 20'000, 1000, 0}),
        IBMF_TRANS_TIMEOUT);
    EXPECT_GE(manager.stats().st_busy, 2u);
}

TEST_P(IbmfTransfers, PeerSilentInTransfer_EndsAtTotalTime) {
    wire joined;
    int data = 0;
    joined.tap = [&](unsigned from, const auto& bytes) {
        return from == 0 || (bytes[3] & 0x80) == 0 || ++data <= 3;
    };
    table_agent agent(1);
    agent.resize(5000);
    const client_scope manager(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP);
    test_message msg(manager.handle, table_query);
    EXPECT_EQ(msg.send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, {0, 20'000, 1000, 50'000}),
              IBMF_TRANS_TIMEOUT);
    EXPECT_EQ(manager.stats().st_rmpp_errors, 1u);
}

// Defect D1: after a single datagram in the middle of a transfer the client was never called.
TEST_P(IbmfTransfers, SingleDatagramInTransfer_IsUnexpected) {
    wire joined;
    int data = 0;
    joined.tap = [&](unsigned from, auto& bytes) {
        if (from == 1 && (bytes[3] & 0x80) != 0 && ++data == 3) bytes[26] = 0; // not active
        return true;
    };
    table_agent agent(1);
    agent.resize(5000);
    const client_scope manager(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP);
    test_message msg(manager.handle, table_query);
    EXPECT_EQ(msg.send_and_wait(), IBMF_UNEXP_TRANS_RECVD);
}

TEST_P(IbmfTransfers, TransferToClientWithoutRmpp_IsUnexpected) {
    const wire joined;
    table_agent agent(1);
    agent.resize(5000);
    const client_scope manager(0, SUBN_ADM_MANAGER);
    test_message msg(manager.handle, table_query);
    EXPECT_EQ(msg.send_and_wait(), IBMF_UNEXP_TRANS_RECVD);
    EXPECT_EQ(msg.send_and_wait(IBMF_MSG_TRANS_FLAG_RMPP), IBMF_BAD_RMPP_OPT);
}

TEST_P(IbmfTransfers, AbortFromPeer_ReachesRequester) {
    wire joined;
    int data = 0;
    joined.tap = [&](unsigned from, auto& bytes) {
        if (from != 1 || (bytes[3] & 0x80) == 0 || ++data != 4) return true;
        bytes[25] = 4;   // ABORT
        bytes[26] = 1;   // active
        bytes[27] = 200; // a vendor's code
        return true;
    };
    table_agent agent(1);
    agent.resize(5000);
    const client_scope manager(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP);
    test_message msg(manager.handle, table_query);
    EXPECT_EQ(msg.send_and_wait(), IBMF_TRANS_FAILURE);
    ibmf_transfer_result_t end{};
    ASSERT_EQ(ibmf_query_transfer(manager.handle, msg.ibmf_msg, &end), IBMF_SUCCESS);
    EXPECT_EQ(end.tr_status, 200);
    EXPECT_EQ(end.tr_by_peer, B_TRUE);
}

TEST_P(IbmfTransfers, CancelInTransfer_StopsPeer) {
    wire joined;
    KEVENT under_way;
    KeInitializeEvent(&under_way, NotificationEvent, FALSE);
    int data = 0;
    joined.tap = [&](unsigned from, const auto& bytes) {
        if (from == 1 && (bytes[3] & 0x80) != 0 && ++data >= 3) {
            KeSetEvent(&under_way, IO_NO_INCREMENT, FALSE);
            return false;
        }
        return true;
    };
    table_agent agent(1);
    agent.resize(50'000);
    const client_scope manager(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP);
    test_message msg(manager.handle, table_query);
    ASSERT_EQ(msg.send(), IBMF_SUCCESS);
    KeWaitForSingleObject(&under_way, Executive, KernelMode, FALSE, nullptr);
    EXPECT_EQ(ibmf_cancel_msg(manager.handle, msg.ibmf_msg), IBMF_SUCCESS);
    EXPECT_EQ(msg.status(), IBMF_TRANS_FAILURE);
    agent.await_responses();
    EXPECT_EQ(agent.last_response_status(), IBMF_TRANS_FAILURE);
}

/// Segment 1 of a transfer to the agents of SA, which announces 4 GB.
std::array<UCHAR, IB_MAD_SIZE> half_open(std::uint8_t method, std::uint64_t tid) {
    std::array<UCHAR, IB_MAD_SIZE> bytes{};
    const ibmf::mad_buffer all(bytes);
    ibmf::store(ibmf::header_at<ibmf::mad_header::size>(all, 0),
                {.mgmt_class = MAD_MGMT_CLASS_SUBN_ADM,
                 .class_version = 2,
                 .method = method,
                 .transaction_id = tid,
                 .attribute_id = 0x35});
    ibmf::store(ibmf::header_at<ibmf::rmpp_header::size>(all, ibmf::mad_header_size),
                {.type = ibmf::rmpp_type::data,
                 .flags = ibmf::rmpp_active | ibmf::rmpp_first,
                 .segment = 1,
                 .length_or_window = 0xFFFFFFFF});
    return bytes;
}

TEST_P(IbmfTransfers, HalfOpenTransfers_OfOnePeer_LeaveRoomForOthers) {
    constexpr ib_lid_t attacker = 77;
    constexpr std::uint64_t attempts = 300; // the limit is 256 transfers at once
    wire joined;
    table_agent agent(1);
    agent.resize(10);
    for (std::uint64_t tid = 1; tid <= attempts; ++tid)
        joined.inject(1, half_open(0x14, tid).data(), IB_MAD_SIZE, attacker);
    joined.await_empty();
    EXPECT_EQ(agent.stats().st_receives_active, 64u);
    EXPECT_EQ(agent.stats().st_overflows, attempts - 64);
    const client_scope manager(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP);
    test_message msg(manager.handle, multi_query);
    EXPECT_EQ(msg.send_and_wait(IBMF_MSG_TRANS_FLAG_RMPP | IBMF_MSG_TRANS_FLAG_SEQ), IBMF_SUCCESS);
}

/// The ACK of a segment, from the peer to which the segment went.
std::array<UCHAR, IB_MAD_SIZE> ack_of(const std::array<UCHAR, IB_MAD_SIZE>& data,
                                      std::uint32_t segment, std::uint32_t window_last) {
    std::array<UCHAR, IB_MAD_SIZE> bytes = data;
    bytes[3] ^= MAD_RESPONSE_BIT;
    ibmf::store(ibmf::header_at<ibmf::rmpp_header::size>(ibmf::mad_buffer(bytes), 24),
                {.type = ibmf::rmpp_type::ack,
                 .flags = ibmf::rmpp_active,
                 .segment = segment,
                 .length_or_window = window_last});
    return bytes;
}

// The port has 1024 datagrams in all. The peer acknowledges the first and the last segment only.
TEST_P(IbmfTransfers, UnboundedWindow_OfAPeer_TakesASmallShareOfThePortsDatagrams) {
    constexpr std::uint32_t segments = 5000;
    wire joined;
    const client_scope agent(1, SUBN_ADM_AGENT, IBMF_REG_FLAG_RMPP);
    std::uint64_t most = 0;
    joined.tap = [&](unsigned, const auto& bytes) {
        const auto segment = boost::endian::load_big_u32(&bytes[28]);
        most = std::max(most, agent.stats(B_TRUE).st_sends_active);
        if (segment == 1 || segment == segments)
            joined.inject(1, ack_of(bytes, segment, 0xFFFFFFFF).data(), IB_MAD_SIZE, wire::lids[0]);
        return false;
    };
    test_message response(agent.handle,
                          {MAD_MGMT_CLASS_SUBN_ADM, 0x92, 5, wire::lids[0], segments * 200});
    EXPECT_EQ(response.send_and_wait(IBMF_MSG_TRANS_FLAG_RMPP), IBMF_SUCCESS);
    EXPECT_EQ(joined.datagrams(), segments);
    EXPECT_GT(most, 32u);
    EXPECT_LE(most, 64u);
}

IRPVERBS_ON_BOTH_MACHINES(IbmfTransfers);

class TransferTimes : public BothMachines {};

// The times of an announced transfer of this size are 54 minutes.
TEST_P(TransferTimes, SilenceOfTheResponder_InMidTransfer_EndsTheTransactionSoon) {
    wire joined;
    table_agent agent(1);
    agent.resize(220'000);
    int data = 0;
    joined.tap = [&](unsigned from, const auto& bytes) {
        return from == 0 || (bytes[3] & 0x80) == 0 || ++data <= 3;
    };
    const client_scope manager(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP);
    test_message msg(manager.handle, table_query);
    const ULONGLONG before = KeQueryInterruptTime();
    constexpr ULONGLONG second = 10'000'000;
    EXPECT_EQ(msg.send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, {3, 0, 0, 0}), IBMF_TRANS_TIMEOUT);
    EXPECT_LE(KeQueryInterruptTime() - before, 4 * 41 * second / 10 + second);
    agent.await_responses();
}

// The sender of a request in many datagrams falls silent: its slot is soon free.
TEST_P(TransferTimes, SilenceOfARequester_InMidTransfer_FreesItsPlaceSoon) {
    wire joined;
    table_agent agent(1);
    for (std::uint64_t tid = 1; tid <= 10; ++tid)
        joined.inject(1, half_open(0x14, tid).data(), IB_MAD_SIZE, 77);
    joined.await_empty();
    EXPECT_EQ(agent.stats().st_receives_active, 10u);
    LARGE_INTEGER interval;
    interval.QuadPart = -17 * 10'000'000LL;
    KeDelayExecutionThread(KernelMode, FALSE, &interval);
    EXPECT_EQ(agent.stats().st_receives_active, 0u);
}

IRPVERBS_ON_THE_SIMULATED_MACHINE(TransferTimes);

} // namespace
