// Every attribute of the SA with 1,920 hosts: OpenSM's responses to Get and GetTable, which IBMF
// and libibumad receive byte for byte alike.
#include "ibmf_lab.hpp"

#include <saa/records.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>

namespace irpverbs::testing {
namespace {

// The fabric of tests/lab/fabric.py: leaves with 32 hosts each, and a cable from each to each
// spine.
constexpr std::size_t hosts = 1920;
constexpr std::size_t leaves = hosts / 32;
constexpr std::size_t spines = 16;
constexpr std::size_t switches = leaves + spines;
constexpr std::size_t ports = hosts + switches; // with LIDs
constexpr std::size_t cables = hosts + leaves * spines;
constexpr std::size_t leaf_ports = 32 + spines;
constexpr std::size_t outer_ports = leaves * leaf_ports + spines * leaves; // of switches
// Pairs of ports of one switch.
constexpr std::size_t ways_through_switches =
    leaves * (leaf_ports + 1) * (leaf_ports + 1) + spines * (leaves + 1) * (leaves + 1);

constexpr std::uint8_t get = MAD_METHOD_GET;
constexpr std::uint8_t get_multi = 0x14;
constexpr std::uint64_t sm_key = 1; // OpenSM's own
constexpr int silence = -1;
constexpr int not_supported = 0x000C;
constexpr int invalid = 0x0200;
constexpr int no_records = 0x0300;
constexpr int too_many = 0x0400;

struct field_value {
    const char* name;
    std::string value;
};

struct expected_response {
    const char* record;
    std::uint8_t method;
    std::vector<field_value> with;
    int status;
    std::size_t records;
    std::uint64_t key = 0;
};

std::string text_of(const ib_gid_t& gid) {
    std::string text;
    for (const std::uint64_t half : {gid.gid_prefix, gid.gid_guid})
        for (int shift = 48; shift >= 0; shift -= 16) {
            char four[8];
            std::snprintf(four, sizeof(four), "%x", static_cast<unsigned>(half >> shift & 0xFFFF));
            text += text.empty() ? "" : ":";
            text += four;
        }
    return text;
}

class IbmfLabRecords : public IbmfLab {
protected:
    std::unique_ptr<sa_request> make_request(const char* record, std::uint8_t method,
                                             const std::vector<field_value>& with,
                                             std::uint64_t key) {
        const saa::record_type& type = *saa::find_record(std::string_view(record));
        std::vector<std::uint64_t> host(type.host_size / sizeof(std::uint64_t) + 1);
        std::uint64_t components = 0;
        for (const field_value& each : with)
            EXPECT_EQ(saa::set_component(type, host.data(), components, each.name, each.value), "");
        auto asked = std::make_unique<sa_request>(manager.handle, sm_lid, type.attribute_id, method,
                                                  ++transaction);
        saa::pack(type, host.data(), asked->data());
        ibmf::store(asked->class_header(), ibmf::sa_header{key, 0, components});
        return asked;
    }
    static void expect_done(sa_request& asked) {
        EXPECT_EQ(asked.message().send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, patient), IBMF_SUCCESS);
        EXPECT_EQ(asked.message().received_header().status, 0);
    }
    void expect_set(const char* record, const std::vector<field_value>& fields) {
        SCOPED_TRACE(record);
        expect_done(*make_request(record, MAD_METHOD_SET, fields, 0));
    }
    void expect_response(const expected_response& expected) {
        SCOPED_TRACE(std::string(expected.record) + " by method " +
                     std::to_string(expected.method));
        const auto asked =
            make_request(expected.record, expected.method, expected.with, expected.key);
        const bool silent = expected.status == silence;
        const std::vector<std::uint8_t> theirs = raw.ask(asked->raw(), sm_lid, silent ? 100 : 3000);
        if (silent) {
            EXPECT_TRUE(theirs.empty());
            EXPECT_EQ(asked->message().send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, hasty),
                      IBMF_TRANS_TIMEOUT);
            return;
        }
        ASSERT_GE(theirs.size(), sa_request::data_at);
        ASSERT_EQ(asked->message().send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, patient), IBMF_SUCCESS);
        expect_equal(*asked, theirs);
        EXPECT_EQ(asked->message().received_header().status, expected.status);
        EXPECT_EQ(records_in(theirs), expected.records);
    }
    static std::size_t records_in(std::span<const std::uint8_t> response) {
        const ibmf::mad_header header =
            ibmf::load_mad_header(response.first<ibmf::mad_header_size>());
        if (header.status != 0) return 0;
        if (header.method == (get | MAD_RESPONSE_BIT)) return 1;
        const ibmf::sa_header found =
            ibmf::load_sa_header(response.subspan<ibmf::rmpp_data_offset, ibmf::sa_header::size>());
        const std::size_t stride = found.attribute_offset * 8u;
        return stride == 0 ? 0 : (response.size() - sa_request::data_at) / stride;
    }
    template <class Host>
    Host record(const char* name, const std::vector<field_value>& with) {
        const auto asked = make_request(name, get, with, 0);
        expect_done(*asked);
        return saa::unpack<Host>(asked->message().received()).value_or(Host{});
    }
    bool has_entries(const char* name) {
        const auto asked = make_request(name, get_table, {}, 0);
        expect_done(*asked);
        return !asked->message().received().empty();
    }

    client_scope manager{as(SUBN_ADM_MANAGER), IBMF_REG_FLAG_RMPP};
    std::uint64_t transaction = 0;
};

