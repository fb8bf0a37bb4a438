// The rules of the kernel's MAD layer: requests, repetitions, time-outs, and messages in segments.
#include <exchange.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <endian.h>
#include <numeric>

namespace {

using namespace irpverbs::umad;

constexpr std::uint8_t administration = 3;
constexpr std::uint8_t get_table = 0x12;
constexpr std::uint8_t response_bit = 0x80;
constexpr std::size_t table_header = 56;

mad datagram(std::uint8_t method, std::uint32_t tid) {
    mad made{};
    made[0] = 1;
    made[1] = administration;
    made[2] = 2;
    made[3] = method;
    put32(&made[12], tid);
    return made;
}

/// A message of RMPP with `size` bytes of data.
std::vector<std::uint8_t> table(std::uint8_t method, std::uint32_t tid, std::size_t size) {
    const mad head = datagram(method, tid);
    std::vector<std::uint8_t> made(head.begin(), head.begin() + table_header);
    made[24] = 1;
    made[25] = rmpp::data;
    made[26] = rmpp::active;
    made.resize(table_header + size);
    std::iota(made.begin() + table_header, made.end(), std::uint8_t{1});
    return made;
}

ib_mad_addr_t peer(std::uint16_t lid) {
    ib_mad_addr_t made{};
    made.lid = htobe16(lid);
    return made;
}

/// A port that keeps what an exchange sends and delivers, and has a clock of its own.
struct recording_port : exchange_port {
    struct message {
        std::uint32_t status;
        std::vector<std::uint8_t> content;
    };
    std::deque<mad> sent;
    std::deque<message> delivered;
    deadlines all;
    std::int64_t now = 0;

    void emit(const ib_mad_addr_t&, const mad& what, std::uint32_t) override {
        sent.push_back(what);
    }
    void deliver(std::uint32_t status, const ib_mad_addr_t&,
                 std::span<const std::uint8_t> content) override {
        delivered.push_back({status, {content.begin(), content.end()}});
    }
    deadlines& timers() override { return all; }
    std::int64_t now_ms() override { return now; }

