// Each error of a work request: its completion, the other side's, and the states after it. Source:
// IBA 9.9 (error detection), 10.10.2 (completion errors), 11.6.2.
#include "simulated_pair.hpp"

#include <array>
#include <utility>

namespace {

using namespace irpverbs::testing;
using transport::first;
using transport::only;

class TransportErrors : public ::testing::Test {
protected:
    void SetUp() override { pair.connect(); }

    /// Expects that the first of the work requests completed with this status, and all others
    /// flushed.
    static void expect_first_failed(const std::vector<IB_WC>& entries, IB_WC_STATUS status) {
        ASSERT_FALSE(entries.empty());
        EXPECT_EQ(entries[0].Status, ULONG{status});
        for (std::size_t i = 1; i < entries.size(); ++i)
            EXPECT_EQ(entries[i].Status, ULONG{IB_WC_FLUSHED}) << i;
        for (std::size_t i = 1; i < entries.size(); ++i)
            EXPECT_EQ(entries[i].WrId, entries[i - 1].WrId + 1) << i;
    }
    void expect_states(ib_qp_state_t of_one, ib_qp_state_t of_two) {
        EXPECT_EQ(one.engine->state(), of_one);
        EXPECT_EQ(two.engine->state(), of_two);
    }
    /// Sends `wr`, numbered 1, and two more sends that its failure flushes.
    void send_with_followers(ib_send_wr_t wr) {
        EXPECT_EQ(one.send(wr), STATUS_SUCCESS);
        for (ULONGLONG id = 2; id <= 3; ++id) {
            ib_local_ds_t segment = segment_of(local, 4);
            EXPECT_EQ(one.send(work_request(WR_SEND, segment, id)), STATUS_SUCCESS);
        }
        pair.run();
        EXPECT_EQ(one.sent.size(), 3u);
    }
    void post_receives(ULONG length) {
        for (ULONGLONG id = 1; id <= 3; ++id)
            EXPECT_EQ(two.receive(id, inbox, length), STATUS_SUCCESS);
    }

