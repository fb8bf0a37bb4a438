// The sending side: its datagrams, their times, and the ends of a transfer.
#include "rmpp_scripts.hpp"

namespace {

using namespace irpverbs::ibmf;
using namespace irpverbs::ibmf::rmpp;
using namespace irpverbs::ibmf::rmpp::testing;

using numbers = std::vector<std::uint32_t>;

struct Sending : ::testing::Test {
    rmpp_message original{200 * 9 + 50}; // ten segments
    settings chosen;
    sender side{chosen, original.as_message()};
    ticks now = 0;

    void receive(const rmpp_header& header) {
        side.receive(view_of(packet(original, header)), now);
    }
    numbers sent() { return segments_of(drained(side, now)); }
    void expire() {
        now = side.deadline();
        side.expire(now);
    }
    void expect(transfer_state how, rmpp_status code, bool by_peer) {
        EXPECT_EQ(text_of(side.result()), text_of({how, code, by_peer}));
    }
};
using RmppSender = Sending;

TEST_F(RmppSender, TransmittedSegments_MatchWireFormat) {
    datagram bytes{};
    for (std::uint32_t segment = 1; segment <= 10; ++segment) {
        ASSERT_TRUE(side.transmit(bytes, now));
        datagram wanted = data_packet(original, segment);
        EXPECT_EQ(bytes, wanted) << segment;
        receive(ack(segment, segment + 1));
    }
    EXPECT_EQ(side.result().state, transfer_state::complete);
    EXPECT_EQ(side.deadline(), never);
}

TEST_F(RmppSender, FirstSegment_AnnouncesBytesWithClassHeaderPerSegment) {
    const std::vector<rmpp_header> first = drained(side, now);
    ASSERT_EQ(first.size(), 1u);
    EXPECT_EQ(first[0].length_or_window, 1850u + 10 * 20);
    EXPECT_EQ(first[0].flags, rmpp_active | rmpp_first);
}

TEST_F(RmppSender, EmptyMessage_IsOneSegment) {
    const rmpp_message empty(0);
    sender shortest(chosen, empty.as_message());
    const std::vector<rmpp_header> sent = drained(shortest, now);
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].flags, rmpp_active | rmpp_first | rmpp_last);
    EXPECT_EQ(sent[0].length_or_window, 20u);
}

TEST_F(RmppSender, Transmit_SendsOneSegmentThenWindow) {
    EXPECT_EQ(sent(), (numbers{1}));
    receive(ack(1, 4));
    EXPECT_EQ(sent(), (numbers{2, 3, 4}));
    receive(ack(2, 5)); // half a window
    EXPECT_EQ(sent(), (numbers{5}));
    receive(ack(5, 0xFFFFFFFF)); // beyond the end
    EXPECT_EQ(sent(), (numbers{6, 7, 8, 9, 10}));
    EXPECT_TRUE(side.result().running());
    receive(ack(10, 70)); // like a Linux kernel: NewWindowLast past the total
    expect(transfer_state::complete, rmpp_status::normal, false);
}

TEST_F(RmppSender, StaleAck_IsIgnored) {
    sent();
    receive(ack(1, 6));
    sent();
    receive(ack(4, 9));
    EXPECT_EQ(sent(), (numbers{7, 8, 9}));
    for (int i = 0; i < 100; ++i)
        receive(ack(2, 7));
    EXPECT_EQ(sent(), numbers{});
    EXPECT_EQ(side.counts().ignored, 100u);
}

// ACKs of one segment may overtake each other; the larger window counts.
TEST_F(RmppSender, AckWithSmallerWindow_KeepsLargerWindow) {
    sent();
    receive(ack(1, 6));
    receive(ack(1, 3));
    EXPECT_EQ(sent(), (numbers{2, 3, 4, 5, 6}));
}

TEST_F(RmppSender, RepeatedAck_ResendsOnce) {
    sent();
    receive(ack(1, 6));
    EXPECT_EQ(sent(), (numbers{2, 3, 4, 5, 6}));
    for (int storm = 0; storm < 1000; ++storm)
        receive(ack(1, 6));
    EXPECT_EQ(sent(), (numbers{2}));
    for (int storm = 0; storm < 1000; ++storm)
        receive(ack(1, 6));
    EXPECT_EQ(sent(), numbers{});
    receive(ack(3, 6));
    receive(ack(3, 6));
    EXPECT_EQ(sent(), (numbers{4}));
}

