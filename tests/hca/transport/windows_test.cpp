// Work requests that bind and invalidate keys: their order, their errors, and sends that make the
// peer invalidate a key. By packets, and straight through.
#include "simulated_pair.hpp"

namespace {

using namespace irpverbs::testing;

class Windows : public ::testing::TestWithParam<std::uint32_t> {
protected:
    static constexpr ULONG size = 3000;

    void connect(std::uint32_t loss = 0) {
        pair.faults.straight = GetParam();
        pair.faults.loss = pair.faults.duplication = loss;
        pair.connect();
    }
    /// A binding of the window to 1000 bytes behind the first 500 of two's region.
    ib_send_wr_t binding(UCHAR variant, ULONGLONG wr_id = 10) {
        ib_send_wr_t made{};
        made.wr_id = wr_id;
        made.wr_type = WR_BIND_MW;
        made.send_opt = IB_SEND_OPT_SIGNALED;
        made.bind_mw = {&window,
                        &handle,
                        remote.base + 500,
                        1000,
                        window.RKey | variant,
                        IB_AC_RDMA_READ | IB_AC_RDMA_WRITE};
        return made;
    }
    static ib_send_wr_t invalidation(ULONG key, ULONGLONG wr_id = 20) {
        ib_send_wr_t made{};
        made.wr_id = wr_id;
        made.wr_type = WR_LOCAL_INV;
        made.send_opt = IB_SEND_OPT_SIGNALED;
        made.invalidate_rkey = key;
        return made;
    }
    ib_send_wr_t sending(ULONG key, ULONGLONG wr_id = 30, ULONG length = 100) {
        segment = segment_of(local, length);
        ib_send_wr_t made = work_request(WR_SEND, segment, wr_id);
        made.send_opt |= IB_SEND_OPT_INVALIDATE;
        made.invalidate_rkey = key;
        return made;
    }
    ib_send_wr_t writing(ULONG key, ULONGLONG offset, ULONG length, ULONGLONG wr_id = 1) {
        segment = segment_of(local, length);
        ib_send_wr_t made = remote_request(WR_RDMA_WRITE, segment, remote, offset, wr_id);
        made.remote_ops.rkey = key;
        return made;
    }
    NTSTATUS post(simulated_end& by, const ib_send_wr_t& what) {
        const NTSTATUS status = by.send(what);
        pair.run();
        return status;
    }
    void expect_last(const std::vector<IB_WC>& in, ULONGLONG wr_id, ULONG status) {
        ASSERT_FALSE(in.empty());
        EXPECT_EQ(in.back().WrId, wr_id);
        EXPECT_EQ(in.back().Status, status);
    }

