// Unreliable connections and datagrams.
#include "simulated_pair.hpp"

namespace {

using namespace irpverbs::testing;

class UnreliableTransport : public ::testing::TestWithParam<ib_qp_type_t> {
protected:
    UnreliableTransport() {
        address.Attr.dlid = 5;
        address.Attr.port_num = 1;
    }
    void SetUp() override { pair.connect(); }

    void send(ULONG length, ULONGLONG id, ib_qkey_t qkey = 0x1111) {
        ib_local_ds_t segment = segment_of(local, length);
        ib_send_wr_t wr = work_request(WR_SEND, segment, id);
        if (is_datagram()) wr.dgrm.ud = {&address, two.attr.num, qkey, 0};
        EXPECT_EQ(one.send(wr), STATUS_SUCCESS);
    }
    bool is_datagram() const { return GetParam() == IB_QPT_UNRELIABLE_DGRM; }
    ULONG route_size() const { return is_datagram() ? 40 : 0; }

    simulated_pair pair{1, GetParam()};
    simulated_end& one = pair.one();
    simulated_end& two = pair.two();
    region& local = one.memory.add(8192);
    region& inbox = two.memory.add(8192);
    IB_AV address{};
};

TEST_P(UnreliableTransport, Send_CompletesWhenSentAndArrives) {
    EXPECT_EQ(two.receive(7, inbox, 1000), STATUS_SUCCESS);
    local.bytes[100] = 0x77;
    send(200, 1);
    ASSERT_EQ(one.sent.size(), 1u);
    EXPECT_EQ(one.sent[0].Status, ULONG{IB_WC_SUCCESS});
    pair.run();
    ASSERT_EQ(two.received.size(), 1u);
    EXPECT_EQ(two.received[0].ByteCount, 200 + route_size());
    EXPECT_EQ(two.received[0].SourceQp, one.attr.num);
    EXPECT_EQ(inbox.bytes[100 + route_size()], 0x77);
}

TEST_P(UnreliableTransport, NoReceive_MessageIsDropped) {
    send(200, 1);
    pair.run();
    EXPECT_EQ(two.receive(7, inbox, 1000), STATUS_SUCCESS);
    send(100, 2);
    pair.run();
    ASSERT_EQ(two.received.size(), 1u);
    EXPECT_EQ(two.received[0].ByteCount, 100 + route_size());
    EXPECT_EQ(two.engine->state(), IB_QPS_RTS);
}

TEST_P(UnreliableTransport, ReceiveTooShort_MessageIsDroppedAndReceiveKept) {
    EXPECT_EQ(two.receive(7, inbox, 150), STATUS_SUCCESS);
    send(200, 1);
    send(100, 2);
    pair.run();
    ASSERT_EQ(two.received.size(), 1u);
    EXPECT_EQ(two.received[0].ByteCount, 100 + route_size());
}

TEST_P(UnreliableTransport, SendError_FlushesTheSendQueueOnly) {
    EXPECT_EQ(two.receive(7, inbox, 1000), STATUS_SUCCESS);
    const ULONG key = local.key;
    local.key ^= 1;
    ib_local_ds_t segment{local.base, 8, key};
    ib_send_wr_t wr = work_request(WR_SEND, segment, 1);
    if (is_datagram()) wr.dgrm.ud = {&address, two.attr.num, 0x1111, 0};
    EXPECT_EQ(one.send(wr), STATUS_SUCCESS);
    send(100, 2);
    ASSERT_EQ(one.sent.size(), 2u);
    EXPECT_EQ(one.sent[0].Status, ULONG{IB_WC_LOCAL_PROTECTION_ERROR});
    EXPECT_EQ(one.sent[1].Status, ULONG{IB_WC_FLUSHED});
    EXPECT_EQ(one.states, std::vector<ib_qp_state_t>{IB_QPS_SQERR});
    one.engine->enter(IB_QPS_RTS);
    send(100, 3);
    pair.run();
    EXPECT_EQ(one.sent.back().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(two.received.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(On, UnreliableTransport,
                         ::testing::Values(IB_QPT_UNRELIABLE_CONN, IB_QPT_UNRELIABLE_DGRM),
                         [](const auto& of) {
                             return of.param == IB_QPT_UNRELIABLE_CONN ? "Connection" : "Datagram";
                         });

class UnreliableConnection : public UnreliableTransport {};

TEST_P(UnreliableConnection, PacketLost_MessageIsLostAndNextArrives) {
    for (ULONGLONG id = 1; id <= 2; ++id)
        EXPECT_EQ(two.receive(id, inbox, 4000), STATUS_SUCCESS);
    pair.drop = [&](const packet& what) { return what.number == psn(one.attr.sq_psn) + 1; };
    send(1000, 1);
    send(700, 2);
    pair.run();
    ASSERT_EQ(two.received.size(), 1u);
    EXPECT_EQ(two.received[0].WrId, 1u);
    EXPECT_EQ(two.received[0].ByteCount, 700u);
}

// Messages that arrive are whole, and in the order in which they were sent unless packets overtake
// one another.
TEST_P(UnreliableConnection, CarrierWithFaults_NoMessageIsMixed) {
    for (std::uint64_t seed = 1; seed <= 300 && !HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        simulated_pair faulty(seed, IB_QPT_UNRELIABLE_CONN);
        faulty.faults = {10,
                         10,
                         10,
                         10,
                         seed % 2 != 0 ? machine_time{100} : machine_time{0},
                         seed % 4 < 2 ? 2u : 0u};
        region& source = faulty.one().memory.add(16 * 700);
        region& sink = faulty.two().memory.add(16 * 700);
        faulty.connect();
        for (unsigned i = 0; i < 16; ++i) {
            EXPECT_EQ(faulty.two().receive(i, sink, 700, ULONGLONG{i} * 700), STATUS_SUCCESS);
            std::fill_n(source.bytes.begin() + i * 700, 700, static_cast<UCHAR>(i + 1));
            ib_local_ds_t segment = segment_of(source, 300 + 25 * i, ULONGLONG{i} * 700);
            EXPECT_EQ(faulty.one().send(work_request(WR_SEND, segment, i)), STATUS_SUCCESS);
        }
        faulty.run();
        EXPECT_EQ(faulty.one().sent.size(), 16u);
        for (const IB_WC& each : faulty.two().received) {
            const auto at = sink.bytes.begin() + static_cast<std::ptrdiff_t>(each.WrId * 700);
            const unsigned message = *at - 1u;
            EXPECT_EQ(each.ByteCount, 300 + 25 * message);
            EXPECT_EQ(std::count(at, at + each.ByteCount, *at), each.ByteCount);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(On, UnreliableConnection, ::testing::Values(IB_QPT_UNRELIABLE_CONN));

class UnreliableDatagram : public UnreliableTransport {};

TEST_P(UnreliableDatagram, WrongQKey_IsDropped) {
    EXPECT_EQ(two.receive(7, inbox, 1000), STATUS_SUCCESS);
    send(100, 1, 0x2222);
    pair.run();
    EXPECT_TRUE(two.received.empty());
    send(100, 1, 0x80000000); // the queue pair's own
    pair.run();
    EXPECT_EQ(two.received.size(), 1u);
}

TEST_P(UnreliableDatagram, LongerThanMtu_LocalLength) {
    send(257, 1);
    ASSERT_EQ(one.sent.size(), 1u);
    EXPECT_EQ(one.sent[0].Status, ULONG{IB_WC_LOCAL_LENGTH_ERROR});
}

INSTANTIATE_TEST_SUITE_P(On, UnreliableDatagram, ::testing::Values(IB_QPT_UNRELIABLE_DGRM));

} // namespace
