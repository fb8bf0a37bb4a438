// Shared receive queues: which receives are taken, the limit, the last one, and their memory.
#include "simulated_pair.hpp"

#include <transport/acknowledgement.hpp>

namespace {

using namespace irpverbs::testing;

class SharedReceives : public ::testing::TestWithParam<std::uint32_t> {
protected:
    /// One sends to two, whose queue has `depth` entries, by packets or straight through.
    void connect(ULONG depth = 64) {
        pair.faults.straight = GetParam();
        two.share_receives(depth);
        pair.connect();
    }
    void send(ULONGLONG wr_id, ULONG length = 100) {
        ib_local_ds_t segment = segment_of(local, length);
        EXPECT_EQ(one.send(work_request(WR_SEND, segment, wr_id)), STATUS_SUCCESS);
    }
    NTSTATUS modify(ULONG opts, ULONG max_wr, ULONG limit) {
        reached_limit = false;
        return two.shared->modify({opts, max_wr, limit}, reached_limit);
    }
    unsigned count(IB_ASYNC_EVENT event) {
        return static_cast<unsigned>(std::ranges::count(two.events, event));
    }

    simulated_pair pair;
    simulated_end& one = pair.one();
    simulated_end& two = pair.two();
    region& local = one.memory.add(5000);
    region& remote = two.memory.add(5000);
    bool reached_limit = false;
};

TEST_P(SharedReceives, Message_TakesOldestReceive) {
    connect();
    for (const ULONGLONG id : {7u, 8u, 9u})
        EXPECT_EQ(two.receive(id, remote, 1000), STATUS_SUCCESS);
    send(1, 700);
    send(2);
    pair.run();
    ASSERT_EQ(two.received.size(), 2u);
    EXPECT_EQ(two.received[0].WrId, 7u);
    EXPECT_EQ(two.received[0].ByteCount, 700u);
    EXPECT_EQ(two.received[1].WrId, 8u);
    EXPECT_EQ(two.received[1].QpNumber, two.attr.num);
    EXPECT_EQ(two.receives_left(), 1u);
    EXPECT_EQ(one.sent.size(), 2u);
}

TEST_P(SharedReceives, EmptyQueue_SenderRetriesUntilReceive) {
    connect();
    send(1);
    bool posted = false;
    pair.on_transmit = [&](const packet& each) {
        const bool is_nak =
            each.row().what == operation::acknowledge &&
            transport::kind_of(each.acknowledge.syndrome) == transport::syndrome_kind::rnr_nak;
        if (!is_nak || posted) return;
        posted = true;
        EXPECT_EQ(two.receive(7, remote, 1000), STATUS_SUCCESS);
    };
    pair.run();
    EXPECT_TRUE(posted);
    ASSERT_EQ(one.sent.size(), 1u);
    EXPECT_EQ(one.sent[0].Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(two.received.size(), 1u);
}

// Source: IBA 9.7.7.2 (no end-to-end credits with shared receive queues).
TEST_P(SharedReceives, Acknowledgements_GiveNoCredits) {
    pair.on_transmit = [&](const packet& each) {
        if (each.row().what != operation::acknowledge) return;
        EXPECT_EQ(each.acknowledge.syndrome, transport::no_credits);
    };
    connect();
    for (ULONGLONG id = 1; id <= 20; ++id)
        EXPECT_EQ(two.receive(id, remote, 1000), STATUS_SUCCESS);
    for (ULONGLONG id = 1; id <= 20; ++id)
        send(id);
    pair.run();
    EXPECT_EQ(one.sent.size(), 20u);
    EXPECT_EQ(two.received.size(), 20u);
}

// A queue that was used straight through gives no credits either.
TEST_P(SharedReceives, SeveralMessages_AreSentAtOnce) {
    connect();
    for (ULONGLONG id = 1; id <= 4; ++id)
        EXPECT_EQ(two.receive(id, remote, 1000), STATUS_SUCCESS);
    send(1);
    pair.run();
    pair.faults.straight = 0;
    const unsigned before = pair.packets;
    for (ULONGLONG id = 2; id <= 4; ++id)
        send(id);
    EXPECT_EQ(pair.packets, before + 3);
    pair.run();
    EXPECT_EQ(two.received.size(), 4u);
}

// The queue's protection domain may be another than the queue pair's.
TEST_P(SharedReceives, Receive_UsesTheMemoryOfTheQueue) {
    simulated_memory memory;
    region& into = memory.add(5000);
    std::ranges::fill(local.bytes, UCHAR{0x5A});
    pair.faults.straight = GetParam();
    two.share_receives(4, memory);
    pair.connect();
    into.key = remote.key + 1; // no key of the queue pair's memory
    EXPECT_EQ(two.receive(1, into, 1000), STATUS_SUCCESS);
    send(1, 700);
    pair.run();
    ASSERT_EQ(two.received.size(), 1u);
    EXPECT_EQ(two.received[0].Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(into.bytes[699], 0x5A);
    EXPECT_EQ(into.bytes[700], 0);
}

TEST_P(SharedReceives, WriteWithoutReceive_WritesNothingYet) {
    connect();
    std::ranges::fill(local.bytes, UCHAR{0x5A});
    ib_local_ds_t segment = segment_of(local, 100);
    ib_send_wr_t write = remote_request(WR_RDMA_WRITE, segment, remote);
    write.send_opt |= IB_SEND_OPT_IMMEDIATE;
    EXPECT_EQ(one.send(write), STATUS_SUCCESS);
    pair.run(2);
    EXPECT_EQ(remote.bytes[0], 0);
    EXPECT_EQ(two.receive(1, remote, 10), STATUS_SUCCESS);
    pair.run();
    EXPECT_EQ(remote.bytes[99], 0x5A);
    EXPECT_EQ(two.received.size(), 1u);
}

TEST_P(SharedReceives, Limit_IsReportedOnceAndThenZero) {
    connect();
    for (ULONGLONG id = 1; id <= 5; ++id)
        EXPECT_EQ(two.receive(id, remote, 1000), STATUS_SUCCESS);
    EXPECT_EQ(modify(IB_MOD_SRQ_LIMIT, 0, 4), STATUS_SUCCESS);
    EXPECT_FALSE(reached_limit);
    EXPECT_EQ(two.shared->limit(), 4u);
    for (const unsigned reported : {0u, 1u, 1u}) {
        send(1);
        pair.run();
        EXPECT_EQ(count(IB_AE_SRQ_LIMIT_REACHED), reported);
    }
    EXPECT_EQ(two.shared->limit(), 0u);
}

TEST_P(SharedReceives, LimitAboveCount_IsReachedAtOnce) {
    connect();
    EXPECT_EQ(two.receive(1, remote, 1000), STATUS_SUCCESS);
    EXPECT_EQ(modify(IB_MOD_SRQ_LIMIT, 0, 2), STATUS_SUCCESS);
    EXPECT_TRUE(reached_limit);
    EXPECT_EQ(two.shared->limit(), 0u);
    EXPECT_EQ(modify(IB_MOD_SRQ_LIMIT, 0, 65), STATUS_INVALID_PARAMETER);
    EXPECT_FALSE(reached_limit);
}

TEST_P(SharedReceives, Resize_KeepsReceivesInOrder) {
    connect(4);
    for (const ULONGLONG id : {1u, 2u, 3u})
        EXPECT_EQ(two.receive(id, remote, 1000), STATUS_SUCCESS);
    send(1);
    pair.run();
    for (const ULONGLONG id : {4u, 5u})
        EXPECT_EQ(two.receive(id, remote, 1000), STATUS_SUCCESS);
    EXPECT_EQ(two.receive(6, remote, 1000), STATUS_INSUFFICIENT_RESOURCES);
    EXPECT_EQ(modify(IB_MOD_SRQ_MAX_WR, 3, 0), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(modify(IB_MOD_SRQ_MAX_WR, 5, 0), STATUS_SUCCESS);
    EXPECT_EQ(two.shared->depth(), 5u);
    EXPECT_EQ(two.receive(6, remote, 1000), STATUS_SUCCESS);
    EXPECT_EQ(two.receive(7, remote, 1000), STATUS_INSUFFICIENT_RESOURCES);
    for (ULONGLONG id = 2; id <= 6; ++id) {
        send(id);
        pair.run();
        EXPECT_EQ(two.received.back().WrId, id);
    }
}

TEST_P(SharedReceives, Error_LeavesReceivesAndReportsLast) {
    connect();
    for (const ULONGLONG id : {1u, 2u})
        EXPECT_EQ(two.receive(id, remote, 1000), STATUS_SUCCESS);
    two.engine->enter(IB_QPS_ERROR);
    EXPECT_TRUE(two.received.empty());
    EXPECT_EQ(two.receives_left(), 2u);
    EXPECT_EQ(count(IB_AE_LAST_WQE_REACHED), 1u);
    two.engine->run();
    EXPECT_EQ(count(IB_AE_LAST_WQE_REACHED), 1u);
    two.engine->enter(IB_QPS_RESET);
    two.engine->enter(IB_QPS_INIT);
    EXPECT_EQ(count(IB_AE_LAST_WQE_REACHED), 1u);
    two.engine->enter(IB_QPS_ERROR);
    EXPECT_EQ(count(IB_AE_LAST_WQE_REACHED), 2u);
}

// The receive of the message that has begun is flushed; the others stay.
TEST_P(SharedReceives, ErrorDuringMessage_FlushesItsReceive) {
    connect();
    for (const ULONGLONG id : {1u, 2u})
        EXPECT_EQ(two.receive(id, remote, 1000), STATUS_SUCCESS);
    pair.faults.straight = 0;
    pair.drop = [](const packet& each) { return each.row().is_last(); };
    send(1, 600);
    pair.run(3);
    two.engine->enter(IB_QPS_ERROR);
    ASSERT_EQ(two.received.size(), 1u);
    EXPECT_EQ(two.received[0].WrId, 1u);
    EXPECT_EQ(two.received[0].Status, ULONG{IB_WC_FLUSHED});
    EXPECT_EQ(two.receives_left(), 1u);
    EXPECT_EQ(count(IB_AE_LAST_WQE_REACHED), 1u);
}

TEST_P(SharedReceives, TooLongMessage_FailsItsReceiveOnly) {
    connect();
    EXPECT_EQ(two.receive(1, remote, 50), STATUS_SUCCESS);
    EXPECT_EQ(two.receive(2, remote, 1000), STATUS_SUCCESS);
    send(1, 100);
    pair.run();
    ASSERT_EQ(two.received.size(), 1u);
    EXPECT_EQ(two.received[0].Status, ULONG{IB_WC_LOCAL_LENGTH_ERROR});
    ASSERT_EQ(one.sent.size(), 1u);
    EXPECT_EQ(one.sent[0].Status, ULONG{IB_WC_REMOTE_INVALID_REQUEST_ERROR});
    EXPECT_EQ(two.receives_left(), 1u);
}

// Another queue pair takes the last receive while the write's last packet is executed.
TEST_P(SharedReceives, ReceiveOfWriteTakenByOther_WriteIsRepeated) {
    connect();
    EXPECT_EQ(two.receive(1, remote, 1000), STATUS_SUCCESS);
    unsigned copies = 0;
    two.memory.on_copy = [&] {
        if (++copies != 1) return;
        transport::receive_request taken;
        EXPECT_TRUE(two.shared->take(taken, reached_limit));
    };
    ib_local_ds_t segment = segment_of(local, 100);
    ib_send_wr_t write = remote_request(WR_RDMA_WRITE, segment, remote);
    write.send_opt |= IB_SEND_OPT_IMMEDIATE;
    EXPECT_EQ(one.send(write), STATUS_SUCCESS);
    pair.run(2);
    EXPECT_TRUE(two.received.empty());
    EXPECT_EQ(two.receive(2, remote, 1000), STATUS_SUCCESS);
    pair.run();
    ASSERT_EQ(two.received.size(), 1u);
    EXPECT_EQ(two.received[0].WrId, 2u);
    EXPECT_EQ(two.received[0].Opcode, ULONG{IB_WC_RECEIVE_RDMA_WRITE_WITH_IMMEDIATE});
    ASSERT_EQ(one.sent.size(), 1u);
    EXPECT_EQ(one.sent[0].Status, ULONG{IB_WC_SUCCESS});
    EXPECT_GT(copies, 1u);
}

INSTANTIATE_TEST_SUITE_P(By, SharedReceives, ::testing::Values(0u, 1u), [](const auto& of) {
    return of.param == 0 ? "Packets" : "StraightThrough";
});

// ---- datagrams

TEST(SharedDatagrams, TooLongDatagram_AbortsItsReceive) {
    simulated_pair pair(1, IB_QPT_UNRELIABLE_DGRM);
    pair.two().share_receives();
    pair.connect();
    region& local = pair.one().memory.add(5000);
    region& remote = pair.two().memory.add(5000);
    EXPECT_EQ(pair.two().receive(1, remote, 100), STATUS_SUCCESS);
    EXPECT_EQ(pair.two().receive(2, remote, 140), STATUS_SUCCESS);
    IB_AV way{};
    way.Attr.port_num = 1;
    way.Attr.dlid = 2;
    for (int i = 0; i < 2; ++i) {
        ib_local_ds_t segment = segment_of(local, 100);
        ib_send_wr_t send = work_request(WR_SEND, segment);
        send.dgrm.ud = {&way, pair.two().attr.num, pair.two().attr.qkey, 0};
        EXPECT_EQ(pair.one().send(send), STATUS_SUCCESS);
    }
    pair.run();
    ASSERT_EQ(pair.two().received.size(), 2u);
    EXPECT_EQ(pair.two().received[0].Status, ULONG{IB_WC_REMOTE_ABORTED});
    EXPECT_EQ(pair.two().received[1].Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(pair.two().received[1].WrId, 2u);
    EXPECT_EQ(pair.two().engine->state(), IB_QPS_RTS);
}

} // namespace