    simulated_pair pair;
    simulated_end& one = pair.one();
    simulated_end& two = pair.two();
    region& local = one.memory.add(size);
    region& remote = two.memory.add(size);
    IB_MW window = two.memory.add_window();
    IB_MR handle = simulated_memory::handle_of(remote);
    ib_local_ds_t segment{};
};

TEST_P(Windows, BoundWindow_GivesThePeerItsRangeOnly) {
    connect();
    std::ranges::fill(local.bytes, UCHAR{0xAB});
    post(two, binding(7));
    expect_last(two.sent, 10, IB_WC_SUCCESS);
    EXPECT_EQ(two.sent[0].Opcode, ULONG{IB_WC_BIND_MW});
    post(one, writing(window.RKey | 7, 500, 1000));
    expect_last(one.sent, 1, IB_WC_SUCCESS);
    EXPECT_EQ(remote.bytes[499], 0);
    EXPECT_EQ(remote.bytes[500], 0xAB);
    EXPECT_EQ(remote.bytes[1499], 0xAB);
    EXPECT_EQ(remote.bytes[1500], 0);
    post(one, writing(window.RKey | 7, 501, 1000));
    expect_last(one.sent, 1, IB_WC_REMOTE_ACCESS_ERROR);
}

// A work request without packets executes when those in front of it have completed.
TEST_P(Windows, Binding_WaitsForEarlierWorkRequests) {
    connect();
    pair.drop = [&](const packet& each) { return each.row().what == operation::read_response; };
    segment = segment_of(remote, 100);
    ib_send_wr_t read = remote_request(WR_RDMA_READ, segment, local);
    ib_send_wr_t* failed = nullptr;
    EXPECT_EQ(two.engine->post_send(&read, &failed), STATUS_SUCCESS);
    EXPECT_EQ(two.send(binding(7)), STATUS_SUCCESS);
    pair.run(3);
    EXPECT_TRUE(two.sent.empty());
    EXPECT_EQ(two.memory.find(window.RKey | 7, remote.base + 500, 1, IB_AC_RDMA_WRITE), nullptr);
    pair.drop = nullptr;
    pair.run();
    ASSERT_EQ(two.sent.size(), 2u);
    EXPECT_EQ(two.sent[0].WrId, 1u);
    EXPECT_EQ(two.sent[1].WrId, 10u);
}

TEST_P(Windows, BindingThatIsRefused_FailsAndFlushes) {
    connect();
    post(two, binding(7));
    post(two, binding(8, 11));
    expect_last(two.sent, 11, IB_WC_MW_BIND_ERROR);
    EXPECT_EQ(two.engine->state(), ULONG{IB_QPS_ERROR});
    post(two, binding(9, 12));
    expect_last(two.sent, 12, IB_WC_FLUSHED);
}

TEST_P(Windows, BindingWithoutItsObjects_IsNotPosted) {
    connect();
    ib_send_wr_t what = binding(7);
    what.bind_mw.h_mw = nullptr;
    EXPECT_EQ(two.send(what), STATUS_INVALID_PARAMETER);
    what = binding(7);
    what.bind_mw.h_mr = nullptr;
    EXPECT_EQ(two.send(what), STATUS_INVALID_PARAMETER);
    window.Type = IB_MWT_TYPE_1;
    EXPECT_EQ(two.send(binding(7)), STATUS_INVALID_PARAMETER);
    pair.run();
    EXPECT_TRUE(two.sent.empty());
}

TEST_P(Windows, LocalInvalidate_EndsTheBinding) {
    connect();
    post(two, binding(7));
    post(two, invalidation(window.RKey | 7));
    expect_last(two.sent, 20, IB_WC_SUCCESS);
    EXPECT_EQ(two.sent.back().Opcode, ULONG{IB_WC_LOCAL_INVALIDATE});
    post(one, writing(window.RKey | 7, 500, 8));
    expect_last(one.sent, 1, IB_WC_REMOTE_ACCESS_ERROR);
    EXPECT_EQ(remote.bytes[500], 0);
}

TEST_P(Windows, LocalInvalidateOfWrongKey_Fails) {
    connect();
    post(two, invalidation(window.RKey | 7));
    expect_last(two.sent, 20, IB_WC_LOCAL_QP_OPERATION_ERROR);
    EXPECT_EQ(two.engine->state(), ULONG{IB_QPS_ERROR});
}

TEST_P(Windows, SendWithInvalidate_PeerInvalidatesAndReportsTheKey) {
    for (const bool shares : {false, true}) {
        simulated_end& end = two;
        end.received.clear();
        if (shares) end.share_receives();
        connect();
        post(end, binding(7));
        EXPECT_EQ(end.receive(5, remote, size), STATUS_SUCCESS);
        post(one, sending(window.RKey | 7));
        expect_last(one.sent, 30, IB_WC_SUCCESS);
        expect_last(end.received, 5, IB_WC_SUCCESS);
        EXPECT_EQ(end.received[0].Flags, IB_WC_INVALIDATED);
        EXPECT_EQ(end.received[0].Immediate, window.RKey | 7);
        EXPECT_EQ(end.received[0].ByteCount, 100u);
        EXPECT_EQ(end.memory.find(window.RKey | 7, remote.base + 500, 1, IB_AC_RDMA_WRITE),
                  nullptr);
    }
}

TEST_P(Windows, SendWithImmediate_InvalidatesNothing) {
    connect();
    post(two, binding(7));
    EXPECT_EQ(two.receive(5, remote, size), STATUS_SUCCESS);
    ib_send_wr_t what = sending(window.RKey | 7);
    what.send_opt |= IB_SEND_OPT_IMMEDIATE;
    post(one, what);
    expect_last(two.received, 5, IB_WC_SUCCESS);
    EXPECT_EQ(two.received[0].Flags, IB_WC_IMMEDIATE_PRESENT);
    EXPECT_NE(two.memory.find(window.RKey | 7, remote.base + 500, 1, IB_AC_RDMA_WRITE), nullptr);
}

// The requester does not learn of it: its message has arrived.
TEST_P(Windows, SendWithWrongKey_FailsItsReceiver) {
    connect();
    EXPECT_EQ(two.receive(5, remote, size), STATUS_SUCCESS);
    post(one, sending(window.RKey | 7));
    expect_last(two.received, 5, IB_WC_LOCAL_QP_OPERATION_ERROR);
    EXPECT_EQ(two.engine->state(), ULONG{IB_QPS_ERROR});
}

TEST_P(Windows, WriteWithTheOption_IsAWrite) {
    connect();
    post(two, binding(7));
    ib_send_wr_t what = writing(window.RKey | 7, 500, 700);
    what.send_opt |= IB_SEND_OPT_INVALIDATE;
    what.invalidate_rkey = window.RKey | 7;
    local.bytes[699] = 0xCD;
    post(one, what);
    expect_last(one.sent, 1, IB_WC_SUCCESS);
    EXPECT_EQ(remote.bytes[1199], 0xCD);
    EXPECT_NE(two.memory.find(window.RKey | 7, remote.base + 500, 1, IB_AC_RDMA_WRITE), nullptr);
}

TEST_P(Windows, SegmentsOfABinding_AreNotRead) {
    connect();
    ib_send_wr_t what = binding(7);
    what.num_ds = 77;
    post(two, what);
    expect_last(two.sent, 10, IB_WC_SUCCESS);
    EXPECT_EQ(two.sent[0].ByteCount, 0u);
}

// Each round binds the window anew, writes through it, and has the peer invalidate it: a packet
// that arrives twice or late changes no key again.
TEST_P(Windows, Faults_EachKeyIsBoundAndInvalidatedOnce) {
    connect(6);
    for (UCHAR round = 1; round <= 60; ++round) {
        const ULONG key = window.RKey | round;
        std::ranges::fill(local.bytes, round);
        EXPECT_EQ(two.receive(round, remote, 100, 2000), STATUS_SUCCESS);
        post(two, binding(round, round));
        expect_last(two.sent, round, IB_WC_SUCCESS);
        EXPECT_EQ(one.send(writing(key, 500, 1000, 100 + round)), STATUS_SUCCESS);
        post(one, sending(key, 200 + round));
        expect_last(one.sent, 200 + round, IB_WC_SUCCESS);
        expect_last(two.received, round, IB_WC_SUCCESS);
        EXPECT_EQ(two.received.back().Immediate, key);
        EXPECT_EQ(remote.bytes[1499], round);
    }
    EXPECT_EQ(two.memory.outside + one.memory.outside, 0u);
}

INSTANTIATE_TEST_SUITE_P(Way, Windows, ::testing::Values(0u, 1u),
                         [](const auto& way) { return way.param == 0 ? "Packets" : "Straight"; });

TEST(WindowsOfServices, UnreliableConnection_BindsAndHasNoSendWithInvalidate) {
    simulated_pair pair(1, IB_QPT_UNRELIABLE_CONN);
    region& remote = pair.two().memory.add(100);
    IB_MW window = pair.two().memory.add_window();
    IB_MR handle = simulated_memory::handle_of(remote);
    pair.faults.straight = 1;
    pair.connect();
    ib_send_wr_t what{};
    what.wr_type = WR_BIND_MW;
    what.send_opt = IB_SEND_OPT_SIGNALED;
    what.bind_mw = {&window, &handle, remote.base, 100, window.RKey, IB_AC_RDMA_WRITE};
    EXPECT_EQ(pair.two().send(what), STATUS_SUCCESS);
    EXPECT_EQ(pair.two().sent.back().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(pair.two().send(what), STATUS_SUCCESS);
    EXPECT_EQ(pair.two().sent.back().Status, ULONG{IB_WC_MW_BIND_ERROR});
    EXPECT_EQ(pair.two().engine->state(), ULONG{IB_QPS_SQERR});

    ib_send_wr_t send{};
    send.wr_type = WR_SEND;
    send.send_opt = IB_SEND_OPT_INVALIDATE;
    EXPECT_EQ(pair.two().receive(1, remote, 10), STATUS_SUCCESS);
    EXPECT_EQ(pair.one().send(send), STATUS_INVALID_DEVICE_REQUEST);
}

// The peer could do it: its key is valid, and it has a receive.
TEST(WindowsOfServices, UnreliableConnectionStraightThrough_HasNoSendWithInvalidate) {
    simulated_pair pair(1, IB_QPT_UNRELIABLE_CONN);
    region& remote = pair.two().memory.add(100);
    region& ended = pair.two().memory.add(100);
    pair.faults.straight = 1;
    pair.connect();
    ib_send_wr_t send{};
    send.wr_type = WR_SEND;
    send.send_opt = IB_SEND_OPT_INVALIDATE;
    send.invalidate_rkey = ended.key;
    EXPECT_EQ(pair.two().receive(1, remote, 10), STATUS_SUCCESS);
    EXPECT_EQ(pair.one().send(send), STATUS_INVALID_DEVICE_REQUEST);
}

TEST(WindowsOfServices, Datagrams_HaveNeitherBindingNorInvalidation) {
    simulated_pair pair(1, IB_QPT_UNRELIABLE_DGRM);
    pair.connect();
    for (const ib_wr_type_t type : {WR_BIND_MW, WR_LOCAL_INV}) {
        ib_send_wr_t what{};
        what.wr_type = type;
        EXPECT_EQ(pair.one().send(what), STATUS_INVALID_DEVICE_REQUEST);
    }
}

// The header of the key is a word, on both ways.
TEST(WindowsOfServices, SendWithInvalidateStraightThrough_HasAsManyWordsAsItsPackets) {
    simulated_pair pair;
    region& local = pair.one().memory.add(100);
    region& remote = pair.two().memory.add(100);
    pair.faults.straight = 1;
    pair.connect();
    EXPECT_EQ(pair.two().receive(1, remote, 100), STATUS_SUCCESS);
    std::size_t bytes = 0;
    ib_local_ds_t segment = segment_of(local, 100);
    ib_send_wr_t what = work_request(WR_SEND, segment);
    what.send_opt |= IB_SEND_OPT_INVALIDATE;
    what.invalidate_rkey = remote.key;
    pair.on_transmit = [&](const packet& each) {
        if (each.row().what == operation::send) bytes = transport::transport_size(each);
    };
    EXPECT_EQ(pair.one().send(what), STATUS_SUCCESS);
    EXPECT_EQ(pair.one().traffic.requests, 1u) << "straight through";
    region& again = pair.two().memory.add(100);
    EXPECT_EQ(pair.two().receive(2, again, 100), STATUS_SUCCESS);
    pair.faults.straight = 0;
    what.invalidate_rkey = again.key;
    EXPECT_EQ(pair.one().send(what), STATUS_SUCCESS);
    pair.run();
    EXPECT_EQ(pair.one().traffic.request_words * 4, bytes);
}

} // namespace
