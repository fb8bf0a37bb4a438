// ibmf_utils_pack_data and ibmf_utils_unpack_data.
#include <ibmf/ibmf.h>
#include <ibmf/utils.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace {

struct mixed {
    std::uint8_t byte;
    std::uint16_t half;
    std::uint8_t other;
    std::uint64_t wide;
    std::uint32_t word;
};
constexpr const char* mixed_format = "cscLl";

TEST(IbmfUtils, Unpack_ConvertsBytesAndPaddingToFields) {
    const std::array<uchar_t, 16> wire{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    mixed fields{};
    ASSERT_EQ(
        ibmf_utils_unpack_data(mixed_format, wire.data(), wire.size(), &fields, sizeof fields), 16);
    EXPECT_EQ(fields.byte, 1);
    EXPECT_EQ(fields.half, 0x0203);
    EXPECT_EQ(fields.other, 4);
    EXPECT_EQ(fields.wide, 0x05060708090A0B0Cu);
    EXPECT_EQ(fields.word, 0x0D0E0F10u);
}

TEST(IbmfUtils, Pack_ReversesUnpack) {
    const mixed fields{1, 0x0203, 4, 0x05060708090A0B0Cu, 0x0D0E0F10};
    std::array<uchar_t, 16> wire{};
    ASSERT_EQ(ibmf_utils_pack_data(mixed_format, &fields, sizeof fields, wire.data(), wire.size()),
              16);
    for (std::size_t i = 0; i < wire.size(); ++i)
        EXPECT_EQ(wire[i], i + 1);
}

// Each length of either buffer: whole items, and no byte past the end.
TEST(IbmfUtils, ShortBuffer_StopsAtWholeItem) {
    const std::array<int, 17> whole{0, 1, 1, 3, 4, 4, 4, 4, 4, 4, 4, 4, 12, 12, 12, 12, 16};
    for (std::size_t length = 0; length <= 16; ++length) {
        const std::vector<uchar_t> wire(length, 0xAB); // of exactly that size, for the sanitizer
        mixed fields{};
        EXPECT_EQ(ibmf_utils_unpack_data(mixed_format, wire.data(), length, &fields, sizeof fields),
                  length == 0 ? IBMF_INVALID_ARG : whole[length])
            << length; // an empty vector has no data()
        std::vector<uchar_t> made(16);
        EXPECT_EQ(ibmf_utils_pack_data(mixed_format, &fields, sizeof fields, made.data(), length),
                  whole[length]);
    }
    const std::array<uchar_t, 16> wire{};
    for (std::size_t size = 1; size < sizeof(mixed); ++size) {
        std::vector<std::uint64_t> room((size + 7) / 8);
        const int taken =
            ibmf_utils_unpack_data(mixed_format, wire.data(), wire.size(), room.data(), size);
        EXPECT_LE(taken, 16);
        EXPECT_EQ(taken == 16, size >= offsetof(mixed, word) + 4) << size;
    }
}

TEST(IbmfUtils, RepeatCount_RepeatsItem) {
    const std::array<uchar_t, 9> wire{0, 1, 0, 2, 0, 3, 7, 8, 9};
    struct {
        std::uint16_t halves[3];
        std::uint8_t bytes[3];
    } fields{};
    EXPECT_EQ(ibmf_utils_unpack_data("3s3c", wire.data(), wire.size(), &fields, sizeof fields), 9);
    EXPECT_EQ(fields.halves[2], 3);
    EXPECT_EQ(fields.bytes[2], 9);
}

TEST(IbmfUtils, InvalidFormat_ChangesNothing) {
    const std::array<uchar_t, 8> wire{1, 2, 3, 4, 5, 6, 7, 8};
    for (const char* format : {"x", "c2", "0c", "99999999999c", "cc-", "2 c", "65536c", "S"}) {
        std::uint64_t room = 0;
        EXPECT_EQ(ibmf_utils_wire_size(format), IBMF_INVALID_ARG) << format;
        EXPECT_EQ(ibmf_utils_unpack_data(format, wire.data(), wire.size(), &room, sizeof room),
                  IBMF_INVALID_ARG);
        EXPECT_EQ(room, 0u);
    }
    EXPECT_EQ(ibmf_utils_wire_size(nullptr), IBMF_INVALID_ARG);
    EXPECT_EQ(ibmf_utils_unpack_data("c", nullptr, 1, nullptr, 1), IBMF_INVALID_ARG);
    EXPECT_EQ(ibmf_utils_pack_data("c", nullptr, 1, nullptr, 1), IBMF_INVALID_ARG);
}

// Sizes as the SA's records have them on the wire.
TEST(IbmfUtils, FormatsOfSpecification_HaveItsSizes) {
    EXPECT_EQ(ibmf_utils_wire_size(""), 0);
    EXPECT_EQ(ibmf_utils_wire_size("2csl2Ll2s2l2Ll2s2l"), 72);
    EXPECT_EQ(ibmf_utils_wire_size("4c3s54c2L"), 80);
    EXPECT_EQ(ibmf_utils_wire_size("2L3s2c2s2l"), 36);
    EXPECT_EQ(ibmf_utils_wire_size("3L2sl2L64c16c8s4l2L"), 176);
    EXPECT_EQ(ibmf_utils_wire_size("2l4L2sl2c2s4c"), 58);
}

// Bit-fields have the wire's positions once their word is in host order.
TEST(IbmfUtils, UnpackedBitFields_AreInPlace) {
    std::array<uchar_t, 72> wire{};
    wire[0] = 1;
    wire[24] = 0xAB; // traffic class, then SL 0xC, then flow label 0x12345
    wire[25] = 0xC1;
    wire[26] = 0x23;
    wire[27] = 0x45;
    wire[33] = 0x12;
    wire[35] = 0x34;
    ib_mad_classportinfo_t info{};
    ASSERT_EQ(
        ibmf_utils_unpack_data("2csl2Ll2s2l2Ll2s2l", wire.data(), wire.size(), &info, sizeof info),
        72);
    EXPECT_EQ(info.BaseVersion, 1);
    EXPECT_EQ(info.RedirectTC, 0xABu);
    EXPECT_EQ(info.RedirectSL, 0xCu);
    EXPECT_EQ(info.RedirectFL, 0x12345u);
    EXPECT_EQ(info.RedirectQP, 0x120034u);

    std::array<uchar_t, 36> inform{};
    inform[22] = 1;
    inform[23] = 1;
    inform[30] = 0x05;
    inform[31] = 0x13;
    inform[35] = 4;
    ib_mad_informinfo_t wanted{};
    ASSERT_EQ(
        ibmf_utils_unpack_data("2L3s2c2s2l", inform.data(), inform.size(), &wanted, sizeof wanted),
        36);
    EXPECT_EQ(wanted.Subscribe, 1);
    EXPECT_EQ(wanted.QPN, 5u);
    EXPECT_EQ(wanted.RespTimeValue, 0x13u);
    EXPECT_EQ(wanted.ProducerType_VendorID, 4u);
}

TEST(IbmfUtils, CxxWrappers_MatchCApi) {
    const std::array<std::uint8_t, 16> wire{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    mixed fields{};
    ASSERT_EQ(irpverbs::ibmf::utils_unpack_data(mixed_format, wire, fields),
              irpverbs::ibmf::utils_wire_size(mixed_format));
    std::array<std::uint8_t, 16> again{};
    ASSERT_EQ(irpverbs::ibmf::utils_pack_data(mixed_format, fields, again), 16);
    EXPECT_EQ(again, wire);
}

// The calls have the original's types, so a client's function pointers fit.
static_assert(std::is_same_v<decltype(&ibmf_register),
                             int (*)(ibmf_register_info_t*, uint_t, uint_t, ibmf_async_event_cb_t,
                                     void*, ibmf_handle_t*, ibmf_impl_caps_t*)>);
static_assert(std::is_same_v<decltype(&ibmf_msg_transport),
                             int (*)(ibmf_handle_t, ibmf_qp_handle_t, ibmf_msg_t*, ibmf_retrans_t*,
                                     ibmf_msg_cb_t, void*, uint_t)>);
static_assert(
    std::is_same_v<decltype(&ibmf_query_qp), int (*)(ibmf_handle_t, ibmf_qp_handle_t, uint_t*,
                                                     ib_pkey_t*, ib_qkey_t*, uint8_t*, uint_t)>);

// Values that the binary of a client of the original contains.
TEST(IbmfConstants, Values_MatchOriginal) {
    EXPECT_EQ(IBMF_SUCCESS, 0);
    EXPECT_EQ(IBMF_BUSY, -13);
    EXPECT_EQ(IBMF_PARTIAL_TRANSFER, -16);
    EXPECT_EQ(IBMF_TRANS_TIMEOUT, -18);
    EXPECT_EQ(IBMF_TID_IN_USE, -33);
    EXPECT_EQ(IBMF_NO_ACTIVE_PORTS, -34);
    EXPECT_EQ(SUBN_ADM_MANAGER, 0x00020003);
    EXPECT_EQ(COMM_MGT_MANAGER_AGENT, 0x00030007);
    EXPECT_EQ(VENDOR_09_MANAGER_AGENT, 0x00030009);
    EXPECT_EQ(VENDOR_4F_MANAGER_AGENT, 0x0003004F);
    EXPECT_EQ(APPLICATION_2F_MANAGER_AGENT, 0x0003002F);
    EXPECT_EQ(UNIVERSAL_CLASS, 0x00040001);
    EXPECT_EQ(IBMF_ALT_QP_RAW_ONLY, 4);
    EXPECT_EQ(IBMF_REG_FLAG_SINGLE_OFFLOAD, 4);
    EXPECT_EQ(IBMF_QP_HANDLE_DEFAULT, nullptr);
}

} // namespace
