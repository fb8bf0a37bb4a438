#include <saa/records.hpp>

#include <dispatch/testing/choices.hpp>

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace irpverbs::saa {
namespace {

using bytes = std::vector<std::uint8_t>;

bytes drawn(dispatch::choices& source, std::size_t size) {
    bytes data(size);
    for (std::uint8_t& byte : data)
        byte = static_cast<std::uint8_t>(source.value64());
    return data;
}

TEST(Records, AttributeTable_ContainsAllTwentyTwo) {
    std::set<unsigned> ids;
    for (const record_type& type : record_types())
        ids.insert(type.attribute_id);
    const std::set<unsigned> expected{0x01, 0x02, 0x03, 0x11, 0x12, 0x13, 0x14, 0x15,
                                      0x16, 0x17, 0x18, 0x20, 0x30, 0x31, 0x33, 0x35,
                                      0x36, 0x38, 0x39, 0x3a, 0x3b, 0xf3};
    EXPECT_EQ(ids, expected);
    EXPECT_EQ(find_record(std::uint16_t{0x35})->name, std::string("PathRecord"));
    EXPECT_EQ(find_record(std::uint16_t{0x34}), nullptr);
    EXPECT_EQ(find_record("NoSuchRecord"), nullptr);
}

TEST(Records, WireSizes_MatchStandard) {
    const std::pair<const char*, std::pair<unsigned, unsigned>> sizes[]{
        {"ClassPortInfo", {72, 72}},       {"Notice", {80, 80}},
        {"NodeRecord", {108, 112}},        {"PortInfoRecord", {68, 72}},
        {"SLtoVLRecord", {16, 16}},        {"SwitchInfoRecord", {24, 24}},
        {"LinearFDBRecord", {72, 72}},     {"RandomFDBRecord", {72, 72}},
        {"MulticastFDBRecord", {72, 72}},  {"SMInfoRecord", {25, 32}},
        {"InformInfoRecord", {60, 64}},    {"LinkRecord", {6, 8}},
        {"GUIDInfoRecord", {72, 72}},      {"ServiceRecord", {176, 176}},
        {"P_KeyTableRecord", {72, 72}},    {"PathRecord", {64, 64}},
        {"VLArbitrationRecord", {72, 72}}, {"MCMemberRecord", {52, 56}},
        {"TraceRecord", {46, 48}},         {"ServiceAssociationRecord", {80, 80}}};
    for (const auto& [name, size] : sizes) {
        ASSERT_NE(find_record(name), nullptr) << name;
        EXPECT_EQ(find_record(name)->wire_size, size.first) << name;
        EXPECT_EQ(find_record(name)->stride(), size.second) << name;
    }
}

TEST(Records, Fields_NeitherOverlapNorShareNameOrComponent) {
    for (const record_type& type : record_types()) {
        std::vector<bool> taken(type.wire_size * 8u);
        std::set<std::string> names;
        std::uint64_t components = 0;
        for (const field& f : type.fields) {
            if (f.kind != field_kind::reserved) {
                EXPECT_TRUE(names.insert(f.name).second) << type.name << "." << f.name;
            }
            const bool shared = type.attribute_id == SA_VLARBRECORD_ATTRID ||
                                type.attribute_id == SA_RANDOMFDBRECORD_ATTRID;
            EXPECT_TRUE(shared || (components & f.component) == 0) << type.name << "." << f.name;
            components |= f.component;
            for (std::size_t i = 0; i < f.count; ++i)
                for (std::size_t bit = 0; bit < f.wire_width; ++bit) {
                    auto slot = taken.begin() +
                                static_cast<std::ptrdiff_t>(f.wire_bit + i * f.wire_stride + bit);
                    EXPECT_FALSE(*slot) << type.name << "." << f.name;
                    *slot = true;
                }
        }
    }
}

// Every wire bit is kept, except bits that the standard reserves without a component.
TEST(Records, UnpackThenPack_YieldsSameBytes) {
    dispatch::random_choices source(1);
    for (const record_type& type : record_types())
        for (int round = 0; round < 200; ++round) {
            const bytes wire = drawn(source, type.wire_size);
            bytes host(type.host_size), other(type.host_size), again(type.wire_size);
            ASSERT_TRUE(unpack(type, wire, host.data()));
            ASSERT_EQ(pack(type, host.data(), again), type.wire_size);
            for (const field& f : type.fields)
                for (std::size_t i = 0; i < f.count; ++i) {
                    const std::size_t at = f.wire_bit + i * f.wire_stride;
                    const std::size_t byte = at / 8;
                    if (at % 8 == 0 && f.wire_width >= 8) {
                        ASSERT_EQ(again[byte], wire[byte]) << type.name << "." << f.name;
                    }
                }
            ASSERT_TRUE(unpack(type, again, other.data()));
            ASSERT_EQ(host, other) << type.name;
        }
}

// The compiled layout and the table itself yield equal bytes.
TEST(Records, CompiledAndTablePacking_YieldEqualBytes) {
    dispatch::random_choices source(3);
    for (const record_type& type : record_types()) {
        record_type plain = type;
        plain.pack_all = nullptr;
        plain.unpack_all = nullptr;
        for (int turn = 0; turn < 20; ++turn) {
            const bytes wire = drawn(source, type.wire_size);
            bytes host(type.host_size);
            bytes by_table(type.host_size);
            ASSERT_TRUE(unpack(type, wire, host.data()));
            ASSERT_TRUE(unpack(plain, wire, by_table.data()));
            EXPECT_EQ(host, by_table) << type.name;
            // including values above a field's width
            const bytes any = drawn(source, type.host_size);
            bytes packed(type.wire_size);
            bytes packed_by_table(type.wire_size);
            pack(type, any.data(), packed);
            pack(plain, any.data(), packed_by_table);
            EXPECT_EQ(packed, packed_by_table) << type.name;
        }
    }
}

TEST(Records, ShortBuffer_FailsWithoutWriting) {
    for (const record_type& type : record_types()) {
        bytes host(type.host_size, 0xaa);
        const bytes untouched = host;
        const bytes wire(type.old_wire_size - 1u);
        EXPECT_FALSE(unpack(type, wire, host.data())) << type.name;
        EXPECT_EQ(host, untouched) << type.name;
        bytes room(type.wire_size - 1u, 0x55);
        EXPECT_EQ(pack(type, host.data(), room), 0u);
        EXPECT_EQ(room, bytes(room.size(), 0x55));
    }
}

TEST(Records, OlderGeneration_NewFieldsAreZero) {
    bytes wire(68, 0xff);
    const auto full = unpack<sa_portinfo_record_t>(wire);
    ASSERT_TRUE(full);
    EXPECT_EQ(full->PortInfo.LinkSpeedExtEnabled, 31);
    wire.resize(64); // padding of the older record's 58 bytes
    const auto old = unpack<sa_portinfo_record_t>(wire);
    ASSERT_TRUE(old);
    EXPECT_EQ(old->PortInfo.OverrunErrors, 15);
    EXPECT_EQ(old->PortInfo.MaxCreditHint, 0);
    EXPECT_EQ(old->PortInfo.LinkSpeedExtEnabled, 0);
    wire.resize(21);
    const auto old_switch = unpack<sa_switchinfo_record_t>(wire);
    ASSERT_TRUE(old_switch);
    EXPECT_EQ(old_switch->SwitchInfo.EnhancedPort0, 1);
    EXPECT_EQ(old_switch->SwitchInfo.MulticastFDBTop, 0);
}

TEST(Records, PartitionChecks_RoundTripAsOneMember) {
    bytes wire(68);
    wire[47] = 0x0a; // inbound and raw inbound
    const auto record = unpack<sa_portinfo_record_t>(wire);
    EXPECT_EQ(record->PortInfo.PartitionChecks, 0xa);
    EXPECT_EQ(record->PortInfo.OperationalVLs, 0);
    bytes again(68);
    pack(*record, again);
    EXPECT_EQ(again, wire);
}

TEST(Records, SharedAttributeBitFields_UnpackToTheirValues) {
    bytes wire(80);
    wire[0] = 0x80 | 3;
    wire[3] = 4;
    wire[8] = 0x80;
    wire[9] = 0x05;
    const auto notice = unpack<ib_mad_notice_t>(wire);
    EXPECT_EQ(notice->IsGeneric, 1u);
    EXPECT_EQ(notice->Type, 3u);
    EXPECT_EQ(notice->ProducerType_VendorID, 4u);
    EXPECT_EQ(notice->NoticeToggle, 1u);
    EXPECT_EQ(notice->NoticeCount, 5u);
    wire.assign(72, 0);
    wire[7] = 19;
    wire[24] = 7;
    wire[25] = 0xa0;
    wire[26] = 0x01;
    wire[35] = 1;
    const auto port = unpack<ib_mad_classportinfo_t>(wire);
    EXPECT_EQ(port->RespTimeValue, 19u);
    EXPECT_EQ(port->RedirectTC, 7u);
    EXPECT_EQ(port->RedirectSL, 10u);
    EXPECT_EQ(port->RedirectFL, 0x100u);
    EXPECT_EQ(port->RedirectQP, 1u);
}

TEST(RecordTable, LastRecordWithoutPadding_IsCounted) {
    const record_type& type = *find_record("NodeRecord");
    const bytes payload(112 * 3 + 108);
    const auto table = record_table::parse(type, 14, payload);
    ASSERT_TRUE(table);
    EXPECT_EQ(table->size(), 4u);
    EXPECT_EQ((*table)[3].data() + (*table)[3].size(), payload.data() + payload.size());
    EXPECT_EQ(record_table::parse(type, 14, std::span(payload).first(112 * 3 + 107))->size(), 3u);
}

TEST(RecordTable, StrideBelowRecordSize_FailsUnlessTableIsEmpty) {
    const record_type& type = *find_record("PathRecord");
    const bytes payload(640);
    EXPECT_FALSE(record_table::parse(type, 0, payload));
    EXPECT_FALSE(record_table::parse(type, 7, payload));
    EXPECT_EQ(record_table::parse(type, 8, payload)->size(), 10u);
    EXPECT_EQ(record_table::parse(type, 0, {})->size(), 0u);
    EXPECT_EQ(record_table::parse(type, 0xffff, payload)->size(), 1u) << "one without padding";
}

TEST(RecordTable, StrideAboveRecordSize_IsApplied) {
    const bytes payload(80 * 2);
    const auto table = record_table::parse(*find_record("PathRecord"), 10, payload);
    EXPECT_EQ(table->size(), 2u);
    EXPECT_EQ((*table)[1].data(), payload.data() + 80);
    EXPECT_EQ((*table)[1].size(), 64u);
}

TEST(RecordTable, StrideOfOlderGeneration_NewFieldsAreZero) {
    const bytes payload(64 * 2, 0xff);
    const auto table = record_table::parse(*find_record("PortInfoRecord"), 8, payload);
    EXPECT_EQ(table->size(), 2u);
    EXPECT_EQ(unpack<sa_portinfo_record_t>((*table)[0])->PortInfo.MaxCreditHint, 0);
}

TEST(RecordMatches, FieldsOutsideMask_AreIgnored) {
    sa_path_record_t wanted{};
    sa_path_record_t other{};
    wanted.DLID = 4;
    other.DLID = 4;
    other.SLID = 9;
    const record_type& type = layout_of(&wanted);
    EXPECT_TRUE(matches(type, SA_PR_COMPMASK_DLID, &wanted, &other));
    EXPECT_FALSE(matches(type, SA_PR_COMPMASK_DLID | SA_PR_COMPMASK_SLID, &wanted, &other));
    EXPECT_TRUE(matches(type, 0, &wanted, &other));
}

TEST(RecordMatches, ElementsWithOwnComponents_ComparedIndividually) {
    sa_service_record_t wanted{};
    sa_service_record_t other{};
    other.ServiceDataItems.ServiceData16[3] = 1;
    const record_type& type = layout_of(&wanted);
    const field& data = *find_field(type, "ServiceData16");
    EXPECT_TRUE(matches(type, component_of(data, 2), &wanted, &other));
    EXPECT_FALSE(matches(type, component_of(data, 3), &wanted, &other));
    EXPECT_FALSE(matches(type, SA_SR_COMPMASK_ALL_DATA, &wanted, &other));
}

TEST(RecordText, PathRecord_PrintsValueNamesAndGids) {
    sa_path_record_t record{};
    record.DGID = {0xfe80000000000000, 0x0002c90300001234};
    record.P_Key = 0x8001;
    record.Mtu = 4;
    record.Rate = 16;
    std::string text;
    append_text(layout_of(&record), &record, text);
    EXPECT_NE(text.find("DGID: fe80::2:c903:0:1234\n"), text.npos) << text;
    EXPECT_NE(text.find("P_Key: 0x8001\n"), text.npos) << text;
    EXPECT_NE(text.find("Mtu: 4 (2048)\n"), text.npos) << text;
    EXPECT_NE(text.find("Rate: 16 (100Gb/s)\n"), text.npos) << text;
    EXPECT_EQ(text.find("Reserved"), text.npos) << text;
}

// All patterns of zero and non-zero words, with words of each length.
TEST(RecordText, Gid_PrintedAsInetNtopDoes) {
    constexpr std::array<std::uint16_t, 8> values{0xfe80, 1, 0xffff, 0x20, 0x300, 0xa, 0xb0, 0xcde};
    for (unsigned pattern = 0; pattern < 256; ++pattern) {
        std::array<std::uint8_t, 16> address{};
        sa_path_record_t record{};
        for (unsigned i = 0; i < 8; ++i) {
            const std::uint16_t word = (pattern >> i & 1) != 0 ? values[i] : std::uint16_t{0};
            address[2 * i] = static_cast<std::uint8_t>(word >> 8);
            address[2 * i + 1] = static_cast<std::uint8_t>(word);
            std::uint64_t& half = i < 4 ? record.DGID.gid_prefix : record.DGID.gid_guid;
            half = half << 16 | word;
        }
        std::array<char, INET6_ADDRSTRLEN> expected;
        std::string text;
        append_value(*find_field(layout_of(&record), "DGID"), &record, text);
        EXPECT_EQ(text, inet_ntop(AF_INET6, address.data(), expected.data(), expected.size()));
    }
}

// A name from the wire can neither leave its JSON string nor reach the terminal as a command.
TEST(RecordText, HostileNames_JsonAndText_EscapedAndUtf8Kept) {
    sa_service_record_t record{};
    const std::string_view name = "a\"b\\\x1b[2J\n\xffh\xC3\xB4te\xC2\x9B";
    std::ranges::copy(name, record.ServiceName);
    std::string json, text;
    append_json(layout_of(&record), &record, json);
    append_text(layout_of(&record), &record, text);
    EXPECT_NE(
        json.find("\"ServiceName\":\"a\\\"b\\\\\\u001b[2J\\u000a\xEF\xBF\xBDh\xC3\xB4te\\u009b\""),
        json.npos)
        << json;
    EXPECT_NE(text.find("ServiceName: a\"b\\\\x1b[2J\\x0a\\xffh\xC3\xB4te\\xc2\\x9b\n"), text.npos)
        << text;
    EXPECT_EQ(json.find('\n'), json.npos);
}

TEST(RecordText, Json_ContainsEveryField) {
    for (const record_type& type : record_types()) {
        const bytes host(type.host_size);
        std::string json;
        append_json(type, host.data(), json);
        for (const field& f : type.fields) {
            if (f.kind == field_kind::reserved) continue;
            EXPECT_NE(json.find('"' + std::string(f.name) + "\":"), json.npos) << json;
        }
    }
}

TEST(RecordQuery, TextValue_SetsFieldAndComponentBit) {
    sa_path_record_t record{};
    std::uint64_t mask = 0;
    const record_type& type = layout_of(&record);
    EXPECT_EQ(set_component(type, &record, mask, "DLID", "0x12"), "");
    EXPECT_EQ(set_component(type, &record, mask, "Rate", "100Gb/s"), "");
    EXPECT_EQ(set_component(type, &record, mask, "SGID", "fe80::2:c903:0:1234"), "");
    EXPECT_EQ(record.DLID, 0x12);
    EXPECT_EQ(record.Rate, 16);
    EXPECT_EQ(record.SGID.gid_guid, 0x0002c90300001234u);
    EXPECT_EQ(mask, SA_PR_COMPMASK_DLID | SA_PR_COMPMASK_RATE | SA_PR_COMPMASK_SGID);
}

TEST(RecordQuery, IndexedItemAndHexKey_AreSet) {
    sa_service_record_t record{};
    std::uint64_t mask = 0;
    const record_type& type = layout_of(&record);
    EXPECT_EQ(set_component(type, &record, mask, "ServiceData32[2]", "7"), "");
    EXPECT_EQ(set_component(type, &record, mask, "ServiceKey", "0x1000000000000000f"), "");
    EXPECT_EQ(set_component(type, &record, mask, "ServiceName", "boot"), "");
    EXPECT_EQ(record.ServiceDataItems.ServiceData32[2], 7u);
    EXPECT_EQ(record.ServiceKey_hi, 1u);
    EXPECT_EQ(record.ServiceKey_lo, 15u);
    EXPECT_EQ(mask, (1ull << 33) | SA_SR_COMPMASK_KEY | SA_SR_COMPMASK_NAME);
}

TEST(RecordQuery, InvalidInput_ReportsErrorAndKeepsMask) {
    sa_service_record_t record{};
    std::uint64_t mask = 0;
    const record_type& type = layout_of(&record);
    const std::pair<const char*, std::string> wrong[]{{"Nothing", "1"},
                                                      {"Reserved", "1"},
                                                      {"ServiceP_Key", "0x10000"},
                                                      {"ServiceP_Key", ""},
                                                      {"ServiceP_Key", "12x"},
                                                      {"ServiceP_Key[0]", "1"},
                                                      {"ServiceData32", "1"},
                                                      {"ServiceData32[4]", "1"},
                                                      {"ServiceData32[-1]", "1"},
                                                      {"ServiceGID", "banana"},
                                                      {"ServiceKey", "0x"},
                                                      {"ServiceName", std::string(64, 'a')},
                                                      {"", ""},
                                                      {"ServiceKey", "12345678"},
                                                      {"ServiceData32[99999999999999]", "1"}};
    for (const auto& [name, value] : wrong)
        EXPECT_NE(set_component(type, &record, mask, name, value), "") << name << "=" << value;
    EXPECT_EQ(mask, 0u);
}

// The query parser accepts the values that print writes.
TEST(RecordQuery, PrintedValue_ParsesToSameValue) {
    dispatch::random_choices source(3);
    for (const record_type& type : record_types()) {
        const bytes wire = drawn(source, type.wire_size);
        bytes host(type.host_size), built(type.host_size);
        unpack(type, wire, host.data());
        for (const field& f : type.fields) {
            if (f.component == 0 || f.kind == field_kind::reserved || f.kind == field_kind::text)
                continue;
            const bool one =
                f.count == 1 || f.kind == field_kind::gid || f.kind == field_kind::key128;
            if (!one) continue;
            std::string shown;
            append_value(f, host.data(), shown);
            std::uint64_t mask = 0;
            EXPECT_EQ(
                set_component(type, built.data(), mask, f.name, shown.substr(0, shown.find(' '))),
                "")
                << type.name;
            EXPECT_EQ(get_element(f, built.data(), 0), get_element(f, host.data(), 0))
                << type.name << "." << f.name;
        }
    }
}

TEST(MultiPathRecordPacking, GidList_RoundTripsAndShortBufferFails) {
    sa_multipath_record_t record{};
    record.SGIDCount = 1;
    record.DGIDCount = 2;
    const std::array<ib_gid_t, 3> gids{{{1, 2}, {3, 4}, {5, 6}}};
    bytes wire(24 + 48);
    ASSERT_EQ(pack_multipath(record, gids, wire), wire.size());
    sa_multipath_record_t back{};
    std::array<ib_gid_t, 3> found{};
    ASSERT_EQ(unpack_multipath(wire, back, found), 3u);
    EXPECT_EQ(found[2].gid_guid, 6u);
    EXPECT_EQ(back.DGIDCount, 2);
    EXPECT_FALSE(unpack_multipath(std::span(wire).first(71), back, found)) << "cut in a GID";
    EXPECT_EQ(pack_multipath(record, std::span(gids).first(2), wire), 0u);
    EXPECT_EQ(pack_multipath(record, gids, std::span(wire).first(71)), 0u);
}

// This command writes docs/reference/sa-records.md: build/dev/tests/saa/saa_test with
// IRPVERBS_WRITE_REFERENCE=docs/reference/sa-records.md in its environment.
TEST(RecordReference, GeneratedReference_MatchesDocument) {
    if (const char* path = std::getenv("IRPVERBS_WRITE_REFERENCE"))
        std::ofstream(path) << records_reference();
    std::ifstream file(SA_RECORDS_REFERENCE);
    const std::string document{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(document, records_reference());
}

} // namespace
} // namespace irpverbs::saa
