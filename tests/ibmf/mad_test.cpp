// Datagrams: layouts, headers to bytes and back, the errors of parse, and agreement with other
// implementations.
#include "peers.hpp"

#include <ibmf/mad.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace {

using namespace irpverbs::ibmf;
using datagram = std::array<std::uint8_t, mad_size>;

datagram numbered(std::uint8_t mgmt_class) {
    datagram bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::uint8_t>(i * 37 + 11);
    bytes[0] = 1;
    bytes[1] = mgmt_class;
    bytes[6] = 5;  // hop pointer
    bytes[7] = 62; // hop count
    return bytes;
}

mad_view view_of(const datagram& bytes) {
    mad_view view;
    EXPECT_EQ(mad_view::parse(bytes, view), mad_fault::none);
    return view;
}

// Source of the numbers: IBA, each class's "MAD format" figure.
TEST(MadFormat, LayoutOfEachClass_MatchesSpecification) {
    struct expected {
        unsigned first, last;
        bool rmpp;
        std::size_t class_header, data;
    };
    for (const expected& row : {expected{0x01, 0x01, false, 40, 64},
                                {0x81, 0x81, false, 40, 64},
                                {0x03, 0x03, true, 20, 56},
                                {0x04, 0x08, false, 40, 64},
                                {0x09, 0x2F, false, 0, 24},
                                {0x30, 0x4F, true, 4, 40},
                                {0x50, 0x80, false, 0, 24},
                                {0x82, 0xFF, false, 0, 24}})
        for (unsigned mgmt_class = row.first; mgmt_class <= row.last; ++mgmt_class) {
            const class_layout layout = layout_of(static_cast<std::uint8_t>(mgmt_class));
            EXPECT_EQ(layout.rmpp, row.rmpp) << mgmt_class;
            EXPECT_EQ(layout.class_header_size, row.class_header) << mgmt_class;
            EXPECT_EQ(layout.data_offset(), row.data) << mgmt_class;
        }
}

TEST(MadFormat, HeadersStoredAndLoaded_AreUnchanged) {
    std::array<std::uint8_t, 40> room{};
    const std::span<std::uint8_t, 40> bytes(room);
    const mad_header header{1, 3, 2, 0x92, 0x0300, 0x1234, 0x0102030405060708u, 0x35, 0xFFFFFFFF};
    store(bytes.first<24>(), header);
    EXPECT_EQ(load_mad_header(bytes.first<24>()), header);
    const rmpp_header rmpp{1, rmpp_type::data, 0x12, 7, rmpp_status::normal, 0xA1B2C3D4, 220};
    store(bytes.first<12>(), rmpp);
    EXPECT_EQ(load_rmpp_header(bytes.first<12>()), rmpp);
    const sa_header sa{0x1122334455667788u, 8, 0x8000000000000001u};
    store(bytes.first<20>(), sa);
    EXPECT_EQ(load_sa_header(bytes.first<20>()), sa);
    const smp_header smp{0x8877665544332211u, 0xFFFF, 0x1234};
    store(bytes.first<40>(), smp);
    EXPECT_EQ(load_smp_header(bytes.first<40>()), smp);
}

// An SA GetTableResp of OpenSM, first segment of 1144 bytes: 16 paths.
TEST(MadFormat, SegmentOfTable_MatchesGoldenBytes) {
    datagram bytes{};
    const mad_buffer to(bytes);
    store(header_at<24>(to, 0), {.mgmt_class = 3,
                                 .class_version = 2,
                                 .method = 0x92,
                                 .transaction_id = 0x1C00000001u,
                                 .attribute_id = 0x35});
    store(header_at<12>(to, 24), {.type = rmpp_type::data,
                                  .flags = rmpp_active | rmpp_first,
                                  .segment = 1,
                                  .length_or_window = 1144});
    store(header_at<20>(to, 36), sa_header{.attribute_offset = 8, .component_mask = 0x0C});
    const std::vector<std::uint8_t> golden{
        0x01, 0x03, 0x02, 0x92, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x1C, 0x00, 0x00,
        0x00, 0x01, 0x00, 0x35, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x01, 0xFB, 0x00,
        0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x04, 0x78, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0C};
    EXPECT_TRUE(std::equal(golden.begin(), golden.end(), bytes.begin()));
}

TEST(MadFormat, DirectedRouteSmp_MatchesGoldenBytes) {
    datagram bytes{};
    const mad_buffer to(bytes);
    store(header_at<24>(to, 0), {.mgmt_class = 0x81,
                                 .method = 1,
                                 .status = 0x8000,
                                 .class_specific = 0x0203,
                                 .transaction_id = 9,
                                 .attribute_id = 0x11,
                                 .attribute_modifier = 1});
    store(header_at<40>(to, 24), smp_header{.m_key = 7, .dr_slid = 0xFFFF, .dr_dlid = 0xFFFF});
    const std::vector<std::uint8_t> golden{0x01, 0x81, 0x01, 0x01, 0x80, 0x00, 0x02, 0x03, 0, 0,
                                           0,    0,    0,    0,    0,    9,    0x00, 0x11, 0, 0,
                                           0,    0,    0,    1,    0,    0,    0,    0,    0, 0,
                                           0,    7,    0xFF, 0xFF, 0xFF, 0xFF, 0,    0,    0, 0};
    EXPECT_TRUE(std::equal(golden.begin(), golden.end(), bytes.begin()));
    const mad_view view = view_of(bytes);
    EXPECT_TRUE(view.returning());
    EXPECT_EQ(view.hop_pointer(), 2);
    EXPECT_EQ(view.hop_count(), 3);
}