TEST_F(IbmfLabRecords, EachAttribute_MatchesLibibumadResponse) {
    const std::string own = std::to_string(lid);
    const std::string sm = std::to_string(sm_lid);
    const std::string leaf =
        std::to_string(record<sa_link_record_t>("LinkRecord", {{"FromLID", own}}).ToLID);
    const std::string here = text_of(gid);
    const std::string group = "ff15:a01b:fe80::1234";
    expect_set("ServiceRecord", {{"ServiceID", "7"},
                                 {"ServiceGID", here},
                                 {"ServiceP_Key", "0xFFFF"},
                                 {"ServiceLease", "0xFFFFFFFF"},
                                 {"ServiceName", "lab"}});
    const auto sm_node = record<sa_node_record_t>("NodeRecord", {{"LID", sm}});
    for (const ib_gid_t& member : {gid, ib_gid_t{gid.gid_prefix, sm_node.NodeInfo.PortGUID}})
        expect_set("MCMemberRecord", {{"MGID", group},
                                      {"PortGID", text_of(member)},
                                      {"Q_Key", "0x1234"},
                                      {"TClass", "0"},
                                      {"P_Key", "0xFFFF"},
                                      {"SL", "0"},
                                      {"FlowLabel", "0"},
                                      {"JoinState", "1"}});
    ib_mad_informinfo_t subscription{};
    subscription.LIDRangeBegin = subscription.Type = subscription.TrapNumber_DeviceID = 0xFFFF;
    subscription.IsGeneric = subscription.Subscribe = 1;
    subscription.QPN = 1;
    subscription.ProducerType_VendorID = 0xFFFFFF;
    const auto subscribing = make_request("InformInfo", MAD_METHOD_SET, {}, 0);
    saa::pack(subscription, subscribing->data());
    expect_done(*subscribing);
    // OpenSM responds to a join before the switches have the group's forwarding entries.
    while (!has_entries("MulticastFDBRecord"))
        ;
    const std::vector<expected_response> all{
        {"ClassPortInfo", get, {}, 0, 1},
        {"ClassPortInfo", get_table, {}, invalid, 0},
        {"Notice", get, {}, silence, 0},
        {"Notice", get_table, {}, silence, 0},
        {"InformInfo", get, {}, not_supported, 0},
        {"InformInfo", get_table, {}, not_supported, 0},
        {"NodeRecord", get, {}, too_many, 0},
        {"NodeRecord", get, {{"LID", own}}, 0, 1},
        {"NodeRecord", get, {{"LID", "0xBF00"}}, no_records, 0},
        {"NodeRecord", get_table, {}, 0, ports},
        {"NodeRecord", get_table, {{"NodeType", "Switch"}}, 0, switches},
        {"PortInfoRecord", get, {{"EndportLID", own}}, 0, 1},
        {"PortInfoRecord", get, {{"EndportLID", leaf}, {"PortNum", "3"}}, 0, 1},
        {"PortInfoRecord", get_table, {}, 0, ports + outer_ports},
        {"PortInfoRecord", get_table, {{"EndportLID", leaf}}, 0, leaf_ports + 1},
        {"SLtoVLRecord", get, {{"LID", own}}, 0, 1},
        {"SLtoVLRecord", get_table, {{"LID", own}}, 0, 1},
        {"SLtoVLRecord", get_table, {}, 0, hosts + ways_through_switches},
        {"SwitchInfoRecord", get, {{"LID", leaf}}, 0, 1},
        {"SwitchInfoRecord", get_table, {}, 0, switches},
        {"LinearFDBRecord", get, {{"LID", leaf}, {"BlockNum", "1"}}, 0, 1},
        {"LinearFDBRecord", get_table, {}, 0, switches * (ports / 64 + 1)},
        {"RandomFDBRecord", get, {{"LID", leaf}}, silence, 0},
        {"RandomFDBRecord", get_table, {}, silence, 0},
        {"MulticastFDBRecord", get, {{"LID", leaf}, {"BlockNum", "0"}, {"Position", "0"}}, 0, 1},
        {"MulticastFDBRecord", get_table, {}, 0, leaf_ports / 16 + 1},
        {"SMInfoRecord", get, {{"LID", sm}}, 0, 1},
        {"SMInfoRecord", get_table, {}, 0, 1},
        {"LinkRecord", get, {{"FromLID", own}}, 0, 1},
        {"LinkRecord", get_table, {}, 0, 2 * cables},
        {"GUIDInfoRecord", get, {{"LID", own}, {"BlockNum", "0"}}, 0, 1},
        {"GUIDInfoRecord", get_table, {}, 0, 4 * hosts + switches},
        {"ServiceRecord", get, {{"ServiceID", "7"}}, 0, 1},
        {"ServiceRecord", get, {{"ServiceID", "8"}}, no_records, 0},
        {"ServiceRecord", get_table, {}, 0, 1},
        {"P_KeyTableRecord", get, {{"LID", own}, {"BlockNum", "0"}}, 0, 1, sm_key},
        {"P_KeyTableRecord", get, {{"LID", own}}, invalid, 0},
        {"P_KeyTableRecord", get_table, {}, 0, 2 * (hosts + outer_ports) + switches, sm_key},
        {"PathRecord", get, {{"SLID", own}, {"DLID", sm}}, 0, 1},
        {"PathRecord", get_table, {{"SLID", own}}, 0, ports},
        {"VLArbitrationRecord", get, {{"LID", own}, {"BlockNum", "1"}}, 0, 1},
        {"VLArbitrationRecord", get_table, {}, 0, 4 * (ports + outer_ports)},
        {"MCMemberRecord", get, {{"MGID", group}}, 0, 1},
        {"MCMemberRecord", get_table, {}, 0, 2}, // with IPv4's broadcast group
        {"TraceRecord", get, {}, silence, 0},
        {"TraceRecord", get_table, {}, silence, 0},
        {"MultiPathRecord", get, {}, invalid, 0},
        {"MultiPathRecord", get_table, {}, invalid, 0},
        {"ServiceAssociationRecord", get, {}, silence, 0},
        {"ServiceAssociationRecord", get_table, {}, silence, 0},
        {"InformInfoRecord", get, {{"SubscriberGID", here}, {"Enum", "0"}}, 0, 1},
        {"InformInfoRecord", get_table, {}, 0, 1},
    };
    std::set<std::pair<std::string_view, std::uint8_t>> asked;
    for (const expected_response& each : all) {
        expect_response(each);
        asked.emplace(each.record, each.method);
    }
    EXPECT_EQ(asked.size(), 2 * saa::record_types().size());
    EXPECT_EQ(manager.stats().st_rmpp_errors, 0u);
}

