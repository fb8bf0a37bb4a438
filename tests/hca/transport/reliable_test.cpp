// A reliable connection: recovery from single losses, acknowledgements, credits and states.
#include "simulated_pair.hpp"

namespace {

using namespace irpverbs::testing;

class ReliableConnection : public ::testing::Test {
protected:
    void SetUp() override { pair.connect(); }

    /// The carrier loses the first packet of this operation.
    void lose_first(operation what) {
        pair.drop = [what, lost = false](const packet& each) mutable {
            const bool now = !lost && each.row().what == what;
            lost = lost || now;
            return now;
        };
    }
    void post(ib_wr_type_t type, ib_local_ds_t segment, ib_send_opt_t options = 0) {
        ib_send_wr_t wr = remote_request(type, segment, remote, 0, ++posted);
        wr.send_opt |= options;
        wr.remote_ops.atomic1 = 5;
        wr.remote_ops.atomic2 = 9;
        EXPECT_EQ(one.send(wr), STATUS_SUCCESS);
    }
    void write_word(ULONGLONG value, ib_send_opt_t options = 0) {
        ib_send_wr_t wr = remote_request(WR_ATOMIC_WRITE, word, remote, 0, ++posted);
        wr.num_ds = 0;
        wr.send_opt |= options;
        wr.remote_ops.atomic1 = value;
        EXPECT_EQ(one.send(wr), STATUS_SUCCESS);
    }
    void expect_all_succeeded() {
        ASSERT_EQ(one.sent.size(), posted);
        for (const IB_WC& each : one.sent)
            EXPECT_EQ(each.Status, ULONG{IB_WC_SUCCESS});
    }
    ULONGLONG word_of(const region& of) {
        ULONGLONG value = 0;
        std::memcpy(&value, of.bytes.data(), sizeof(value));
        return value;
    }
    unsigned count(operation what) {
        return static_cast<unsigned>(std::ranges::count(operations, what));
    }
    void count_operations() {
        pair.on_transmit = [&](const packet& each) { operations.push_back(each.row().what); };
    }