TEST(MadFormat, DatagramOfOtherSize_IsRefused) {
    std::vector<std::uint8_t> bytes(2048, 1);
    for (std::size_t size = 0; size <= bytes.size(); ++size) {
        mad_view view;
        EXPECT_EQ(mad_view::parse({bytes.data(), size}, view),
                  size == mad_size ? mad_fault::none : mad_fault::wrong_size);
    }
}

TEST(MadFormat, OtherBaseVersion_IsRefused) {
    datagram bytes = numbered(4);
    mad_view view;
    for (unsigned version = 0; version < 256; ++version) {
        bytes[0] = static_cast<std::uint8_t>(version);
        EXPECT_EQ(mad_view::parse(bytes, view),
                  version == 1 ? mad_fault::none : mad_fault::base_version);
    }
}

// Path arrays have 64 entries, of which the first is unused; only directed routes have hops.
TEST(MadFormat, HopsBeyondPath_AreRefused) {
    mad_view view;
    for (unsigned count = 0; count < 256; ++count)
        for (unsigned pointer = 0; pointer < 256; ++pointer) {
            datagram bytes = numbered(0x81);
            bytes[6] = static_cast<std::uint8_t>(pointer);
            bytes[7] = static_cast<std::uint8_t>(count);
            const bool fits = count <= 63 && pointer <= count + 1;
            ASSERT_EQ(mad_view::parse(bytes, view), fits ? mad_fault::none : mad_fault::hop_count);
            bytes[1] = 0x04;
            ASSERT_EQ(mad_view::parse(bytes, view), mad_fault::none);
        }
}

TEST(MadFormat, InvalidDatagram_ViewIsUnchanged) {
    const datagram good = numbered(4);
    mad_view view = view_of(good);
    datagram bad = numbered(4);
    bad[0] = 2;
    bad[3] ^= 0xFF;
    EXPECT_EQ(mad_view::parse(bad, view), mad_fault::base_version);
    EXPECT_EQ(view.header().method, good[3]);
}

// Classes without an RMPP header have data at its offset.
TEST(MadFormat, ClassWithoutRmpp_HasNoRmppFields) {
    EXPECT_FALSE(view_of(numbered(0x04)).rmpp_active());
    EXPECT_EQ(view_of(numbered(0x04)).rmpp().type, rmpp_type::none);
    EXPECT_EQ(view_of(numbered(0x03)).rmpp().segment, 0x173C6186u);
    EXPECT_EQ(view_of(numbered(0x09)).oui(), 0u);
    EXPECT_NE(view_of(numbered(0x30)).oui(), 0u);
}

TEST(MadFormat, EveryRmppStatus_HasName) {
    EXPECT_STREQ(name_of(rmpp_status::total_time_too_long), "T2L");
    EXPECT_STREQ(name_of(static_cast<rmpp_status>(50)), "reserved");
    EXPECT_STREQ(name_of(static_cast<rmpp_status>(130)), "class");
    EXPECT_STREQ(name_of(static_cast<rmpp_status>(200)), "vendor");
}

peers::fields our_fields(const datagram& bytes) {
    const mad_view view = view_of(bytes);
    const mad_header& header = view.header();
    const std::span<const std::uint8_t, mad_size> all(bytes);
    const rmpp_header rmpp = load_rmpp_header(all.subspan<24, 12>());
    const sa_header sa = load_sa_header(all.subspan<36, 20>());
    const smp_header smp = load_smp_header(all.subspan<24, 40>());
    datagram vendor = bytes;
    vendor[1] = 0x30;
    return {
        {"base_version", header.base_version},
        {"class", header.mgmt_class},
        {"class_version", header.class_version},
        {"method", header.method},
        {"status", header.status},
        {"class_specific", header.class_specific},
        {"tid", header.transaction_id},
        {"attribute", header.attribute_id},
        {"modifier", header.attribute_modifier},
        {"rmpp_version", rmpp.version},
        {"rmpp_type", static_cast<std::uint8_t>(rmpp.type)},
        {"rmpp_time_and_flags", rmpp.response_time * 8u + rmpp.flags},
        {"rmpp_status", static_cast<std::uint8_t>(rmpp.status)},
        {"segment", rmpp.segment},
        {"length_or_window", rmpp.length_or_window},
        {"sm_key", sa.sm_key},
        {"attribute_offset", sa.attribute_offset},
        {"component_mask", sa.component_mask},
        {"sa_data", bytes[layout_of(0x03).data_offset()]},
        {"m_key", smp.m_key},
        {"dr_slid", smp.dr_slid},
        {"dr_dlid", smp.dr_dlid},
        {"hop_pointer", view.hop_pointer()},
        {"hop_count", view.hop_count()},
        {"smp_data", view.smp_data()[0]},
        {"initial_path", view.initial_path()[0]},
        {"return_path", view.return_path()[0]},
        {"returning", view.returning()},
        {"oui", view_of(vendor).oui()},
        {"vendor_data", bytes[layout_of(0x30).data_offset()]},
    };
}

void expect_agreement(const peers::fields& theirs, const datagram& bytes) {
    const peers::fields ours = our_fields(bytes);
    for (const auto& [name, value] : theirs)
        EXPECT_EQ(ours.at(name), value) << name;
    EXPECT_GT(theirs.size(), 20u);
}

TEST(MadInterop, LibibumadHeaders_ReadSameFields) {
    const datagram bytes = numbered(0x81);
    expect_agreement(peers::umad_fields(bytes.data()), bytes);
}

TEST(MadInterop, OpenSmHeaders_ReadSameFields) {
    const datagram bytes = numbered(0x81);
    expect_agreement(peers::opensm_fields(bytes.data()), bytes);
}

TEST(MadInterop, LibibmadHeaders_ReadSameFields) {
    const datagram bytes = numbered(0x81);
    expect_agreement(peers::ibmad_fields(bytes.data()), bytes);
}

} // namespace