TEST_F(RmppSender, Timeout_ResendsFromFirstUnacknowledged) {
    sent();
    receive(ack(1, 5));
    sent();
    receive(ack(3, 5));
    const ticks due = side.deadline();
    EXPECT_EQ(due, now + chosen.response_timer());
    side.expire(due - 1);
    EXPECT_EQ(sent(), numbers{});
    expire();
    EXPECT_EQ(sent(), (numbers{4, 5}));
    EXPECT_EQ(side.counts().resent, 2u);
}

TEST_F(RmppSender, RetriesExhausted_AbortsWithTMR) {
    sent();
    for (std::uint32_t i = 0; i < chosen.retries; ++i) {
        expire();
        EXPECT_EQ(sent(), (numbers{1}));
    }
    expire();
    expect(transfer_state::timed_out, rmpp_status::too_many_retries, false);
    expect_stop_or_abort(drained(side, now), rmpp_status::too_many_retries);
    EXPECT_EQ(side.deadline(), never);
    EXPECT_EQ(sent(), numbers{});
}

TEST_F(RmppSender, Progress_RestoresRetries) {
    // the total time is not tested here
    chosen.response_time = chosen.round_trip = 100 * millisecond;
    side = sender(chosen, original.as_message());
    for (std::uint32_t segment = 1; segment <= 10; ++segment) {
        for (std::uint32_t i = 0; i < chosen.retries; ++i) {
            sent();
            expire();
        }
        sent();
        receive(ack(segment, segment + 1));
    }
    expect(transfer_state::complete, rmpp_status::normal, false);
}

// The ACK that opens a closed window may be lost: the last segment requests it again.
TEST_F(RmppSender, ClosedWindow_IsProbed) {
    sent();
    receive(ack(1, 1));
    EXPECT_EQ(sent(), numbers{});
    expire();
    EXPECT_EQ(sent(), (numbers{1}));
    receive(ack(1, 3));
    EXPECT_EQ(sent(), (numbers{2, 3}));
}

// A peer that responds to the probes is alive, however slow it is; the total time still ends the
// transfer.
TEST_F(RmppSender, WindowHeldClosed_EndsAtTotalTime) {
    sent();
    receive(ack(1, 1));
    int probes = 0;
    for (; side.result().running() && probes < 1000; ++probes) {
        expire();
        sent();
        receive(ack(1, 1));
    }
    expect(transfer_state::timed_out, rmpp_status::total_time_too_long, false);
    EXPECT_EQ(now, total_time_of(chosen, 0));
    EXPECT_GT(probes, 4);
}

// One segment per timer: the transfer proceeds, but too slowly to finish.
TEST_F(RmppSender, SlowPeer_EndsAtTotalTime) {
    const rmpp_message many(200 * 99);
    sender slow(chosen, many.as_message());
    for (std::uint32_t segment = 1; slow.result().running() && segment < 99; ++segment) {
        drained(slow, now);
        now += 5 * second / 4 * 3; // less than the timer
        slow.expire(now);
        slow.receive(view_of(packet(many, ack(segment, segment + 1))), now);
    }
    EXPECT_EQ(text_of(slow.result()),
              text_of({transfer_state::timed_out, rmpp_status::total_time_too_long, false}));
    EXPECT_EQ(drained(slow, now).at(0).status, rmpp_status::total_time_too_long);
}

TEST_F(RmppSender, AckBeyondSentSegments_AbortsWithS2B) {
    sent();
    receive(ack(2, 10));
    expect(transfer_state::aborted, rmpp_status::segment_too_big, false);
    expect_stop_or_abort(drained(side, now), rmpp_status::segment_too_big);
}

TEST_F(RmppSender, WindowBelowItsSegment_AbortsWithW2S) {
    sent();
    receive(ack(1, 0));
    expect(transfer_state::aborted, rmpp_status::window_too_small, false);
    expect_stop_or_abort(drained(side, now), rmpp_status::window_too_small);
}

