// Packets that have overtaken others: kept on a carrier that does not keep their order.
#include "simulated_pair.hpp"

#include <transport/acknowledgement.hpp>

#include <algorithm>
#include <optional>

namespace {

using namespace irpverbs::testing;
using irpverbs::hca_software::microsecond;

constexpr ULONG sent_packets = 40;
constexpr ULONG message_size = sent_packets * 256;

class EarlyPackets : public ::testing::Test {
protected:
    EarlyPackets() {
        for (std::size_t i = 0; i < local.bytes.size(); ++i)
            local.bytes[i] = remote.bytes[i] = static_cast<UCHAR>(i * 7 + i / 256);
    }

    /// The packet of an operation that has this place among those sent is delayed.
    void delay(operation what, unsigned place) {
        pair.drop = [this, what, place, seen = 0u](const packet& each) mutable {
            if (each.row().what != what || seen++ != place) return false;
            delayed = pair.bytes_of(each);
            return true;
        };
    }
    void release(simulated_end& to) {
        ASSERT_FALSE(delayed.empty());
        pair.inject(to, delayed, to.attr.primary_av.dlid);
    }
    void post(ib_wr_type_t type) {
        ib_local_ds_t segment = segment_of(local, message_size);
        EXPECT_EQ(one.send(remote_request(type, segment, remote)), STATUS_SUCCESS);
    }
    /// The peer receives all packets of a write but the fourth, and nothing that is sent then.
    void write_with_one_delayed() {
        std::ranges::fill(remote.bytes, UCHAR{0});
        delay(operation::write, 3);
        post(WR_RDMA_WRITE);
        pair.drop = [](const packet&) { return true; };
        pair.run(sent_packets);
    }
    void count_packets() {
        pair.on_transmit = [this](const packet& each) { ++counts[each.row().what]; };
    }
    void expect_success() {
        ASSERT_EQ(one.sent.size(), 1u);
        EXPECT_EQ(one.sent[0].Status, ULONG{IB_WC_SUCCESS});
        EXPECT_EQ(local.bytes, remote.bytes);
    }