// Repeats the request of saquery, whose response is in a file, and compares the responses.
TEST_F(IbmfLabRecords, GetTable_MatchesSaqueryResponse) {
    const char* const name = std::getenv("IBMF_LAB_RECEIVED");
    ASSERT_NE(name, nullptr);
    std::ifstream file(name, std::ios::binary);
    const std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
    const std::vector<std::uint8_t> theirs(text.begin(), text.end());
    ASSERT_GT(theirs.size(), ibmf::mad_size);
    const ibmf::mad_header header =
        ibmf::load_mad_header(std::span(theirs).first<ibmf::mad_header_size>());
    sa_request asked(manager.handle, sm_lid, header.attribute_id, get_table, ++transaction);
    ASSERT_EQ(asked.message().send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, patient), IBMF_SUCCESS);
    expect_equal(asked, theirs);
    std::cout << "records " << header.attribute_id << ' ' << records_in(theirs) << std::endl;
}

// Request and response are both RMPP transfers.
TEST_F(IbmfLabRecords, GetMultiWithManyGids_MatchesRawResponse) {
    sa_request nodes(manager.handle, sm_lid, SA_NODERECORD_ATTRID, get_table, ++transaction);
    ASSERT_EQ(nodes.message().send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, patient), IBMF_SUCCESS);
    std::vector<ib_gid_t> gids{gid};
    std::span<const std::uint8_t> data = nodes.message().received();
    constexpr std::size_t wanted = 30;
    constexpr std::size_t found = 10; // OpenSM reads only eleven GIDs, with the source
    for (; gids.size() <= wanted && data.size() >= 112; data = data.subspan(112))
        if (const auto each = saa::unpack<sa_node_record_t>(data);
            each->NodeInfo.PortGUID != gid.gid_guid)
            gids.push_back({gid.gid_prefix, each->NodeInfo.PortGUID});
    sa_multipath_record_t asked{};
    asked.Reversible = 1;
    asked.NumbPath = 127;
    asked.SGIDCount = 1;
    asked.DGIDCount = wanted;
    sa_request request(manager.handle, sm_lid, SA_MULTIPATHRECORD_ATTRID, get_multi, ++transaction,
                       24 + 16 * gids.size());
    ASSERT_EQ(saa::pack_multipath(asked, gids, request.data()), request.data().size());
    ibmf::store(request.class_header(),
                ibmf::sa_header{0, 0,
                                SA_MPR_COMPMASK_REVERSIBLE | SA_MPR_COMPMASK_NUMBPATH |
                                    SA_MPR_COMPMASK_SGIDCOUNT | SA_MPR_COMPMASK_DGIDCOUNT});
    const std::vector<std::uint8_t> theirs = raw.ask(request.raw(true), sm_lid, 3000);
    ASSERT_GE(theirs.size(), sa_request::data_at);
    ASSERT_EQ(request.message().send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ | IBMF_MSG_TRANS_FLAG_RMPP,
                                              patient),
              IBMF_SUCCESS);
    expect_equal(request, theirs);
    EXPECT_EQ(request.message().received_header().status, 0);
    EXPECT_EQ(records_in(theirs), found);
}

} // namespace
} // namespace irpverbs::testing