TEST_F(RmppSender, AckWithStatus_AbortsWithIS) {
    sent();
    rmpp_header bad = ack(1, 5);
    bad.status = rmpp_status::resources_exhausted;
    receive(bad);
    expect_stop_or_abort(drained(side, now), rmpp_status::illegal_status);
}

TEST_F(RmppSender, OtherVersionOrType_AbortsWithUNVOrBADT) {
    for (const unsigned version : {0u, 2u, 255u}) {
        sender other(chosen, original.as_message());
        rmpp_header bad = ack(0, 1);
        bad.version = static_cast<std::uint8_t>(version);
        other.receive(view_of(packet(original, bad)), now);
        expect_stop_or_abort(drained(other, now), rmpp_status::unsupported_version);
    }
    for (const unsigned type : {0u, 5u, 255u}) {
        sender other(chosen, original.as_message());
        rmpp_header bad = ack(0, 1);
        bad.type = static_cast<rmpp_type>(type);
        other.receive(view_of(packet(original, bad)), now);
        expect_stop_or_abort(drained(other, now), rmpp_status::bad_type);
    }
}

// The code is reported unchanged, even if undefined, and never answered.
TEST_F(RmppSender, StopOrAbortFromPeer_CodeIsReported) {
    for (unsigned code = 0; code < 256; ++code)
        for (const rmpp_type type : {rmpp_type::stop, rmpp_type::abort}) {
            sender other(chosen, original.as_message());
            drained(other, now);
            const rmpp_header end{
                .type = type, .flags = rmpp_active, .status = static_cast<rmpp_status>(code)};
            other.receive(view_of(packet(original, end)), now);
            EXPECT_EQ(other.result().state,
                      type == rmpp_type::stop ? transfer_state::stopped : transfer_state::aborted);
            EXPECT_EQ(code_of(other.result().code), code);
            EXPECT_TRUE(other.result().by_peer);
            EXPECT_TRUE(drained(other, now).empty());
            EXPECT_EQ(other.deadline(), never);
        }
}

TEST_F(RmppSender, Cancel_AbortsWithUNSPEC) {
    sent();
    side.cancel();
    expect(transfer_state::cancelled, rmpp_status::unspecified, false);
    expect_stop_or_abort(drained(side, now), rmpp_status::unspecified);
    sender quiet(chosen, original.as_message());
    quiet.cancel(); // no peer knows the transfer
    EXPECT_TRUE(drained(quiet, now).empty());
}

TEST_F(RmppSender, EventsAfterAbort_ResultIsUnchanged) {
    sent();
    receive(ack(1, 0));
    side.cancel();
    side.response_arrived();
    receive({.type = rmpp_type::stop, .flags = rmpp_active});
    expect(transfer_state::aborted, rmpp_status::window_too_small, false);
}

// 4.096 us * 2^n, bounded: a peer cannot make its sender wait for an hour.
TEST_F(RmppSender, PeersResponseTime_ReplacesOwn) {
    sent();
    rmpp_header slow = ack(1, 2);
    slow.response_time = 16; // 268 ms
    receive(slow);
    sent();
    EXPECT_EQ(side.deadline(), 2'684'354 + chosen.round_trip);
    slow = ack(2, 3);
    slow.response_time = 30;
    receive(slow);
    sent();
    EXPECT_EQ(side.deadline(), max_response_time + chosen.round_trip);
}

// Every control packet carries all 64 bits of the transaction ID and the method (a kernel below
// routes by the high half).
TEST_F(RmppSender, ControlPacket_HasHeadersOfMessage) {
    sent();
    receive(ack(1, 0));
    datagram bytes{};
    ASSERT_TRUE(side.transmit(bytes, now));
    EXPECT_EQ(view_of(bytes).header(), view_of(original.headers).header());
    EXPECT_TRUE(
        std::ranges::equal(view_of(bytes).class_header(), original.as_message().class_header));
    EXPECT_EQ(std::ranges::count(view_of(bytes).data(), 0), 200);
}

} // namespace