    simulated_pair pair;
    simulated_end& one = pair.one();
    simulated_end& two = pair.two();
    region& local = one.memory.add(4096);
    region& remote = two.memory.add(4096);
    region& inbox = two.memory.add(4096);
    ib_local_ds_t part = segment_of(local, 1000);
    ib_local_ds_t word = segment_of(local, 8);
};

TEST_F(TransportErrors, MessageLongerThanReceive_LocalLengthAndRemoteInvalidRequest) {
    post_receives(999);
    send_with_followers(work_request(WR_SEND, part));
    expect_first_failed(one.sent, IB_WC_REMOTE_INVALID_REQUEST_ERROR);
    expect_first_failed(two.received, IB_WC_LOCAL_LENGTH_ERROR);
    EXPECT_EQ(two.received.size(), 3u);
    expect_states(IB_QPS_ERROR, IB_QPS_ERROR);
}

TEST_F(TransportErrors, ReceiveWithBadKey_LocalProtectionAndRemoteOperation) {
    region& lost = two.memory.add(1000, 0);
    EXPECT_EQ(two.receive(1, lost, 1000), STATUS_SUCCESS);
    EXPECT_EQ(two.receive(2, inbox, 1000), STATUS_SUCCESS);
    send_with_followers(work_request(WR_SEND, part));
    expect_first_failed(one.sent, IB_WC_REMOTE_OPERATION_ERROR);
    expect_first_failed(two.received, IB_WC_LOCAL_PROTECTION_ERROR);
}

TEST_F(TransportErrors, ReceiveOnUnmappedPage_LocalProtectionAndRemoteOperation) {
    inbox.mapped = false;
    post_receives(1000);
    send_with_followers(work_request(WR_SEND, part));
    expect_first_failed(one.sent, IB_WC_REMOTE_OPERATION_ERROR);
    expect_first_failed(two.received, IB_WC_LOCAL_PROTECTION_ERROR);
}

TEST_F(TransportErrors, ReceiveOfAKilledProcess_RetryExceeded) {
    post_receives(1000);
    inbox.access = 0;
    two.memory.gone = true;
    send_with_followers(work_request(WR_SEND, part));
    expect_first_failed(one.sent, IB_WC_RETRY_EXCEEDED);
    expect_states(IB_QPS_ERROR, IB_QPS_ERROR);
}

TEST_F(TransportErrors, SendWithBadKey_LocalProtectionAndNothingSent) {
    part.lkey ^= 1;
    post_receives(1000);
    const unsigned before = pair.packets;
    send_with_followers(work_request(WR_SEND, part));
    expect_first_failed(one.sent, IB_WC_LOCAL_PROTECTION_ERROR);
    EXPECT_EQ(pair.packets, before);
    expect_states(IB_QPS_ERROR, IB_QPS_RTS);
}

TEST_F(TransportErrors, SendBeyondRegion_LocalProtection) {
    part = segment_of(local, 1000, 3500);
    send_with_followers(work_request(WR_SEND, part));
    expect_first_failed(one.sent, IB_WC_LOCAL_PROTECTION_ERROR);
}

TEST_F(TransportErrors, ReadSinkWithoutLocalWrite_LocalProtection) {
    region& constant = one.memory.add(1000, 0);
    part = segment_of(constant, 1000);
    send_with_followers(remote_request(WR_RDMA_READ, part, remote));
    expect_first_failed(one.sent, IB_WC_LOCAL_PROTECTION_ERROR);
}

TEST_F(TransportErrors, LocalError_CompletesBehindEarlierRequests) {
    post_receives(1000);
    EXPECT_EQ(one.send(work_request(WR_SEND, part, 1)), STATUS_SUCCESS);
    word.lkey ^= 1;
    EXPECT_EQ(one.send(work_request(WR_SEND, word, 2)), STATUS_SUCCESS);
    EXPECT_TRUE(one.sent.empty());
    pair.run();
    ASSERT_EQ(one.sent.size(), 2u);
    EXPECT_EQ(one.sent[0].Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(one.sent[1].Status, ULONG{IB_WC_LOCAL_PROTECTION_ERROR});
}

TEST_F(TransportErrors, RegionInvalidatedBetweenPacketsOfSend_CompletesBehindEarlierRequests) {
    post_receives(1000);
    region& ending = one.memory.add(1000);
    ib_local_ds_t segment = segment_of(ending, 1000);
    EXPECT_EQ(one.send(work_request(WR_SEND, word, 1)), STATUS_SUCCESS);
    pair.run();
    pair.on_transmit = [&](const packet& what) {
        if (what.row().where == first) ending.key = 0;
    };
    EXPECT_EQ(one.send(remote_request(WR_RDMA_WRITE, word, remote, 0, 2)), STATUS_SUCCESS);
    EXPECT_EQ(one.send(work_request(WR_SEND, segment, 3)), STATUS_SUCCESS);
    EXPECT_EQ(ending.key, 0u);
    pair.run();
    ASSERT_EQ(one.sent.size(), 3u);
    EXPECT_EQ(one.sent[1].Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(one.sent[2].Status, ULONG{IB_WC_LOCAL_PROTECTION_ERROR});
}

TEST_F(TransportErrors, AtomicOfOtherLength_LocalLength) {
    send_with_followers(remote_request(WR_FETCH_ADD, part, remote));
    expect_first_failed(one.sent, IB_WC_LOCAL_LENGTH_ERROR);
}

TEST_F(TransportErrors, LocalInvalidateOfUnknownKey_LocalOperation) {
    ib_send_wr_t wr = work_request(WR_LOCAL_INV, part);
    wr.num_ds = 0;
    wr.invalidate_rkey = 0x777700;
    send_with_followers(wr);
    expect_first_failed(one.sent, IB_WC_LOCAL_QP_OPERATION_ERROR);
}

TEST_F(TransportErrors, ReadsNotGranted_LocalOperation) {
    one.attr.init_depth = 0;
    send_with_followers(remote_request(WR_RDMA_READ, part, remote));
    expect_first_failed(one.sent, IB_WC_LOCAL_QP_OPERATION_ERROR);
}

class RefusedOperation : public TransportErrors,
                         public ::testing::WithParamInterface<ib_wr_type_t> {
protected:
    ib_send_wr_t request(const region& target, ULONGLONG offset = 0) {
        ib_send_wr_t made = remote_request(GetParam(), word, target, offset);
        if (GetParam() == WR_ATOMIC_WRITE) made.num_ds = 0;
        return made;
    }
    ib_access_t right() const {
        if (GetParam() == WR_RDMA_WRITE || GetParam() == WR_ATOMIC_WRITE) return IB_AC_RDMA_WRITE;
        return GetParam() == WR_RDMA_READ ? IB_AC_RDMA_READ : IB_AC_ATOMIC;
    }
    void expect_refused(IB_WC_STATUS status, IB_ASYNC_EVENT event) {
        expect_first_failed(one.sent, status);
        EXPECT_EQ(two.events, std::vector{event});
        expect_states(IB_QPS_ERROR, IB_QPS_ERROR);
        EXPECT_EQ(two.states, std::vector<ib_qp_state_t>{IB_QPS_ERROR});
    }
};

TEST_P(RefusedOperation, QueuePairWithoutRight_RemoteInvalidRequest) {
    two.attr.access_ctrl = IB_AC_REMOTE & ~right();
    send_with_followers(request(remote));
    expect_refused(IB_WC_REMOTE_INVALID_REQUEST_ERROR, IB_AE_WQ_REQUEST_ERROR);
}

TEST_P(RefusedOperation, RegionWithoutRight_RemoteAccess) {
    remote.access = all_rights & ~right();
    send_with_followers(request(remote));
    expect_refused(IB_WC_REMOTE_ACCESS_ERROR, IB_AE_WQ_ACCESS_ERROR);
}

TEST_P(RefusedOperation, StaleKey_RemoteAccess) {
    ib_send_wr_t wr = request(remote);
    wr.remote_ops.rkey ^= 1;
    send_with_followers(wr);
    expect_refused(IB_WC_REMOTE_ACCESS_ERROR, IB_AE_WQ_ACCESS_ERROR);
}

// The queue pair of the process ends in silence.
TEST_P(RefusedOperation, MemoryOfAKilledProcess_RetryExceeded) {
    remote.access = 0;
    two.memory.gone = true;
    send_with_followers(request(remote));
    expect_refused(IB_WC_RETRY_EXCEEDED, IB_AE_WQ_ACCESS_ERROR);
}

TEST_P(RefusedOperation, RangeBeyondRegion_RemoteAccess) {
    send_with_followers(request(remote, 4096));
    expect_refused(IB_WC_REMOTE_ACCESS_ERROR, IB_AE_WQ_ACCESS_ERROR);
}

TEST_P(RefusedOperation, RangeThatWraps_RemoteAccess) {
    ib_send_wr_t wr = request(remote);
    wr.remote_ops.vaddr = ~ULONGLONG{7};
    send_with_followers(wr);
    expect_refused(IB_WC_REMOTE_ACCESS_ERROR, IB_AE_WQ_ACCESS_ERROR);
}

INSTANTIATE_TEST_SUITE_P(Each, RefusedOperation,
                         ::testing::Values(WR_RDMA_WRITE, WR_RDMA_READ, WR_FETCH_ADD,
                                           WR_COMPARE_SWAP, WR_ATOMIC_WRITE));

TEST_F(TransportErrors, MisalignedAtomicWrite_RemoteInvalidRequest) {
    ib_send_wr_t wr = remote_request(WR_ATOMIC_WRITE, word, remote, 4);
    wr.num_ds = 0;
    wr.remote_ops.atomic1 = 5;
    send_with_followers(wr);
    expect_first_failed(one.sent, IB_WC_REMOTE_INVALID_REQUEST_ERROR);
    EXPECT_EQ(remote.bytes, std::vector<UCHAR>(remote.bytes.size()));
}

TEST_F(TransportErrors, AtomicWriteOfOtherLength_RemoteInvalidRequest) {
    const std::array<UCHAR, 16> content{};
    constexpr std::pair<ULONG, ULONG> lengths[] = {{16, 8}, {8, 4}, {8, 12}, {0, 8}};
    for (const auto& [named, sent] : lengths) {
        simulated_pair other;
        other.connect();
        const region& target = other.two().memory.add(16);
        unsigned naks = 0;
        other.on_transmit = [&](const packet& each) {
            naks += each.acknowledge.syndrome == 0x61 ? 1 : 0;
        };
        packet made;
        made.opcode = 0x1D; // RC atomic write
        made.to_qp = other.two().attr.num;
        made.number = other.two().engine->expected_number();
        made.rdma = {target.base, target.key, named};
        made.content.append({content.data(), sent});
        other.inject(other.two(), made);
        EXPECT_EQ(naks, 1u) << named << ' ' << sent;
        EXPECT_EQ(other.two().engine->state(), IB_QPS_ERROR) << named << ' ' << sent;
    }
}

TEST_F(TransportErrors, AtomicWriteWithSegments_IsNotPosted) {
    EXPECT_EQ(one.send(remote_request(WR_ATOMIC_WRITE, word, remote)), STATUS_INVALID_PARAMETER);
}

TEST_F(TransportErrors, MisalignedAtomic_RemoteInvalidRequest) {
    send_with_followers(remote_request(WR_FETCH_ADD, word, remote, 4));
    expect_first_failed(one.sent, IB_WC_REMOTE_INVALID_REQUEST_ERROR);
}

TEST_F(TransportErrors, MoreReadsThanPeerRemembers_RemoteInvalidRequest) {
    simulated_pair other;
    other.two().attr.resp_res = 0;
    other.connect();
    region& sink = other.one().memory.add(8);
    region& source = other.two().memory.add(8);
    ib_local_ds_t segment = segment_of(sink, 8);
    EXPECT_EQ(other.one().send(remote_request(WR_RDMA_READ, segment, source)), STATUS_SUCCESS);
    other.run();
    expect_first_failed(other.one().sent, IB_WC_REMOTE_INVALID_REQUEST_ERROR);
}

TEST_F(TransportErrors, WriteThatEndsBeyondRegion_WritesNothing) {
    std::ranges::fill(local.bytes, UCHAR{0xEE});
    send_with_followers(remote_request(WR_RDMA_WRITE, part, remote, 3500));
    expect_first_failed(one.sent, IB_WC_REMOTE_ACCESS_ERROR);
    EXPECT_EQ(std::ranges::count(remote.bytes, 0xEE), 0);
}

TEST_F(TransportErrors, WriteWithImmediateRefused_ReceiveIsFlushed) {
    post_receives(100);
    ib_send_wr_t wr = remote_request(WR_RDMA_WRITE, word, remote);
    wr.send_opt |= IB_SEND_OPT_IMMEDIATE;
    wr.remote_ops.rkey ^= 1;
    send_with_followers(wr);
    expect_first_failed(one.sent, IB_WC_REMOTE_ACCESS_ERROR);
    expect_first_failed(two.received, IB_WC_FLUSHED);
    EXPECT_EQ(two.received.size(), 3u);
}

TEST_F(TransportErrors, RegionInvalidatedBetweenPacketsOfWrite_RemoteAccess) {
    pair.on_transmit = [&](const packet& what) {
        if (what.row().what == operation::write && what.row().where == transport::last)
            remote.key = 0;
    };
    pair.faults.full = 3;
    send_with_followers(remote_request(WR_RDMA_WRITE, part, remote));
    expect_first_failed(one.sent, IB_WC_REMOTE_ACCESS_ERROR);
}

TEST_F(TransportErrors, RegionInvalidatedBetweenResponsesOfRead_RemoteAccess) {
    pair.on_transmit = [&](const packet& what) {
        if (what.row().what == operation::read_response) remote.key = 0;
    };
    send_with_followers(remote_request(WR_RDMA_READ, part, remote));
    expect_first_failed(one.sent, IB_WC_REMOTE_ACCESS_ERROR);
    EXPECT_EQ(two.events, std::vector{IB_AE_WQ_ACCESS_ERROR});
}

TEST_F(TransportErrors, SilentPeer_RetryExceededAfterEachRetry) {
    unsigned transmissions = 0;
    pair.drop = [&](const packet&) { return ++transmissions != 0; };
    const machine_time start = pair.now;
    send_with_followers(work_request(WR_SEND, word));
    expect_first_failed(one.sent, IB_WC_RETRY_EXCEEDED);
    EXPECT_EQ(transmissions, (1u + one.attr.retry_cnt) * 1u);
    EXPECT_GE(pair.now - start, (1u + one.attr.retry_cnt) * 10'485u); // 4.096 us * 2^8
    expect_states(IB_QPS_ERROR, IB_QPS_RTS);
}

TEST_F(TransportErrors, SequenceNeverRight_RetryExceeded) {
    post_receives(1000);
    pair.drop = [&](const packet& what) {
        return what.row().what == operation::send && what.row().where == first;
    };
    send_with_followers(work_request(WR_SEND, part));
    expect_first_failed(one.sent, IB_WC_RETRY_EXCEEDED);
}

TEST_F(TransportErrors, PeerWithoutReceives_NotReadyRetryExceeded) {
    one.attr.rnr_retry_cnt = 2;
    one.connect();
    unsigned refusals = 0;
    pair.on_transmit = [&](const packet& what) {
        refusals += what.row().what == operation::acknowledge ? 1 : 0;
    };
    send_with_followers(work_request(WR_SEND, word));
    expect_first_failed(one.sent, IB_WC_RNR_RETRY_EXCEEDED);
    EXPECT_EQ(refusals, 3u);
    expect_states(IB_QPS_ERROR, IB_QPS_RTS);
}

TEST_F(TransportErrors, ResponseOfAnotherOperation_BadResponse) {
    EXPECT_EQ(one.send(remote_request(WR_RDMA_READ, word, remote)), STATUS_SUCCESS);
    packet response;
    response.opcode = 0x12; // atomic acknowledge
    response.number = psn(one.attr.sq_psn);
    pair.inject(one, response);
    expect_first_failed(one.sent, IB_WC_BAD_RESPONSE_ERROR);
}

TEST_F(TransportErrors, ReadResponseOfOtherLength_LocalLength) {
    EXPECT_EQ(one.send(remote_request(WR_RDMA_READ, word, remote)), STATUS_SUCCESS);
    const UCHAR bytes[4]{};
    packet response;
    response.opcode = 0x10; // read response only
    response.number = psn(one.attr.sq_psn);
    response.content.append(bytes);
    pair.inject(one, response);
    expect_first_failed(one.sent, IB_WC_LOCAL_LENGTH_ERROR);
}

/// A request packet that no requester of ours sends.
struct wrong_request {
    const char* name;
    UCHAR opcode;
    ULONG payload;
    ULONG length; // of a write
};

class WrongRequest : public TransportErrors, public ::testing::WithParamInterface<wrong_request> {};

TEST_P(WrongRequest, OfEachKind_IsRefusedAsInvalid) {
    UCHAR syndrome = 0;
    pair.on_transmit = [&](const packet& what) { syndrome = what.acknowledge.syndrome; };
    const std::vector<UCHAR> bytes(512);
    packet what;
    what.opcode = GetParam().opcode;
    what.number = psn(two.attr.rq_psn);
    what.rdma = {remote.base, remote.key, GetParam().length};
    if (GetParam().payload != 0) what.content.append({bytes.data(), GetParam().payload});
    pair.inject(two, what);
    EXPECT_EQ(syndrome, 0x61);
    EXPECT_EQ(two.engine->state(), IB_QPS_ERROR);
    EXPECT_EQ(two.events.back(), IB_AE_WQ_REQUEST_ERROR);
}

INSTANTIATE_TEST_SUITE_P(Each, WrongRequest,
                         ::testing::Values(wrong_request{"MiddleFirst", 0x01, 256, 0},
                                           wrong_request{"LastFirst", 0x02, 10, 0},
                                           wrong_request{"Reserved", 0x1F, 0, 0},
                                           wrong_request{"FirstShorterThanMtu", 0x06, 255, 1000},
                                           wrong_request{"OnlyLongerThanMtu", 0x0A, 260, 260},
                                           wrong_request{"OnlyShorterThanItsLength", 0x0A, 8, 9},
                                           wrong_request{"FirstThatIsAll", 0x06, 256, 256},
                                           wrong_request{"ReadTooLong", 0x0C, 0, 0x80000001}),
                         [](const auto& of) { return of.param.name; });

TEST_F(TransportErrors, InvalidateOfUnknownKey_ReceiveFailsAndSendSucceedsNot) {
    post_receives(1000);
    ib_send_wr_t wr = work_request(WR_SEND, word);
    wr.send_opt |= IB_SEND_OPT_INVALIDATE;
    wr.invalidate_rkey = 0x123400;
    EXPECT_EQ(one.send(wr), STATUS_SUCCESS);
    pair.run();
    expect_first_failed(two.received, IB_WC_LOCAL_QP_OPERATION_ERROR);
    expect_first_failed(one.sent, IB_WC_RETRY_EXCEEDED);
}

TEST_F(TransportErrors, ErrorByModify_FlushesBothQueuesInOrder) {
    pair.drop = [](const packet&) { return true; };
    post_receives(1000);
    for (ULONGLONG id = 1; id <= 3; ++id)
        EXPECT_EQ(two.send(work_request(WR_NOP, word, id)), STATUS_SUCCESS);
    two.sent.clear();
    region& mine = two.memory.add(64);
    ib_local_ds_t segment = segment_of(mine, 8);
    for (ULONGLONG id = 1; id <= 3; ++id)
        EXPECT_EQ(two.send(work_request(WR_SEND, segment, id)), STATUS_SUCCESS);
    two.engine->enter(IB_QPS_ERROR);
    expect_first_failed(two.sent, IB_WC_FLUSHED);
    expect_first_failed(two.received, IB_WC_FLUSHED);
    EXPECT_EQ(two.sent.size(), 3u);
    EXPECT_EQ(two.received.size(), 3u);
    EXPECT_EQ(two.send(work_request(WR_SEND, segment, 4)), STATUS_SUCCESS);
    EXPECT_EQ(two.receive(4, inbox, 8), STATUS_SUCCESS);
    EXPECT_EQ(two.sent.back().Status, ULONG{IB_WC_FLUSHED});
    EXPECT_EQ(two.received.back().WrId, 4u);
}

TEST_F(TransportErrors, Reset_DropsRequestsWithoutCompletion) {
    post_receives(1000);
    two.engine->enter(IB_QPS_RESET);
    pair.run();
    EXPECT_TRUE(two.received.empty());
    ib_recv_wr_t* failed = nullptr;
    ib_recv_wr_t wr{};
    EXPECT_EQ(two.engine->post_receive(&wr, &failed), STATUS_INVALID_DEVICE_STATE);
    EXPECT_EQ(failed, &wr);
}

} // namespace