    simulated_pair pair;
    simulated_end& one = pair.one();
    simulated_end& two = pair.two();
    region& local = one.memory.add(1 << 20);
    region& remote = two.memory.add(1 << 20);
    ib_local_ds_t word = segment_of(local, 8);
    ULONGLONG posted = 0;
    std::vector<operation> operations;
};

TEST_F(ReliableConnection, AtomicResponseLost_ExecutedOnceAndSameResult) {
    lose_first(operation::atomic_acknowledge);
    post(WR_FETCH_ADD, word);
    pair.run();
    expect_all_succeeded();
    EXPECT_EQ(word_of(remote), 5u);
    EXPECT_EQ(word_of(local), 0u);
}

TEST_F(ReliableConnection, AtomicWrite_HasAReadResponseWithoutData) {
    count_operations();
    write_word(0x1122334455667788);
    pair.run();
    expect_all_succeeded();
    EXPECT_EQ(one.sent[0].Opcode, ULONG{IB_WC_ATOMIC_WRITE});
    EXPECT_EQ(word_of(remote), 0x1122334455667788u);
    EXPECT_EQ(operations, (std::vector{operation::atomic_write, operation::read_response}));
}

TEST_F(ReliableConnection, ResponseOfAtomicWriteLost_ExecutedOnce) {
    bool lost = false;
    pair.drop = [&](const packet& each) {
        if (lost || each.row().what != operation::read_response) return false;
        remote.bytes[0] = 77; // a write of another peer, between the two requests
        return lost = true;
    };
    write_word(5);
    pair.run();
    expect_all_succeeded();
    EXPECT_TRUE(lost);
    EXPECT_EQ(word_of(remote), 77u);
}

TEST_F(ReliableConnection, AtomicWriteBehindFence_WaitsForTheRead) {
    count_operations();
    post(WR_RDMA_READ, segment_of(local, 600));
    write_word(5, IB_SEND_OPT_FENCE);
    pair.run();
    expect_all_succeeded();
    EXPECT_EQ(operations.back(), operation::read_response);
    EXPECT_EQ(operations[operations.size() - 2], operation::atomic_write);
}

TEST_F(ReliableConnection, AtomicWrites_CountAsReads) {
    simulated_pair other;
    other.one().attr.init_depth = 0;
    other.connect();
    ib_local_ds_t none{};
    ib_send_wr_t wr = remote_request(WR_ATOMIC_WRITE, none, other.two().memory.add(8));
    wr.num_ds = 0;
    EXPECT_EQ(other.one().send(wr), STATUS_SUCCESS);
    other.run();
    ASSERT_EQ(other.one().sent.size(), 1u);
    EXPECT_EQ(other.one().sent[0].Status, ULONG{IB_WC_LOCAL_QP_OPERATION_ERROR});
}

TEST_F(ReliableConnection, CompareSwap_SwapsOnlyWhenEqual) {
    post(WR_COMPARE_SWAP, word);
    pair.run();
    EXPECT_EQ(word_of(remote), 0u);
    remote.bytes[0] = 5;
    post(WR_COMPARE_SWAP, word);
    pair.run();
    expect_all_succeeded();
    EXPECT_EQ(word_of(remote), 9u);
    EXPECT_EQ(word_of(local), 5u);
}

TEST_F(ReliableConnection, ReadResponseLost_OnlyTheRestIsRequestedAgain) {
    std::vector<ULONG> lengths;
    pair.drop = [&, lost = false](const packet& each) mutable {
        if (each.row().what == operation::read) lengths.push_back(each.rdma.length);
        const bool now = !lost && each.number == psn(one.attr.sq_psn) + 2 &&
                         each.row().what == operation::read_response;
        lost = lost || now;
        return now;
    };
    for (std::size_t i = 0; i < 2000; ++i)
        remote.bytes[i] = static_cast<UCHAR>(i);
    pair.on_transmit = [&](const packet&) { EXPECT_LT(pair.now, 10'000u); };
    post(WR_RDMA_READ, segment_of(local, 2000));
    pair.run();
    expect_all_succeeded();
    EXPECT_EQ(lengths, (std::vector<ULONG>{2000, 2000 - 2 * 256}));
    EXPECT_TRUE(std::equal(local.bytes.begin(), local.bytes.begin() + 2000, remote.bytes.begin()));
}

TEST_F(ReliableConnection, PacketLost_RepeatedBeforeTheTimeout) {
    lose_first(operation::write);
    const machine_time start = pair.now;
    unsigned naks = 0;
    pair.on_transmit = [&](const packet& each) {
        EXPECT_LT(pair.now - start, 10'000u);
        naks += each.acknowledge.syndrome == 0x60 ? 1 : 0;
    };
    post(WR_RDMA_WRITE, segment_of(local, 1000));
    pair.run();
    expect_all_succeeded();
    EXPECT_EQ(naks, 1u);
}

TEST_F(ReliableConnection, LossOfEachMessage_RetriesAreRefilledByProgress) {
    one.attr.retry_cnt = 1;
    one.connect();
    for (unsigned i = 0; i < 4; ++i) {
        lose_first(operation::write);
        post(WR_RDMA_WRITE, segment_of(local, 1000));
        pair.run();
    }
    expect_all_succeeded();
}

TEST_F(ReliableConnection, AcknowledgementLost_DuplicateIsAcknowledgedAndNotExecuted) {
    lose_first(operation::acknowledge);
    EXPECT_EQ(two.receive(1, remote, 100), STATUS_SUCCESS);
    EXPECT_EQ(two.receive(2, remote, 100), STATUS_SUCCESS);
    post(WR_SEND, word);
    pair.run();
    expect_all_succeeded();
    EXPECT_EQ(two.received.size(), 1u);
}

TEST_F(ReliableConnection, LongWrite_AcknowledgementsCoalesce) {
    count_operations();
    post(WR_RDMA_WRITE, segment_of(local, 256 * 320));
    pair.run();
    expect_all_succeeded();
    EXPECT_EQ(count(operation::write), 320u);
    EXPECT_EQ(count(operation::acknowledge), 10u);
}

TEST_F(ReliableConnection, NoReceives_OneSendAtATimeUntilReceivesArePosted) {
    count_operations();
    for (unsigned i = 0; i < 4; ++i)
        post(WR_SEND, word);
    pair.run(1);
    EXPECT_EQ(count(operation::send), 1u);
    for (ULONGLONG id = 0; id < 4; ++id)
        EXPECT_EQ(two.receive(id, remote, 100), STATUS_SUCCESS);
    pair.run();
    expect_all_succeeded();
    EXPECT_EQ(two.received.size(), 4u);
}

TEST_F(ReliableConnection, NotReady_WaitsTheTimeOfItsCode) {
    two.attr.rnr_nak_timeout = 14; // 1.28 ms
    post(WR_SEND, word);
    pair.run(1);
    EXPECT_EQ(two.receive(1, remote, 100), STATUS_SUCCESS);
    const machine_time start = pair.now;
    pair.run();
    expect_all_succeeded();
    EXPECT_GE(pair.now - start, 12'800u);
}

TEST_F(ReliableConnection, Fence_WaitsForEarlierRead) {
    count_operations();
    post(WR_RDMA_READ, word);
    post(WR_RDMA_WRITE, word, IB_SEND_OPT_FENCE);
    EXPECT_EQ(count(operation::write), 0u);
    pair.run();
    expect_all_succeeded();
    EXPECT_EQ(count(operation::write), 1u);
}

TEST_F(ReliableConnection, Reads_NoMoreThanInitiatorDepthAtATime) {
    count_operations();
    for (unsigned i = 0; i < 6; ++i)
        post(WR_RDMA_READ, word);
    EXPECT_EQ(count(operation::read), 4u);
    pair.run();
    expect_all_succeeded();
}

TEST_F(ReliableConnection, ZeroLengthWrite_NeedsNoKey) {
    ib_local_ds_t nothing{};
    ib_send_wr_t wr = work_request(WR_RDMA_WRITE, nothing);
    wr.remote_ops = {};
    EXPECT_EQ(one.send(wr), STATUS_SUCCESS);
    ++posted;
    pair.run();
    expect_all_succeeded();
}

TEST_F(ReliableConnection, Unsignaled_CompletesOnlyOnError) {
    ib_send_wr_t wr = remote_request(WR_RDMA_WRITE, word, remote);
    wr.send_opt = 0;
    EXPECT_EQ(one.send(wr), STATUS_SUCCESS);
    pair.run();
    EXPECT_TRUE(one.sent.empty());
    wr.remote_ops.rkey = 0;
    EXPECT_EQ(one.send(wr), STATUS_SUCCESS);
    pair.run();
    EXPECT_EQ(one.sent.size(), 1u);
}

TEST_F(ReliableConnection, SendWithInvalidate_ReportsTheKeyAndEndsIt) {
    region& ending = two.memory.add(64);
    EXPECT_EQ(two.receive(1, remote, 100), STATUS_SUCCESS);
    ib_send_wr_t wr = work_request(WR_SEND, word, ++posted);
    wr.send_opt |= IB_SEND_OPT_INVALIDATE | IB_SEND_OPT_SOLICITED;
    const ULONG key = wr.invalidate_rkey = ending.key;
    EXPECT_EQ(one.send(wr), STATUS_SUCCESS);
    pair.run();
    expect_all_succeeded();
    ASSERT_EQ(two.received.size(), 1u);
    EXPECT_EQ(two.received[0].Flags, IB_WC_INVALIDATED | IB_WC_SOLICITED);
    EXPECT_EQ(two.received[0].Immediate, key);
    EXPECT_EQ(ending.key, 0u);
}

TEST_F(ReliableConnection, QueueFull_ReturnsTheFirstThatWasNotPosted) {
    pair.drop = [](const packet&) { return true; };
    for (ULONG i = 0; i < one.attr.sq_depth; ++i)
        post(WR_RDMA_WRITE, word);
    ib_send_wr_t more = remote_request(WR_RDMA_WRITE, word, remote);
    ib_send_wr_t* failed = nullptr;
    EXPECT_EQ(one.engine->post_send(&more, &failed), STATUS_INSUFFICIENT_RESOURCES);
    EXPECT_EQ(failed, &more);
}

TEST_F(ReliableConnection, Draining_EndsStartedRequestsAndKeepsOthers) {
    one.attr.init_depth = 1;
    post(WR_RDMA_READ, word);
    post(WR_RDMA_READ, word);
    one.engine->enter(IB_QPS_SQD, true);
    EXPECT_EQ(one.engine->state(), IB_QPS_SQD_DRAINING);
    pair.run();
    EXPECT_EQ(one.engine->state(), IB_QPS_SQD_DRAINED);
    EXPECT_EQ(one.sent.size(), 1u);
    EXPECT_EQ(one.events, std::vector{IB_AE_SQ_DRAINED});
    one.engine->enter(IB_QPS_RTS);
    pair.run();
    expect_all_succeeded();
}

TEST_F(ReliableConnection, FirstPacketInReadyToReceive_ReportsEstablishedOnce) {
    two.engine = std::make_unique<transport::queue_pair>(two.attr, two.memory, two);
    ASSERT_TRUE(two.engine->allocate());
    two.engine->enter(IB_QPS_INIT);
    two.engine->enter(IB_QPS_RTR);
    post(WR_RDMA_WRITE, word);
    post(WR_RDMA_WRITE, word);
    pair.run();
    expect_all_succeeded();
    EXPECT_EQ(two.events, std::vector{IB_AE_COMMUNICATION_ESTABLISHED});
}

TEST_F(ReliableConnection, NumbersWrap_NothingChanges) {
    for (unsigned i = 0; i < 10; ++i)
        post(WR_RDMA_WRITE, segment_of(local, 1000));
    pair.run();
    expect_all_succeeded();
    EXPECT_EQ(two.engine->expected_number(), psn(one.attr.sq_psn + 40));
    EXPECT_EQ(one.engine->next_number(), psn(one.attr.sq_psn + 40));
}

} // namespace