    simulated_pair pair;
    simulated_end& one = pair.one();
    simulated_end& two = pair.two();
    region& local = one.memory.add(message_size);
    region& remote = two.memory.add(message_size);
    std::vector<UCHAR> delayed;
    std::map<operation, unsigned> counts;
};

// Nothing is sent again.
TEST_F(EarlyPackets, MissingRequestComes_ThoseBehindItAreExecuted) {
    pair.keep_early_packets();
    pair.connect();
    write_with_one_delayed();
    EXPECT_NE(local.bytes, remote.bytes);
    release(two);
    EXPECT_EQ(local.bytes, remote.bytes);
    pair.drop = nullptr;
    pair.run();
    expect_success();
}

// The peer, which is sending them again, need not.
TEST_F(EarlyPackets, ThoseBehindTheMissingRequestAreExecuted_TheLastIsAcknowledged) {
    pair.keep_early_packets();
    pair.connect();
    const psn begin(one.attr.sq_psn);
    pair.drop = [&](const packet& each) {
        if (each.row().what == operation::write && each.number == begin + 3)
            delayed = pair.bytes_of(each);
        return each.number == begin + 3 || !each.number.is_before(begin + 20);
    };
    post(WR_RDMA_WRITE);
    pair.drop = [](const packet&) { return true; };
    pair.run(sent_packets / 2);
    std::optional<psn> acknowledged;
    pair.on_transmit = [&](const packet& each) {
        if (each.row().what == operation::acknowledge) acknowledged = each.number;
    };
    release(two);
    EXPECT_EQ(acknowledged, begin + 19);
}

TEST_F(EarlyPackets, TheyComeInReverseOrder_AllAreExecuted) {
    pair.keep_early_packets();
    pair.connect();
    std::ranges::fill(remote.bytes, UCHAR{0});
    std::vector<std::vector<UCHAR>> sent;
    pair.drop = [&](const packet& each) {
        if (each.row().what == operation::write) sent.push_back(pair.bytes_of(each));
        return true;
    };
    post(WR_RDMA_WRITE);
    ASSERT_EQ(sent.size(), sent_packets);
    std::ranges::reverse(sent);
    for (const std::vector<UCHAR>& each : sent)
        pair.inject(two, each, two.attr.primary_av.dlid);
    EXPECT_EQ(local.bytes, remote.bytes);
}

TEST_F(EarlyPackets, EachComesTwice_OneIsKept) {
    pair.faults.duplication = 1;
    pair.keep_early_packets(sent_packets);
    pair.connect();
    std::ranges::fill(remote.bytes, UCHAR{0});
    delay(operation::write, 3);
    post(WR_RDMA_WRITE);
    pair.drop = [](const packet&) { return true; };
    pair.run(2 * sent_packets);
    release(two);
    EXPECT_EQ(local.bytes, remote.bytes);
}

TEST_F(EarlyPackets, RoomOfThoseThatWereExecuted_IsFree) {
    pair.keep_early_packets(sent_packets);
    pair.connect();
    for (unsigned i = 0; i < 3; ++i) {
        write_with_one_delayed();
        release(two);
        EXPECT_EQ(local.bytes, remote.bytes);
        pair.drop = nullptr;
        pair.run();
    }
}

TEST_F(EarlyPackets, NoRoom_ThoseBehindTheMissingRequestAreSentAgain) {
    pair.keep_early_packets(0);
    pair.connect();
    write_with_one_delayed();
    release(two);
    EXPECT_NE(local.bytes, remote.bytes);
    pair.drop = nullptr;
    pair.run();
    expect_success();
}

TEST_F(EarlyPackets, TwoAreMissing_TheSecondIsRequestedWhenTheFirstHasCome) {
    pair.keep_early_packets();
    pair.connect();
    std::ranges::fill(remote.bytes, UCHAR{0});
    std::vector<psn> requested;
    pair.on_transmit = [&](const packet& each) {
        if (each.row().what == operation::acknowledge &&
            each.acknowledge.syndrome == irpverbs::hca_software::transport::wrong_sequence)
            requested.push_back(each.number);
    };
    const psn begin(one.attr.sq_psn);
    pair.drop = [&](const packet& each) {
        if (each.row().what != operation::write) return false;
        if (each.number == begin + 3 && delayed.empty()) delayed = pair.bytes_of(each);
        return each.number == begin + 3 || each.number == begin + 7;
    };
    post(WR_RDMA_WRITE);
    pair.run(sent_packets);
    release(two);
    ASSERT_EQ(requested.size(), 2u);
    EXPECT_EQ(requested[0], begin + 3);
    EXPECT_EQ(requested[1], begin + 7);
    pair.drop = nullptr;
    pair.run();
    expect_success();
}

TEST_F(EarlyPackets, MissingResponseComesInTime_NothingIsRequestedAgain) {
    one.attr.local_ack_timeout = 14;
    pair.keep_early_packets();
    pair.connect();
    std::ranges::fill(local.bytes, UCHAR{0});
    delay(operation::read_response, 5);
    count_packets();
    post(WR_RDMA_READ);
    pair.run(sent_packets);
    EXPECT_TRUE(one.sent.empty());
    release(one);
    pair.run();
    expect_success();
    EXPECT_EQ(counts[operation::read], 1u);
    EXPECT_EQ(counts[operation::read_response], sent_packets);
}

// 67 ms would pass until the time-out.
TEST_F(EarlyPackets, ResponseIsLost_RequestedAgainAfterTwoMilliseconds) {
    one.attr.local_ack_timeout = 14;
    pair.keep_early_packets();
    pair.connect();
    std::ranges::fill(local.bytes, UCHAR{0});
    delay(operation::read_response, 5);
    post(WR_RDMA_READ);
    while (one.sent.empty() && pair.step()) {
    }
    expect_success();
    EXPECT_GE(pair.now, 2000 * microsecond);
    EXPECT_LT(pair.now, 3000 * microsecond);
}

// It acknowledges the read as well, whose response has not come.
TEST_F(EarlyPackets, AcknowledgementOvertakesAResponse_BothSucceedInOrder) {
    constexpr unsigned acknowledgements = 2; // of the write
    one.attr.local_ack_timeout = 14;
    pair.keep_early_packets();
    pair.connect();
    delay(operation::read_response, sent_packets - 1);
    count_packets();
    post(WR_RDMA_READ);
    post(WR_RDMA_WRITE);
    pair.run(2 * sent_packets + acknowledgements);
    EXPECT_TRUE(one.sent.empty());
    release(one);
    ASSERT_EQ(one.sent.size(), 2u);
    EXPECT_EQ(one.sent[0].Opcode, ULONG{IB_WC_RDMA_READ});
    EXPECT_EQ(one.sent[1].Opcode, ULONG{IB_WC_RDMA_WRITE});
    EXPECT_EQ(counts[operation::read], 1u);
}

TEST_F(EarlyPackets, QueuePairIsReset_NoneOfThemIsExecuted) {
    pair.keep_early_packets();
    pair.connect();
    delay(operation::write, 0);
    post(WR_RDMA_WRITE);
    pair.drop = [](const packet&) { return true; };
    pair.run(sent_packets);
    two.engine->enter(IB_QPS_RESET);
    two.engine->enter(IB_QPS_INIT);
    two.engine->enter(IB_QPS_RTR);
    release(two);
    EXPECT_EQ(two.engine->expected_number(), psn(two.attr.rq_psn) + 1);
}

} // namespace
