// Packets as bytes: golden bytes, every opcode, lengths and CRCs that are wrong.
#include "simulated_pair.hpp"

#include <numeric>

namespace {

using namespace irpverbs::testing;
using transport::max_frame_size;
using transport::opcode_row;
using transport::parse_frame;
using transport::parse_transport;
using transport::row_of;
using transport::write_frame;
using transport::write_transport;

using bytes = std::vector<UCHAR>;

std::vector<UCHAR> known_opcodes() {
    std::vector<UCHAR> known;
    for (unsigned code = 0; code < 256; ++code)
        if (row_of(static_cast<UCHAR>(code)).what != operation::reserved)
            known.push_back(static_cast<UCHAR>(code));
    return known;
}

packet sample(UCHAR opcode, transport::const_bytes content) {
    packet made;
    made.opcode = opcode;
    made.pkey = 0x8001;
    made.to_qp = 0x123456;
    made.number = psn(0xABCDEF);
    made.ack_request = true;
    made.datagram = {0x11223344, 0x654321};
    made.to_srq = 0x8899AA;
    made.rdma = {0x0102030405060708, 0x0A0B0C0D, 0x00001000};
    made.atomic = {0x1112131415161718, 0x1A1B1C1D, 0x2122232425262728, 0x3132333435363738};
    made.acknowledge = {0x61, 0x00BEEF};
    made.atomic_result = 0x4142434445464748;
    std::memcpy(&made.immediate, "\x51\x52\x53\x54", 4);
    made.invalidated_rkey = 0x61626364;
    made.content.append(content);
    return made;
}

bytes transport_bytes(const packet& what) {
    bytes made(transport::max_transport_size);
    made.resize(write_transport(what, made));
    return made;
}

bytes content_of(const packet& what) {
    bytes made;
    for (const auto& each : what.content.pieces())
        made.insert(made.end(), each.begin(), each.end());
    return made;
}

TEST(PacketFormat, WriteOnlyWithImmediate_GoldenBytes) {
    const bytes content{1, 2, 3};
    packet what = sample(0x0B, content);
    what.solicited = true;
    const bytes golden{0x0B, 0xD0, 0x80, 0x01, 0x00, 0x12, 0x34, 0x56, 0x80, 0xAB, 0xCD, 0xEF,
                       1,    2,    3,    4,    5,    6,    7,    8,    0x0A, 0x0B, 0x0C, 0x0D,
                       0,    0,    0x10, 0,    0x51, 0x52, 0x53, 0x54, 1,    2,    3,    0};
    EXPECT_EQ(transport_bytes(what), golden);
}

TEST(PacketFormat, AtomicAcknowledge_GoldenBytes) {
    const bytes golden{0x12, 0x40, 0x80, 0x01, 0x00, 0x12, 0x34, 0x56, 0x80, 0xAB, 0xCD, 0xEF,
                       0x61, 0x00, 0xBE, 0xEF, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48};
    EXPECT_EQ(transport_bytes(sample(0x12, {})), golden);
}

TEST(PacketFormat, Datagram_GoldenBytes) {
    const bytes content{9, 8, 7, 6};
    const bytes golden{0x65, 0x40, 0x80, 0x01, 0x00, 0x12, 0x34, 0x56, 0x80, 0xAB,
                       0xCD, 0xEF, 0x11, 0x22, 0x33, 0x44, 0x00, 0x65, 0x43, 0x21,
                       0x51, 0x52, 0x53, 0x54, 9,    8,    7,    6};
    EXPECT_EQ(transport_bytes(sample(0x65, content)), golden);
}

// Source: IBA annex A19.
TEST(PacketFormat, AtomicWrite_GoldenBytes) {
    const bytes content{1, 2, 3, 4, 5, 6, 7, 8};
    const bytes golden{0x1D, 0x40, 0x80, 0x01, 0x00, 0x12, 0x34, 0x56, 0x80, 0xAB, 0xCD, 0xEF,
                       1,    2,    3,    4,    5,    6,    7,    8,    0x0A, 0x0B, 0x0C, 0x0D,
                       0,    0,    0x10, 0,    1,    2,    3,    4,    5,    6,    7,    8};
    EXPECT_EQ(transport_bytes(sample(0x1D, content)), golden);
}

TEST(PacketFormat, CompareSwap_GoldenBytes) {
    const bytes golden{0x13, 0x40, 0x80, 0x01, 0x00, 0x12, 0x34, 0x56, 0x80, 0xAB,
                       0xCD, 0xEF, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
                       0x1A, 0x1B, 0x1C, 0x1D, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26,
                       0x27, 0x28, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38};
    EXPECT_EQ(transport_bytes(sample(0x13, {})), golden);
}

// Source: IBA annex A14 (the header of XRC stands in front of all others).
TEST(PacketFormat, XrcWriteOnly_GoldenBytes) {
    const bytes content{9, 8, 7, 6};
    const bytes golden{0xAA, 0x40, 0x80, 0x01, 0x00, 0x12, 0x34, 0x56, 0x80, 0xAB, 0xCD, 0xEF,
                       0x00, 0x88, 0x99, 0xAA, 1,    2,    3,    4,    5,    6,    7,    8,
                       0x0A, 0x0B, 0x0C, 0x0D, 0,    0,    0x10, 0,    9,    8,    7,    6};
    EXPECT_EQ(transport_bytes(sample(0xAA, content)), golden);
}

TEST(PacketFormat, Opcodes_ThoseOfTheSpecification) {
    EXPECT_EQ(known_opcodes().size(), 22u + 2 + 12 + 2 + 24);
    EXPECT_EQ(row_of(0x15).what, operation::reserved);
    EXPECT_EQ(row_of(0x2C).what, operation::reserved); // no reads on unreliable connections
    EXPECT_EQ(row_of(0x60).what, operation::reserved);
}

// All numbers survive, at both kinds of routes; a packet cut anywhere is none.
TEST(PacketFormat, EveryOpcode_ParsedAsWritten) {
    bytes data(255);
    std::iota(data.begin(), data.end(), UCHAR{1});
    for (const UCHAR code : known_opcodes()) {
        SCOPED_TRACE(unsigned{code});
        const opcode_row& row = row_of(code);
        const bytes content = row.payload == transport::payload_rule::none ? bytes{} : data;
        const packet what = sample(code, content);
        for (const bool global : {false, true}) {
            irpverbs::ci::wire_route route;
            route.global = global;
            route.to.lid = 0x1234;
            route.from.lid = 0x4321;
            route.to.gid = {1, 2};
            bytes frame(max_frame_size);
            frame.resize(write_frame(route, what, frame));
            const auto parsed = parse_frame(frame);
            ASSERT_TRUE(parsed);
            EXPECT_EQ(parsed->route.to.lid, 0x1234);
            EXPECT_EQ(parsed->route.global, global);
            if (global) {
                EXPECT_EQ(parsed->route.to.gid, route.to.gid);
            }
            EXPECT_EQ(transport_bytes(parsed->content), transport_bytes(what));
            EXPECT_EQ(content_of(parsed->content), content);
            for (std::size_t size = 0; size < frame.size(); ++size) {
                const bytes cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
                EXPECT_FALSE(parse_frame(cut)) << size;
            }
        }
    }
}

TEST(PacketFormat, AnyBitFlippedBehindTheLane_CrcIsWrong) {
    const bytes content(20);
    bytes frame(max_frame_size);
    frame.resize(write_frame({}, sample(0x04, content), frame));
    for (std::size_t bit = 0; bit < frame.size() * 8; ++bit) {
        frame[bit / 8] ^= static_cast<UCHAR>(1u << bit % 8);
        EXPECT_FALSE(parse_frame(frame)) << bit;
        frame[bit / 8] ^= static_cast<UCHAR>(1u << bit % 8);
    }
    EXPECT_TRUE(parse_frame(frame));
}

struct wrong_bytes {
    const char* name;
    std::size_t at;
    UCHAR value;
};

class WrongTransport : public ::testing::TestWithParam<wrong_bytes> {};

TEST_P(WrongTransport, Parsed_IsNoPacket) {
    const bytes content(8);
    bytes made = transport_bytes(sample(0x02, content));
    ASSERT_TRUE(parse_transport(made));
    made[GetParam().at] = GetParam().value;
    EXPECT_FALSE(parse_transport(made));
}

INSTANTIATE_TEST_SUITE_P(Each, WrongTransport,
                         ::testing::Values(wrong_bytes{"HeaderVersion", 1, 0x01},
                                           wrong_bytes{"ReliableDatagram", 0, 0x44},
                                           wrong_bytes{"UnknownService", 0, 0x84},
                                           wrong_bytes{"PayloadOfAnAcknowledge", 0, 0x11},
                                           wrong_bytes{"HeadersLongerThanPacket", 0, 0x13}),
                         [](const auto& of) { return of.param.name; });

TEST(PacketFormat, PayloadLongerThanLargestMtu_IsNoPacket) {
    const bytes content(4096);
    bytes made = transport_bytes(sample(0x04, content));
    ASSERT_TRUE(parse_transport(made));
    made.resize(made.size() + 4);
    EXPECT_FALSE(parse_transport(made));
}

TEST(Psn, PastTheEnd_WrapsAndComparesByHalves) {
    EXPECT_EQ((psn(0xFFFFFF) + 2).value(), 1u);
    EXPECT_EQ((psn(1) - 2).value(), 0xFFFFFFu);
    EXPECT_EQ(psn(1).since(psn(0xFFFFFE)), 3u);
    EXPECT_TRUE(psn(0xFFFFFE).is_before(psn(1)));
    EXPECT_FALSE(psn(1).is_before(psn(0xFFFFFE)));
    EXPECT_FALSE(psn(1).is_before(psn(1)));
}

} // namespace