    /// Runs the deadlines up to that time, each at its own.
    void advance_to(std::int64_t end) {
        while (all.next() <= end) {
            now = all.next();
            all.run(now);
        }
        now = end;
    }
    std::uint32_t last_segment() const { return rmpp::segment(sent.back().data()); }
};

struct one_exchange {
    recording_port port;
    exchange of{port, true};
};

TEST(UmadExchange, Response_EndsItsRequest) {
    one_exchange my;
    ASSERT_EQ(my.of.send({peer(2), 100, 3}, datagram(1, 7)), 0);
    EXPECT_EQ(my.port.sent.size(), 1u);
    my.of.received(peer(2), datagram(1 | response_bit, 7).data());
    my.port.advance_to(10'000);
    ASSERT_EQ(my.port.delivered.size(), 1u);
    EXPECT_EQ(my.port.delivered[0].status, 0u);
    EXPECT_EQ(my.port.delivered[0].content.size(), mad_size);
    EXPECT_EQ(my.port.sent.size(), 1u);
}

TEST(UmadExchange, RequestWithoutResponse_IsRepeatedThenTimesOut) {
    one_exchange my;
    ASSERT_EQ(my.of.send({peer(2), 100, 3}, datagram(1, 7)), 0);
    my.port.advance_to(399);
    EXPECT_EQ(my.port.sent.size(), 4u);
    EXPECT_TRUE(my.port.delivered.empty());
    my.port.advance_to(400);
    ASSERT_EQ(my.port.delivered.size(), 1u);
    EXPECT_EQ(my.port.delivered[0].status, std::uint32_t{ETIMEDOUT});
    EXPECT_EQ(my.port.delivered[0].content.size(), mad_header);
    EXPECT_EQ(my.port.delivered[0].content[3], 1);
}

TEST(UmadExchange, NegativeTimeOut_WaitsForEver) {
    one_exchange my;
    ASSERT_EQ(my.of.send({peer(2), static_cast<std::uint32_t>(-1), 0}, datagram(1, 7)), 0);
    my.port.advance_to(1'000'000);
    EXPECT_TRUE(my.port.delivered.empty());
    my.of.received(peer(2), datagram(1 | response_bit, 7).data());
    EXPECT_EQ(my.port.delivered.size(), 1u);
}

TEST(UmadExchange, TimeOutOfZero_ExpectsNoResponse) {
    one_exchange my;
    ASSERT_EQ(my.of.send({peer(2), 0, 3}, datagram(1, 7)), 0);
    EXPECT_EQ(my.port.all.next(), deadlines::never);
    my.of.received(peer(2), datagram(1 | response_bit, 7).data());
    EXPECT_TRUE(my.port.delivered.empty());
}

TEST(UmadExchange, LateOrUnknownResponse_IsDropped) {
    one_exchange my;
    ASSERT_EQ(my.of.send({peer(2), 100, 0}, datagram(1, 7)), 0);
    my.of.received(peer(2), datagram(1 | response_bit, 8).data());
    my.port.advance_to(100);
    my.of.received(peer(2), datagram(1 | response_bit, 7).data());
    ASSERT_EQ(my.port.delivered.size(), 1u);
    EXPECT_EQ(my.port.delivered[0].status, std::uint32_t{ETIMEDOUT});
}

TEST(UmadExchange, SecondRequestWithATransactionId_IsRefused) {
    one_exchange my;
    ASSERT_EQ(my.of.send({peer(2), 100, 0}, datagram(1, 7)), 0);
    EXPECT_EQ(my.of.send({peer(2), 100, 0}, datagram(1, 7)), EINVAL);
    EXPECT_EQ(my.of.send({peer(2), 100, 0}, datagram(1, 8)), 0);
    my.of.withdraw({peer(2), 100, 0}, datagram(1, 7).data());
    EXPECT_EQ(my.of.send({peer(2), 100, 0}, datagram(1, 7)), 0);
}

// A transfer to one peer and a request to another, with one TransactionID: the end of the transfer
// replaces the request, and its deadline.
TEST(UmadExchange, TransferThatEndsBesideARequest_LeavesOneDeadline) {
    one_exchange my;
    ASSERT_EQ(my.of.send({peer(2), 5'000, 1}, table(get_table, 7, 100)), 0);
    EXPECT_EQ(my.of.send({peer(2), 5'000, 0}, datagram(get_table, 7)), EINVAL);
    ASSERT_EQ(my.of.send({peer(3), 5'000, 0}, datagram(get_table, 7)), 0);
    my.port.advance_to(1'000);
    mad all = datagram(get_table | response_bit, 7);
    rmpp::set(all.data(), rmpp::ack, 0, 0, 1, 64);
    my.of.received(peer(2), all.data());
    my.port.advance_to(5'999);
    EXPECT_TRUE(my.port.delivered.empty());
    my.port.advance_to(20'000);
    EXPECT_EQ(my.port.delivered.size(), 1u);
    EXPECT_EQ(my.port.all.next(), deadlines::never);
}

TEST(UmadExchange, RequestOfAPeer_IsDelivered) {
    one_exchange my;
    my.of.received(peer(2), datagram(1, 9).data());
    ASSERT_EQ(my.port.delivered.size(), 1u);
    EXPECT_EQ(low_tid(my.port.delivered[0].content.data()), 9u);
}

TEST(UmadExchange, LongMessageWithoutRmpp_IsRefused) {
    one_exchange my;
    std::vector<std::uint8_t> message = table(get_table, 7, 500);
    message[26] = 0;
    EXPECT_EQ(my.of.send({peer(2), 100, 0}, message), EINVAL);
    recording_port port;
    exchange by_program(port, false);
    EXPECT_EQ(by_program.send({peer(2), 100, 0}, table(get_table, 7, 500)), EINVAL);
}

TEST(UmadExchange, ProgramThatDoesRmppItself_SendsAndGetsSegments) {
    recording_port port;
    exchange by_program(port, false);
    const std::vector<std::uint8_t> segment = table(get_table | response_bit, 7, 200);
    EXPECT_EQ(by_program.send({peer(2), 0, 0}, segment), 0);
    EXPECT_EQ(port.sent.size(), 1u);
    by_program.received(peer(2), segment.data());
    EXPECT_EQ(port.delivered.size(), 1u);
}

/// Two exchanges with a wire that may lose datagrams.
struct wire {
    recording_port ports[2];
    exchange ends[2]{{ports[0], true}, {ports[1], true}};
    unsigned lost_once_in = 0;
    unsigned count = 0;

    void carry() {
        while (!ports[0].sent.empty() || !ports[1].sent.empty())
            for (int from = 0; from < 2; ++from) {
                if (ports[from].sent.empty()) continue;
                const mad what = ports[from].sent.front();
                ports[from].sent.pop_front();
                if (lost_once_in != 0 && ++count % lost_once_in == 0) continue;
                ends[1 - from].received(peer(static_cast<std::uint16_t>(1 + from)), what.data());
            }
    }
    void run_until(std::int64_t end) {
        for (std::int64_t now = 0; now <= end; now += 100) {
            carry();
            for (recording_port& each : ports)
                each.advance_to(now);
        }
    }
};

void expect_table(const recording_port::message& got, std::size_t size) {
    const std::vector<std::uint8_t> whole = table(get_table | response_bit, 7, size);
    EXPECT_EQ(got.status, 0u);
    ASSERT_EQ(got.content.size(), whole.size());
    EXPECT_TRUE(
        std::equal(whole.begin() + table_header, whole.end(), got.content.begin() + table_header));
}

TEST(UmadExchange, MessagesOfAllSizes_ArriveInSegments) {
    for (const std::size_t size : {1u, 199u, 200u, 201u, 400u, 40'000u}) {
        SCOPED_TRACE(size);
        wire both;
        ASSERT_EQ(both.ends[0].send({peer(2), 1'000, 0}, datagram(get_table, 7)), 0);
        both.carry();
        ASSERT_EQ(both.ports[1].delivered.size(), 1u);
        ASSERT_EQ(both.ends[1].send({peer(1), 0, 0}, table(get_table | response_bit, 7, size)), 0);
        both.carry();
        ASSERT_EQ(both.ports[0].delivered.size(), 1u);
        expect_table(both.ports[0].delivered[0], size);
        both.run_until(60'000);
        EXPECT_EQ(both.ports[0].delivered.size(), 1u);
        EXPECT_EQ(both.ports[0].all.next(), deadlines::never);
        EXPECT_EQ(both.ports[1].all.next(), deadlines::never);
    }
}

TEST(UmadExchange, LostSegments_AreRepeatedWithinTheRetries) {
    wire both;
    both.lost_once_in = 17;
    ASSERT_EQ(both.ends[0].send({peer(2), 60'000, 0}, datagram(get_table, 7)), 0);
    both.carry();
    ASSERT_EQ(both.ends[1].send({peer(1), 0, 20}, table(get_table | response_bit, 7, 40'000)), 0);
    both.run_until(60'000);
    ASSERT_EQ(both.ports[0].delivered.size(), 1u);
    expect_table(both.ports[0].delivered[0], 40'000);
    EXPECT_EQ(both.ports[1].delivered.size(), 1u); // the request
}

TEST(UmadExchange, TransferWithoutAcknowledgements_TimesOut) {
    one_exchange my;
    ASSERT_EQ(my.of.send({peer(1), 0, 2}, table(get_table | response_bit, 7, 1'000)), 0);
    EXPECT_EQ(my.port.last_segment(), 1u); // the first window
    my.port.advance_to(5'999);
    EXPECT_TRUE(my.port.delivered.empty());
    my.port.advance_to(6'000);
    ASSERT_EQ(my.port.delivered.size(), 1u);
    EXPECT_EQ(my.port.delivered[0].status, std::uint32_t{ETIMEDOUT});
    EXPECT_EQ(rmpp::type_of(my.port.sent.back().data()), rmpp::abort);
}

TEST(UmadExchange, TransferThatThePeerStops_EndsInSilence) {
    one_exchange my;
    ASSERT_EQ(my.of.send({peer(1), 0, 2}, table(get_table | response_bit, 7, 1'000)), 0);
    mad stop = datagram(get_table, 7);
    rmpp::set(stop.data(), rmpp::stop, 0, 1, 0, 0);
    my.of.received(peer(1), stop.data());
    my.port.advance_to(60'000);
    EXPECT_TRUE(my.port.delivered.empty());
    EXPECT_EQ(my.port.sent.size(), 1u);
}

TEST(UmadExchange, TransferThatBeginsWithoutARequest_IsDropped) {
    one_exchange my;
    mad first = datagram(get_table | response_bit, 7);
    rmpp::set(first.data(), rmpp::data, rmpp::first, 0, 1, 1'000);
    my.of.received(peer(2), first.data());
    EXPECT_TRUE(my.port.sent.empty());
    EXPECT_EQ(my.port.all.next(), deadlines::never);
}

TEST(UmadExchange, ReceptionThatStalls_IsAbortedAfterFortySeconds) {
    one_exchange my;
    ASSERT_EQ(my.of.send({peer(2), 1'000, 0}, datagram(get_table, 7)), 0);
    mad first = datagram(get_table | response_bit, 7);
    rmpp::set(first.data(), rmpp::data, rmpp::first, 0, 1, 1'000);
    my.of.received(peer(2), first.data());
    my.port.advance_to(39'999);
    EXPECT_EQ(rmpp::type_of(my.port.sent.back().data()), rmpp::ack);
    my.port.advance_to(40'000);
    EXPECT_EQ(rmpp::type_of(my.port.sent.back().data()), rmpp::abort);
    EXPECT_TRUE(my.port.delivered.empty());
}

TEST(UmadExchange, EndOfAnExchange_CancelsItsDeadlines) {
    recording_port port;
    {
        exchange of(port, true);
        of.send({peer(2), 100, 0}, datagram(1, 7));
        of.send({peer(2), 0, 0}, table(get_table | response_bit, 8, 1'000));
        EXPECT_NE(port.all.next(), deadlines::never);
    }
    EXPECT_EQ(port.all.next(), deadlines::never);
}

} // namespace
