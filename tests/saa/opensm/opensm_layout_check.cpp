// Our table of fields against the headers with which OpenSM is built.
#include "opensm_layout.h"

#include <saa/records.hpp>

#include <dispatch/testing/choices.hpp>

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace irpverbs::saa {
namespace {

struct our_field {
    const field* found = nullptr;
    std::size_t index = 0;
    bool element = false;
};

our_field find_ours(const opensm_member& theirs) {
    const record_type* type = find_record(theirs.record);
    if (type == nullptr) return {};
    std::string name = theirs.field;
    our_field ours;
    if (const std::size_t bracket = name.find('['); bracket != name.npos) {
        ours.index = std::stoul(name.substr(bracket + 1));
        ours.element = true;
        name.resize(bracket);
    }
    ours.found = find_field(*type, name);
    return ours;
}

TEST(OpensmLayout, OpensmMembers_ContainOurFieldsWithSameComponents) {
    for (std::size_t i = 0; i < opensm_member_count; ++i) {
        const opensm_member& theirs = opensm_members[i];
        SCOPED_TRACE(std::string(theirs.record) + "." + theirs.field);
        const auto [ours, index, element] = find_ours(theirs);
        ASSERT_NE(ours, nullptr);
        const std::size_t first = ours->wire_bit + index * ours->wire_stride;
        const std::size_t items = element ? 1 : ours->count;
        const std::size_t end = first + (items - 1) * ours->wire_stride + ours->wire_width;
        EXPECT_GE(first, theirs.byte * 8u);
        EXPECT_LE(end, (theirs.byte + theirs.size) * 8u);
        if (theirs.mask != 0) {
            EXPECT_EQ(component_of(*ours, index), theirs.mask);
        }
    }
}

TEST(OpensmLayout, StridesAndAttributeIds_MatchOpensm) {
    for (std::size_t i = 0; i < opensm_record_count; ++i) {
        const record_type* ours = find_record(opensm_records[i].record);
        ASSERT_NE(ours, nullptr) << opensm_records[i].record;
        EXPECT_EQ(ours->stride(), (opensm_records[i].size + 7) / 8 * 8) << ours->name;
        EXPECT_EQ(ours->attribute_id, opensm_records[i].attribute_id) << ours->name;
    }
}

// All fields are compared except reserved ones and those that OpenSM does not name.
TEST(OpensmLayout, FieldsNamedByOpensm_AreAllCompared) {
    std::set<std::string> compared;
    std::set<std::string> records;
    for (std::size_t i = 0; i < opensm_member_count; ++i) {
        std::string field = opensm_members[i].field;
        records.insert(opensm_members[i].record);
        compared.insert(std::string(opensm_members[i].record) + "." +
                        field.substr(0, field.find('[')));
    }
    std::set<std::string> left_out;
    for (const std::string& record : records)
        for (const field& f : find_record(record)->fields)
            if (f.kind != field_kind::reserved && !compared.contains(record + "." + f.name))
                left_out.insert(record + "." + f.name);
    const std::set<std::string> unnamed{"ClassPortInfo.TrapTC",
                                        "ClassPortInfo.TrapSL",
                                        "ClassPortInfo.TrapFL",
                                        "InformInfoRecord.ProducerType_VendorID",
                                        "MCMemberRecord.ProxyJoin",
                                        "Notice.ProducerType_VendorID",
                                        "PortInfoRecord.MulticastPKeyTrapSuppression",
                                        "SwitchInfoRecord.FilterRawInboundCap",
                                        "SwitchInfoRecord.FilterRawOutboundCap",
                                        "SwitchInfoRecord.InboundEnforcementCap",
                                        "SwitchInfoRecord.OptimizedSLtoVL",
                                        "SwitchInfoRecord.OutboundEnforcementCap"};
    EXPECT_EQ(left_out, unnamed);
}

/// Draws values for OpenSM's code, and keeps them.
class drawn_values : public opensm_values {
public:
    explicit drawn_values(dispatch::choices& from) : opensm_values{draw}, from_(from) {}

    using element = std::pair<std::string, std::size_t>;
    std::map<element, std::uint64_t> all;

private:
    static std::uint64_t draw(opensm_values* self, const char* field, unsigned index,
                              unsigned bits) {
        auto& here = *static_cast<drawn_values*>(self);
        const std::uint64_t value = here.from_.value64() >> (64 - bits);
        EXPECT_TRUE(here.all.try_emplace({field, index}, value).second) << field;
        return value;
    }

    dispatch::choices& from_;
};

// Records that OpenSM wrote are read with equal values, and written with equal bytes.
TEST(OpensmRecords, RecordWrittenByOpensm_RoundTripsWithEqualValues) {
    dispatch::random_choices chance(1);
    for (std::size_t i = 0; i < opensm_writer_count; ++i) {
        const record_type& type = *find_record(opensm_writers[i].record);
        SCOPED_TRACE(type.name);
        for (int round = 0; round < 100; ++round) {
            drawn_values values(chance);
            std::array<std::uint8_t, 256> wire{};
            ASSERT_EQ(opensm_writers[i].write(&values, wire.data()), type.wire_size);
            std::vector<std::uint8_t> read(type.host_size);
            std::vector<std::uint8_t> written(type.host_size);
            ASSERT_TRUE(unpack(type, std::span(wire).first(type.wire_size), read.data()));
            for (const auto& [element, value] : values.all) {
                const field* const where = find_field(type, element.first);
                ASSERT_NE(where, nullptr) << element.first;
                ASSERT_LT(element.second, where->count) << element.first;
                EXPECT_EQ(get_element(*where, read.data(), element.second), value)
                    << element.first << '[' << element.second << ']';
                set_element(*where, written.data(), element.second, value);
            }
            std::array<std::uint8_t, 256> again{};
            pack(type, written.data(), again);
            ASSERT_EQ(again, wire);
        }
    }
}

// All fields except those for which OpenSM has no member.
TEST(OpensmRecords, WrittenRecords_CoverAllOurFields) {
    dispatch::random_choices chance(1);
    std::set<std::string> left_out;
    for (std::size_t i = 0; i < opensm_writer_count; ++i) {
        const record_type& type = *find_record(opensm_writers[i].record);
        drawn_values values(chance);
        std::array<std::uint8_t, 256> wire{};
        opensm_writers[i].write(&values, wire.data());
        for (const field& f : type.fields)
            for (std::size_t at = 0; at < f.count && f.kind != field_kind::reserved; ++at)
                if (!values.all.contains({f.name, at}))
                    left_out.insert(std::string(type.name) + '.' + f.name);
    }
    const std::set<std::string> unknown{
        "MCMemberRecord.ProxyJoin", // a bit-field, whose position is up to the compiler
        "SwitchInfoRecord.FilterRawInboundCap",
        "SwitchInfoRecord.FilterRawOutboundCap",
        "SwitchInfoRecord.InboundEnforcementCap",
        "SwitchInfoRecord.OptimizedSLtoVL",
        "SwitchInfoRecord.OutboundEnforcementCap"};
    EXPECT_EQ(left_out, unknown);
}

// ib_types.h has no structure for three records.
TEST(OpensmRecords, OpensmStructures_CoverAllRecordsButThree) {
    std::set<std::string> without;
    for (const record_type& type : record_types())
        without.insert(type.name);
    for (std::size_t i = 0; i < opensm_writer_count; ++i)
        EXPECT_EQ(without.erase(opensm_writers[i].record), 1u) << opensm_writers[i].record;
    EXPECT_EQ(without, (std::set<std::string>{"RandomFDBRecord", "ServiceAssociationRecord",
                                              "TraceRecord"}));
}

template <class Host>
Host from_opensm(std::size_t (*fill)(std::uint8_t*)) {
    std::array<std::uint8_t, 256> wire{};
    const std::size_t size = fill(wire.data());
    const auto host = unpack<Host>(std::span(wire).first(size));
    EXPECT_TRUE(host.has_value());
    std::array<std::uint8_t, 256> again{};
    EXPECT_EQ(pack(*host, again), size);
    EXPECT_EQ(again, wire) << "packing yields OpenSM's bytes";
    return *host;
}

TEST(OpensmSampleRecords, PathRecord_UnpacksToItsValues) {
    const auto record = from_opensm<sa_path_record_t>(opensm_path_record);
    EXPECT_EQ(record.ServiceID, 0x1122334455667788u);
    EXPECT_EQ(record.DGID.gid_prefix, 0xfe80000000000000u);
    EXPECT_EQ(record.DGID.gid_guid, 0x0002c90300001234u);
    EXPECT_EQ(record.SGID.gid_guid, 0x0002c90300005678u);
    EXPECT_EQ(record.DLID, 0x0102);
    EXPECT_EQ(record.SLID, 0x0304);
    EXPECT_EQ(record.RawTraffic, 1);
    EXPECT_EQ(record.FlowLabel, 0xfedcbu);
    EXPECT_EQ(record.HopLimit, 64);
    EXPECT_EQ(record.TClass, 9);
    EXPECT_EQ(record.Reversible, 1);
    EXPECT_EQ(record.NumbPath, 5);
    EXPECT_EQ(record.P_Key, 0x8001);
    EXPECT_EQ(record.QoSClass, 0xabc);
    EXPECT_EQ(record.SL, 11);
    EXPECT_EQ(record.MtuSelector, 2);
    EXPECT_EQ(record.Mtu, 4);
    EXPECT_EQ(record.RateSelector, 1);
    EXPECT_EQ(record.Rate, 16);
    EXPECT_EQ(record.PacketLifeTimeSelector, 3);
    EXPECT_EQ(record.PacketLifeTime, 18);
    EXPECT_EQ(record.Preference, 77);
}

TEST(OpensmSampleRecords, PortInfo_UnpacksToItsValues) {
    const auto info = from_opensm<sm_portinfo_t>(opensm_port_info);
    EXPECT_EQ(info.M_Key, 0x0123456789abcdefu);
    EXPECT_EQ(info.LID, 0x11);
    EXPECT_EQ(info.PortState, 4);
    EXPECT_EQ(info.LinkSpeedSupported, 7);
    EXPECT_EQ(info.PortPhysicalState, 5);
    EXPECT_EQ(info.LinkDownDefaultState, 2);
    EXPECT_EQ(info.M_KeyProtectBits, 1);
    EXPECT_EQ(info.LMC, 3);
    EXPECT_EQ(info.LinkSpeedEnabled, 6);
    EXPECT_EQ(info.NeighborMTU, 5);
    EXPECT_EQ(info.MasterSMSL, 9);
    EXPECT_EQ(info.OperationalVLs, 4);
    EXPECT_EQ(info.HOQLife, 18);
    EXPECT_EQ(info.VLStallCount, 7);
    EXPECT_EQ(info.ClientReregister, 1);
    EXPECT_EQ(info.MulticastPKeyTrapSuppression, 2);
    EXPECT_EQ(info.SubnetTimeOut, 17);
    EXPECT_EQ(info.LocalPhyErrors, 10);
    EXPECT_EQ(info.OverrunErrors, 12);
    EXPECT_EQ(info.LinkSpeedExtEnabled, 21);
}

TEST(OpensmSampleRecords, MCMemberRecord_UnpacksToItsValues) {
    const auto record = from_opensm<sa_mcmember_record_t>(opensm_mcmember_record);
    EXPECT_EQ(record.Q_Key, 0x80010000u);
    EXPECT_EQ(record.MLID, 0xc001);
    EXPECT_EQ(record.MTUSelector, 2);
    EXPECT_EQ(record.MTU, 4);
    EXPECT_EQ(record.SL, 5);
    EXPECT_EQ(record.FlowLabel, 0x54321u);
    EXPECT_EQ(record.HopLimit, 33);
    EXPECT_EQ(record.Scope, 2);
    EXPECT_EQ(record.JoinState, 1);
}

TEST(OpensmSampleRecords, InformInfo_UnpacksToItsValues) {
    const auto info = from_opensm<ib_mad_informinfo_t>(opensm_inform_info);
    EXPECT_EQ(info.LIDRangeBegin, 0xffff);
    EXPECT_EQ(info.IsGeneric, 1);
    EXPECT_EQ(info.Subscribe, 1);
    EXPECT_EQ(info.Type, 3);
    EXPECT_EQ(info.TrapNumber_DeviceID, 64);
    EXPECT_EQ(info.QPN, 0xabcdefu);
    EXPECT_EQ(info.RespTimeValue, 19);
    EXPECT_EQ(info.ProducerType_VendorID, 4u);
}

} // namespace
} // namespace irpverbs::saa
