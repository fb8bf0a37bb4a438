// The receiving side: acknowledgements, stored segments, refusals, and repeated responses.
#include "rmpp_scripts.hpp"

#include <malloc.h>

namespace {

using namespace irpverbs::ibmf;
using namespace irpverbs::ibmf::rmpp;
using namespace irpverbs::ibmf::rmpp::testing;

struct Receiving : ::testing::Test {
    rmpp_message original{200 * 9 + 50}; // ten segments
    settings chosen{.window = 4};
    message_buffer buffer;
    receiver side{chosen, buffer};
    ticks now = 0;

    void receive(std::uint32_t segment) {
        side.receive(view_of(data_packet(original, segment)), now);
    }
    void receive(const rmpp_header& header) {
        side.receive(view_of(packet(original, header)), now);
    }
    void expect_ack(std::uint32_t segment, std::uint32_t window_last) {
        const std::vector<rmpp_header> sent = drained(side);
        ASSERT_EQ(sent.size(), 1u) << segment;
        EXPECT_EQ(sent[0], ack(segment, window_last));
    }
    void expect_silence() { EXPECT_TRUE(drained(side).empty()); }
    void begin() {
        receive(1);
        expect_ack(1, 5);
    }
    void expect(transfer_state how, rmpp_status code, bool by_peer) {
        EXPECT_EQ(text_of(side.result()), text_of({how, code, by_peer}));
    }
    // This header, after a good start, ends the transfer with that code.
    void expect_refused(const rmpp_header& header, rmpp_status code,
                        transfer_state how = transfer_state::aborted) {
        message_buffer other_buffer;
        receiver other(chosen, other_buffer);
        other.receive(view_of(data_packet(original, 1)), now);
        drained(other);
        other.receive(view_of(packet(original, header)), now);
        EXPECT_EQ(text_of(other.result()), text_of({how, code, false}));
        expect_stop_or_abort(drained(other), code);
    }
    rmpp_header changed(std::uint32_t segment, auto change) {
        rmpp_header header = data_header(original, segment);
        change(header);
        return header;
    }
};
using RmppReceiver = Receiving;

TEST_F(RmppReceiver, HalfWindowAndLastSegment_AreAcknowledged) {
    begin();
    receive(2);
    expect_silence();
    receive(3);
    expect_ack(3, 7);
    receive(4);
    receive(5);
    receive(6); // pending acknowledgements are merged
    expect_ack(6, 10);
    for (std::uint32_t segment = 7; segment <= 10; ++segment)
        receive(segment);
    expect_ack(10, 14);
    expect(transfer_state::complete, rmpp_status::normal, false);
    EXPECT_TRUE(std::ranges::equal(buffer.data(), original.data));
    EXPECT_EQ(side.received(), original.data.size());
}

// One block: common header, class header, data; the headers are the first segment's.
TEST_F(RmppReceiver, CompleteMessage_IsOneBlock) {
    for (std::uint32_t segment = 1; segment <= 10; ++segment) {
        receive(segment);
        drained(side);
    }
    const mad_bytes all = buffer.bytes();
    ASSERT_EQ(all.size(), 24 + 20 + original.data.size());
    EXPECT_TRUE(std::ranges::equal(all.first(24), original.as_message().header));
    EXPECT_TRUE(std::ranges::equal(all.subspan(24, 20), original.as_message().class_header));
    const message_buffer::block block = buffer.detach();
    EXPECT_TRUE(buffer.bytes().empty());
    EXPECT_EQ(block[44], original.data[0]);
}

// The peer's headers with the response bit inverted; the attribute need not be kept, but the class
// header is (a vendor's OUI).
TEST_F(RmppReceiver, ControlPacket_InvertsResponseBit) {
    receive(1);
    datagram bytes{};
    ASSERT_TRUE(side.transmit(bytes));
    mad_header wanted = view_of(original.headers).header();
    wanted.method ^= MAD_RESPONSE_BIT;
    EXPECT_EQ(view_of(bytes).header(), wanted);
    EXPECT_TRUE(
        std::ranges::equal(view_of(bytes).class_header(), original.as_message().class_header));
}

TEST_F(RmppReceiver, EarlySegment_IsKeptAndGapReportedOnce) {
    begin();
    receive(4);
    expect_ack(1, 5);
    receive(5);
    receive(3);
    expect_silence();
    EXPECT_EQ(side.counts().out_of_order, 3u);
    receive(2);
    expect_ack(5, 9);
    EXPECT_EQ(side.received(), 1000u);
}

TEST_F(RmppReceiver, DuplicateSegment_IsAcknowledgedAndDropped) {
    begin();
    receive(2);
    receive(1);
    expect_ack(2, 6);
    receive(4);
    expect_ack(2, 6);
    receive(4);
    expect_silence(); // the gap was acknowledged before
    EXPECT_EQ(side.counts().duplicates, 2u);
    EXPECT_EQ(side.received(), 400u);
}

TEST_F(RmppReceiver, PacketBeforeFirstSegment_IsIgnored) {
    receive(2);
    receive(10);
    receive(ack(1, 5));
    rmpp_header inactive = data_header(original, 1);
    inactive.flags = rmpp_first;
    receive(inactive);
    expect_silence();
    EXPECT_FALSE(side.begun());
    EXPECT_EQ(side.deadline(), never);
    begin();
}

// In mid-transfer a plain datagram with the transfer's ID changes nothing.
TEST_F(RmppReceiver, InactiveDatagramInTransfer_IsIgnored) {
    begin();
    rmpp_header inactive{.version = 77, .type = static_cast<rmpp_type>(99), .segment = 2};
    receive(inactive);
    EXPECT_TRUE(side.result().running());
    EXPECT_EQ(side.counts().ignored, 1u);
    receive(2);
    receive(3);
    expect_ack(3, 7);
}

TEST_F(RmppReceiver, FirstFlagOnOtherSegment_AbortsWithIFSN) {
    expect_refused(changed(2, [](auto& it) { it.flags |= rmpp_first; }),
                   rmpp_status::inconsistent_first);
    expect_refused(changed(1, [](auto& it) { it.flags = rmpp_active; }),
                   rmpp_status::inconsistent_first);
    expect_refused(changed(2, [](auto& it) { it.segment = 0; }), rmpp_status::inconsistent_first);
}

TEST_F(RmppReceiver, SegmentBeyondWindow_AbortsWithS2B) {
    expect_refused(data_header(original, 6), rmpp_status::segment_too_big);
    expect_refused(changed(2, [](auto& it) { it.segment = 0xFFFFFFFF; }),
                   rmpp_status::segment_too_big);
}

TEST_F(RmppReceiver, ImpossibleLastLength_AbortsWithILPL) {
    for (const std::uint32_t length : {0u, 1u, 19u, 221u, 256u, 0x7FFFFFFFu, 0xFFFFFFFFu}) {
        rmpp_header only = data_header(original, 1);
        only.flags |= rmpp_last;
        only.length_or_window = length;
        message_buffer other_buffer;
        receiver other(chosen, other_buffer);
        other.receive(view_of(packet(original, only)), now);
        expect_stop_or_abort(drained(other), rmpp_status::inconsistent_last);
        EXPECT_TRUE(other_buffer.bytes().empty());
    }
}

TEST_F(RmppReceiver, FirstOfManyAnnouncingOne_AbortsWithILPL) {
    for (const std::uint32_t length : {1u, 20u, 220u}) {
        message_buffer other_buffer;
        receiver other(chosen, other_buffer);
        other.receive(
            view_of(packet(original, changed(1, [&](auto& it) { it.length_or_window = length; }))),
            now);
        expect_stop_or_abort(drained(other), rmpp_status::inconsistent_last);
    }
}

TEST_F(RmppReceiver, LastSegmentNotAtAnnouncedEnd_AbortsWithILPL) {
    expect_refused(changed(2,
                           [](auto& it) {
                               it.flags |= rmpp_last;
                               it.length_or_window = 100;
                           }),
                   rmpp_status::inconsistent_last);
    for (std::uint32_t segment = 1; segment <= 9; ++segment) {
        receive(segment);
        drained(side);
    }
    // 2050 bytes announced: eleven segments if class headers were counted once, not more
    receive(changed(10, [](auto& it) { it.flags = rmpp_active; }));
    EXPECT_TRUE(side.result().running());
    receive(changed(2, [](auto& it) { it.segment = 11; }));
    expect(transfer_state::aborted, rmpp_status::inconsistent_last, false);
}

TEST_F(RmppReceiver, SegmentAfterLast_AbortsWithILPL) {
    const rmpp_message longer(200 * 20);
    message_buffer other_buffer;
    receiver other(chosen, other_buffer);
    rmpp_header unknown = data_header(longer, 1);
    unknown.length_or_window = 0;
    other.receive(view_of(packet(longer, unknown)), now);
    drained(other);
    rmpp_header last{.type = rmpp_type::data,
                     .flags = rmpp_active | rmpp_last,
                     .segment = 3,
                     .length_or_window = 120};
    other.receive(view_of(packet(longer, last)), now);
    drained(other);
    other.receive(view_of(packet(longer, data_header(longer, 4))), now);
    expect_stop_or_abort(drained(other), rmpp_status::inconsistent_last);
}

// Lengths in the middle segments, and padding in the last segment, are ignored.
TEST_F(RmppReceiver, MiddleLengthsAndPadding_AreIgnored) {
    for (const std::uint32_t announced : {0u, 1850u, 1850u + 20u, 2050u, 2052u, 2200u}) {
        message_buffer other_buffer;
        receiver other(chosen, other_buffer);
        for (std::uint32_t segment = 1; segment <= 10; ++segment) {
            datagram bytes = data_packet(original, segment);
            rmpp_header header = data_header(original, segment);
            if (segment == 1) header.length_or_window = announced;
            if (segment > 1 && segment < 10) header.length_or_window = 0xABCDEF01;
            store(header_at<rmpp_header::size>(mad_buffer(bytes), mad_header_size), header);
            other.receive(view_of(bytes), now);
            drained(other);
        }
        EXPECT_EQ(other.result().state, transfer_state::complete) << announced;
        EXPECT_TRUE(std::ranges::equal(other_buffer.data(), original.data));
    }
}

TEST_F(RmppReceiver, BadVersionTypeOrStatus_AbortsWithUNVOrBADTOrIS) {
    expect_refused(changed(2, [](auto& it) { it.version = 2; }), rmpp_status::unsupported_version);
    expect_refused(changed(2, [](auto& it) { it.type = static_cast<rmpp_type>(7); }),
                   rmpp_status::bad_type);
    expect_refused(changed(2, [](auto& it) { it.status = static_cast<rmpp_status>(3); }),
                   rmpp_status::illegal_status);
}

TEST_F(RmppReceiver, StopOrAbortFromPeer_CodeIsReported) {
    for (unsigned code = 0; code < 256; ++code)
        for (const rmpp_type type : {rmpp_type::stop, rmpp_type::abort})
            for (const bool begun : {false, true}) {
                message_buffer other_buffer;
                receiver other(chosen, other_buffer);
                if (begun) other.receive(view_of(data_packet(original, 1)), now);
                other.receive(view_of(packet(original, {.type = type,
                                                        .flags = rmpp_active,
                                                        .status = static_cast<rmpp_status>(code)})),
                              now);
                EXPECT_EQ(code_of(other.result().code), code);
                EXPECT_TRUE(other.result().by_peer);
                EXPECT_TRUE(other.retired());
                EXPECT_TRUE(drained(other).empty());
                other.receive(view_of(data_packet(original, 1)), now);
                EXPECT_TRUE(drained(other).empty());
            }
}

// A peer that continues but never finishes.
TEST_F(RmppReceiver, TotalTime_OfATransferThatGoesOn_EndsItWithT2L) {
    begin();
    while (now + 10 * second < 40 * second) {
        now += 10 * second;
        receive(1);
        drained(side);
    }
    EXPECT_EQ(side.deadline(), 40 * second);
    now = side.deadline();
    side.expire(now - 1);
    EXPECT_TRUE(side.result().running());
    side.expire(now);
    expect(transfer_state::timed_out, rmpp_status::total_time_too_long, false);
    expect_stop_or_abort(drained(side), rmpp_status::total_time_too_long);
}

// The time of the transfer is 3.28 s per segment; the wait for a dead peer is shorter.
TEST_F(RmppReceiver, Silence_InMidTransfer_EndsItWithTMRAfterAResponseTimePerRetry) {
    original.data.resize(220'000);
    begin();
    EXPECT_EQ(side.deadline(), 4 * chosen.response_timer());
    now = 10 * second;
    receive(2);
    drained(side);
    const ticks due = now + (chosen.retries + 1) * chosen.response_timer();
    EXPECT_EQ(side.deadline(), due);
    side.expire(due - 1);
    EXPECT_TRUE(side.result().running());
    now = due;
    side.expire(now);
    expect(transfer_state::timed_out, rmpp_status::too_many_retries, false);
    expect_stop_or_abort(drained(side), rmpp_status::too_many_retries);
}

// The requester's short timers do not apply to the peer: they end no transfer between two segments.
TEST_F(RmppReceiver, Silence_OfAHastyClientsPeer_IsBorneForTheDefaultTimer) {
    chosen = {.response_time = millisecond, .round_trip = millisecond, .retries = 0};
    EXPECT_EQ(max_silence_of(chosen), settings{}.response_timer());
    chosen.retries = 2;
    EXPECT_EQ(max_silence_of(chosen), 3 * settings{}.response_timer());
}

TEST_F(RmppReceiver, Silence_WhileTheWindowIsHeldClosed_EndsNothing) {
    begin();
    side.set_window(0, now);
    EXPECT_EQ(side.deadline(), 40 * second); // of the whole transfer
    now = 30 * second;
    side.expire(now);
    EXPECT_TRUE(side.result().running());
    side.set_window(4, now);
    drained(side);
    EXPECT_EQ(side.deadline(), 40 * second);
    now = 35 * second;
    receive(2);
    EXPECT_TRUE(side.result().running());
}

// A peer may announce 4 GB: only received bytes count.
TEST_F(RmppReceiver, Announcement_BeyondTheSizeLimit_BuysNoTimeAndNoMemory) {
    class announced_bytes final : public sink {
    public:
        bool begin(const mad_view&, std::uint64_t bytes) override {
            announced = bytes;
            return true;
        }
        bool append(mad_bytes) override { return true; }
        std::uint64_t announced = 0;
    } kept;
    chosen.size_limit = 1000;
    receiver liar(chosen, kept);
    const datagram first =
        packet(original, changed(1, [](auto& it) { it.length_or_window = 0xFFFFFFFF; }));
    for (; liar.result().running() && now < 4000 * second; now += 10 * second) {
        liar.receive(view_of(first), now);
        drained(liar);
        liar.expire(now);
    }
    EXPECT_LE(kept.announced, 1000u);
    EXPECT_EQ(text_of(liar.result()),
              text_of({transfer_state::timed_out, rmpp_status::total_time_too_long, false}));
    EXPECT_EQ(now, 50 * second);
}

TEST_F(RmppReceiver, TotalTime_GrowsWithSizeUpToOneHour) {
    const settings plain;
    EXPECT_EQ(total_time_of(plain, 0), 40 * second);
    EXPECT_EQ(total_time_of(plain, 0xFFFFFFFF), 3600 * second) << "at most an hour";
    EXPECT_EQ(total_time_of(plain, 220 * 1000), plain.response_timer() / 5 * 4 * 1000);
}

// The last ACK may be lost: repeated segments are answered for a while, also after a refusal.
TEST_F(RmppReceiver, RepeatedSegment_AcknowledgedUntilRetirement) {
    const rmpp_message small(50);
    side.receive(view_of(data_packet(small, 1)), now);
    expect_ack(1, 5);
    EXPECT_EQ(side.deadline(), chosen.time_wait);
    for (int i = 0; i < 3; ++i) {
        side.receive(view_of(data_packet(small, 1)), now);
        expect_ack(1, 5);
    }
    EXPECT_EQ(buffer.data().size(), 50u);
    EXPECT_EQ(side.deadline(), chosen.time_wait); // repeated segments do not extend it
    side.expire(chosen.time_wait);
    EXPECT_TRUE(side.retired());
    EXPECT_EQ(side.deadline(), never);
    side.receive(view_of(data_packet(small, 1)), now);
    expect_silence();
}

TEST_F(RmppReceiver, SegmentAfterAbort_AbortIsRepeated) {
    begin();
    receive(10);
    expect_stop_or_abort(drained(side), rmpp_status::segment_too_big);
    receive(2);
    expect_stop_or_abort(drained(side), rmpp_status::segment_too_big);
    receive(ack(1, 2));
    expect_silence(); // control packets are not answered: two refusing sides would never stop
}

TEST_F(RmppReceiver, MessageBeyondSizeLimit_IsTruncatedAndStopped) {
    chosen.size_limit = 450;
    message_buffer other_buffer;
    receiver other(chosen, other_buffer);
    for (std::uint32_t segment = 1; segment <= 3; ++segment) {
        other.receive(view_of(data_packet(original, segment)), now);
        if (segment < 3) drained(other);
    }
    EXPECT_EQ(text_of(other.result()),
              text_of({transfer_state::truncated, rmpp_status::resources_exhausted, false}));
    expect_stop_or_abort(drained(other), rmpp_status::resources_exhausted);
    EXPECT_TRUE(std::ranges::equal(other_buffer.data(), mad_bytes(original.data).first(450)));
    EXPECT_EQ(other.received(), 450u);
}

TEST_F(RmppReceiver, MessageOfExactlySizeLimit_Completes) {
    chosen.size_limit = original.data.size();
    message_buffer other_buffer;
    receiver other(chosen, other_buffer);
    for (std::uint32_t segment = 1; segment <= 10; ++segment) {
        other.receive(view_of(data_packet(original, segment)), now);
        drained(other);
    }
    EXPECT_EQ(other.result().state, transfer_state::complete);
}

// A peer that announces 4 GB gets a megabyte until the bytes arrive.
TEST_F(RmppReceiver, LargeAnnouncement_ReservesLittleMemory) {
    receive(changed(1, [](auto& it) { it.length_or_window = 0xFFFFFFFF; }));
    expect_ack(1, 5);
    EXPECT_LT(malloc_usable_size(buffer.detach().get()), std::size_t{2} << 20);
}

class record_of_data final : public sink {
public:
    bool begin(const mad_view& first, std::uint64_t bytes) override {
        method = first.header().method;
        announced = bytes;
        return welcome;
    }
    bool append(mad_bytes data) override {
        sizes.push_back(data.size());
        return sizes.size() < most;
    }
    bool welcome = true;
    std::size_t most = 1000;
    std::uint8_t method = 0;
    std::uint64_t announced = 0;
    std::vector<std::size_t> sizes;
};

TEST_F(RmppReceiver, StreamingSink_ReceivesDataInOrder) {
    record_of_data stream;
    receiver streaming(chosen, stream);
    const auto arrived = [&](std::uint32_t segment) {
        streaming.receive(view_of(data_packet(original, segment)), now);
        drained(streaming);
    };
    arrived(1);
    EXPECT_EQ(stream.method, 0x92);
    EXPECT_EQ(stream.announced, 2050u);
    arrived(3);
    EXPECT_EQ(stream.sizes.size(), 1u);
    arrived(2);
    EXPECT_EQ(stream.sizes, (std::vector<std::size_t>{200, 200, 200}));
}

TEST_F(RmppReceiver, SinkRefusesData_StopsPeer) {
    for (const bool welcome : {false, true}) {
        record_of_data stream;
        stream.welcome = welcome;
        stream.most = 2;
        receiver streaming(chosen, stream);
        streaming.receive(view_of(data_packet(original, 1)), now);
        if (welcome) drained(streaming);
        streaming.receive(view_of(data_packet(original, 2)), now);
        EXPECT_EQ(streaming.result().state, transfer_state::refused);
        expect_stop_or_abort(drained(streaming), rmpp_status::resources_exhausted);
    }
}

TEST_F(RmppReceiver, ClosedWindow_HoldsPeerUntilReopened) {
    begin();
    side.set_window(0, now);
    for (std::uint32_t segment = 2; segment <= 5; ++segment)
        receive(segment);
    expect_ack(5, 5);
    receive(5); // the peer requests it
    expect_ack(5, 5);
    side.set_window(100, now); // at most the configured one
    expect_ack(5, 9);
}

TEST_F(RmppReceiver, Cancel_AbortsWithUNSPEC) {
    begin();
    side.cancel(now);
    expect(transfer_state::cancelled, rmpp_status::unspecified, false);
    expect_stop_or_abort(drained(side), rmpp_status::unspecified);
    message_buffer other_buffer;
    receiver waiting(chosen, other_buffer);
    waiting.cancel(now);
    EXPECT_EQ(waiting.result().state, transfer_state::cancelled);
    EXPECT_TRUE(drained(waiting).empty());
    EXPECT_TRUE(waiting.retired());
}

} // namespace
