// The records that each requester may see when not all ports share a P_Key. OpenSM agrees:
// tests/lab/agreement_test.py.
#include "managed_fabric.hpp"
#include "sa_client.hpp"

#include <support/both_machines.hpp>

#include <boost/endian/conversion.hpp>

#include <set>
#include <sstream>

namespace {

using namespace irpverbs::testing;

constexpr ib_pkey_t ours = 0x8001;   // of host2 and host3
constexpr ib_pkey_t theirs = 0x8002; // of host4

// The built-in fabric: host1 has two ports, two hosts at each switch. All ports but the manager's
// are limited members of the default partition, so only the manager sees the switches.
class SaPartitionVisibility : public BothMachines {
protected:
    std::string partitions() const {
        std::ostringstream text;
        text << std::hex << "Default=0x7fff : ALL=limited, SELF=full ;\n"
             << "Ours=0x1 : 0x" << gid(1).gid_guid << "=full, 0x" << gid(2).gid_guid << "=full ;\n"
             << "Theirs=0x2 : 0x" << gid(3).gid_guid << "=full ;\n";
        return text.str();
    }
    ib_gid_t gid(std::size_t hca) const { return {IB_DEFAULT_GID_PREFIX, hcas.guid(hca) + 1}; }
    ib_lid_t lid(std::size_t hca) const { return open_hca(hcas.fdo(hca)).lid(); }

    attached hcas{unmanaged()};
    running_manager manager{{.hca = hcas.guid(0), .partitions = partitions()}};
    NTSTATUS up = manager.wait_until_up();
    sa_client of_manager{hcas.guid(0), lid(0)};
    sa_client one{hcas.guid(1), lid(0)};
    sa_client another{hcas.guid(2), lid(0)};
    sa_client stranger{hcas.guid(3), lid(0)};
};

std::set<std::uint64_t> guids(const std::vector<sa_node_record_t>& nodes) {
    std::set<std::uint64_t> all;
    for (const sa_node_record_t& each : nodes)
        all.insert(each.NodeInfo.PortGUID);
    return all;
}

TEST_P(SaPartitionVisibility, NodeRecords_LimitedToSharedPKeys) {
    EXPECT_EQ(of_manager.table<sa_node_record_t>().size(), 7u);
    EXPECT_EQ(guids(one.table<sa_node_record_t>()),
              (std::set{gid(0).gid_guid, gid(1).gid_guid, gid(2).gid_guid}));
    EXPECT_EQ(guids(stranger.table<sa_node_record_t>()),
              (std::set{gid(0).gid_guid, gid(3).gid_guid}));
    sa_node_record_t wanted{};
    wanted.LID = lid(3);
    EXPECT_EQ(
        one.ask(SA_SUBN_ADM_GET, SA_NODERECORD_ATTRID, wanted, SA_NODEINFO_COMPMASK_NODELID).status,
        SA_STATUS_ERR_NO_RECORDS);
}

TEST_P(SaPartitionVisibility, GuidPKeyAndSmInfoRecords_LimitedToSharedPKeys) {
    EXPECT_EQ(one.table<sa_guidinfo_record_t>().size(), 3u * 4);
    one.key = of_manager.key = 1;
    EXPECT_EQ(of_manager.table<sa_pkey_table_record_t>().size(), 7u);
    EXPECT_EQ(one.table<sa_pkey_table_record_t>().size(), 3u);
    EXPECT_EQ(one.table<sa_sminfo_record_t>().size(), 1u);
}

// A port between switches, or without a cable, has no host's keys.
TEST_P(SaPartitionVisibility, SwitchPortOfHiddenHost_IsHidden) {
    EXPECT_EQ(of_manager.table<sa_portinfo_record_t>().size(), 5u + 2 * 9);
    // Hidden: the switches' own ports, and the switch ports of host4 and of the manager's second
    // port.
    EXPECT_EQ(one.table<sa_portinfo_record_t>().size(), 3u + 2 * 8 - 2);
    // The switch ports of host2, host3 and that second port are hidden.
    EXPECT_EQ(stranger.table<sa_portinfo_record_t>().size(), 2u + 2 * 8 - 3);
}

TEST_P(SaPartitionVisibility, LinkRecords_RequireBothEndsVisible) {
    EXPECT_EQ(of_manager.table<sa_link_record_t>().size(), 2u * (5 + 2));
    EXPECT_EQ(one.table<sa_link_record_t>().size(), 2u * (3 + 2));
    EXPECT_EQ(stranger.table<sa_link_record_t>().size(), 2u * (2 + 2));
}

TEST_P(SaPartitionVisibility, HiddenSwitch_ItsTablesAreHidden) {
    EXPECT_EQ(of_manager.table<sa_switchinfo_record_t>().size(), 2u);
    EXPECT_EQ(of_manager.table<sa_linearft_record_t>().size(), 2u);
    EXPECT_TRUE(one.table<sa_switchinfo_record_t>().empty());
    EXPECT_TRUE(one.table<sa_linearft_record_t>().empty());
    EXPECT_TRUE(one.table<sa_multicastft_record_t>().empty());
}

TEST_P(SaPartitionVisibility, PathRecords_LimitedToVisiblePorts) {
    sa_path_record_t wanted{};
    wanted.SGID = gid(1);
    wanted.DGID = gid(2);
    const auto count = [&](sa_client& by) {
        return by.table(wanted, SA_PR_COMPMASK_SGID | SA_PR_COMPMASK_DGID).size();
    };
    EXPECT_EQ(count(one), 1u);
    EXPECT_EQ(count(of_manager), 1u);
    EXPECT_EQ(count(stranger), 0u);
    for (const sa_path_record_t& path : stranger.table<sa_path_record_t>())
        for (const ib_gid_t& end : {path.SGID, path.DGID})
            EXPECT_TRUE(end.gid_guid == gid(0).gid_guid || end.gid_guid == gid(3).gid_guid);
}

TEST_P(SaPartitionVisibility, MultiPathRecords_LimitedToVisiblePorts) {
    sa_multipath_record_t wanted{};
    wanted.SGIDCount = wanted.DGIDCount = 1;
    std::vector<std::uint8_t> data(200);
    const std::vector<ib_gid_t> ends{gid(1), gid(2)};
    ASSERT_NE(irpverbs::saa::pack_multipath(wanted, ends, data), 0u);
    const auto count = [&](sa_client& by) {
        return by
            .ask(SA_SUBN_ADM_GET_MULTI, SA_MULTIPATHRECORD_ATTRID, data,
                 SA_MPR_COMPMASK_SGIDCOUNT | SA_MPR_COMPMASK_DGIDCOUNT,
                 IBMF_MSG_TRANS_FLAG_SEQ | IBMF_MSG_TRANS_FLAG_RMPP)
            .records<sa_path_record_t>()
            .size();
    };
    EXPECT_EQ(count(one), 1u);
    EXPECT_EQ(count(stranger), 0u);
}

TEST_P(SaPartitionVisibility, ServiceRecords_LimitedToPartitionMembers) {
    sa_service_record_t service{};
    service.ServiceID = 7;
    service.ServiceGID = gid(1);
    service.ServiceP_Key = ours;
    const auto ask = [&](sa_client& by, std::uint8_t method) {
        return by
            .ask(method, SA_SERVICERECORD_ATTRID, service,
                 SA_SR_COMPMASK_ID | SA_SR_COMPMASK_GID | SA_SR_COMPMASK_PKEY)
            .status;
    };
    EXPECT_EQ(ask(stranger, SA_SUBN_ADM_SET), SA_STATUS_ERR_REQ_INVALID);
    EXPECT_EQ(ask(one, SA_SUBN_ADM_SET), 0);
    EXPECT_EQ(another.table<sa_service_record_t>().size(), 1u);
    EXPECT_EQ(stranger.table<sa_service_record_t>().size(), 0u);
    EXPECT_EQ(ask(stranger, SA_SUBN_ADM_DELETE), SA_STATUS_ERR_REQ_INVALID);
    EXPECT_EQ(ask(another, SA_SUBN_ADM_DELETE), 0);
    service.ServiceP_Key = theirs; // host4 is in that partition, the service's port is not
    EXPECT_EQ(ask(stranger, SA_SUBN_ADM_SET), SA_STATUS_ERR_REQ_INVALID);
}

sa_response join(sa_client& by, const ib_gid_t& port, ib_pkey_t key) {
    sa_mcmember_record_t record{};
    record.MGID = {0xff12401b00000000 | std::uint64_t{key} << 16, 0x42};
    record.PortGID = port;
    record.Q_Key = IB_QP1_QKEY;
    record.P_Key = key;
    record.JoinState = SA_MC_JOIN_FULL;
    return by.ask(SA_SUBN_ADM_SET, SA_MCMEMBERRECORD_ATTRID, record,
                  SA_MC_COMPMASK_MGID | SA_MC_COMPMASK_PORTGID | SA_MC_COMPMASK_JOINSTATE |
                      SA_MC_COMPMASK_QKEY | SA_MC_COMPMASK_TCLASS | SA_MC_COMPMASK_PKEY |
                      SA_MC_COMPMASK_FLOWLABEL | SA_MC_COMPMASK_SL);
}

TEST_P(SaPartitionVisibility, MulticastGroup_VisibleToPartitionMembersOnly) {
    EXPECT_EQ(join(one, gid(1), ours).status, 0);
    EXPECT_EQ(another.table<sa_mcmember_record_t>().size(), 1u);
    EXPECT_EQ(stranger.table<sa_mcmember_record_t>().size(), 0u);
    EXPECT_NE(join(stranger, gid(1), ours).status, 0); // for a port that the requester does not see
}

ib_mad_informinfo_t subscription() {
    ib_mad_informinfo_t info{};
    info.LIDRangeBegin = 0xFFFF;
    info.IsGeneric = 1;
    info.Subscribe = 1;
    info.Type = 0xFFFF;
    info.TrapNumber_DeviceID = 0xFFFF;
    info.ProducerType_VendorID = 0xFFFFFF;
    return info;
}

std::uint16_t subscribe(sa_client& by, const ib_mad_informinfo_t& info = subscription()) {
    return by.ask(SA_SUBN_ADM_SET, SA_INFORMINFO_ATTRID, info, 0).status;
}

TEST_P(SaPartitionVisibility, Subscriptions_LimitedToVisiblePorts) {
    EXPECT_EQ(subscribe(one), 0);
    EXPECT_EQ(another.table<sa_informinfo_record_t>().size(), 1u);
    EXPECT_EQ(stranger.table<sa_informinfo_record_t>().size(), 0u);
    ib_mad_informinfo_t info = subscription();
    info.GID = gid(1);
    EXPECT_EQ(subscribe(another, info), 0);
    EXPECT_EQ(subscribe(stranger, info), SA_STATUS_ERR_REQ_INVALID);
    info.GID = {};
    info.LIDRangeBegin = info.LIDRangeEnd = lid(1);
    EXPECT_EQ(subscribe(another, info), 0);
    EXPECT_EQ(subscribe(stranger, info), SA_STATUS_ERR_REQ_INVALID);
    info.LIDRangeBegin = info.LIDRangeEnd = 0xBF00; // above all LIDs
    EXPECT_EQ(subscribe(another, info), SA_STATUS_ERR_REQ_INVALID);
}

std::uint64_t gid_guid_in(const ib_mad_notice_t& notice) {
    return boost::endian::load_big_u64(&notice.DataDetails[14]);
}

std::uint64_t gid_prefix_in(const ib_mad_notice_t& notice) {
    return boost::endian::load_big_u64(&notice.DataDetails[6]);
}

// Each subscriber gets the event of a group for all ports last, so the earlier Reports are all
// there were. The switches' own traps reach no subscriber.
TEST_P(SaPartitionVisibility, Reports_SentToSubscribersSharingPKeyOnly) {
    EXPECT_EQ(subscribe(one), 0);
    EXPECT_EQ(subscribe(stranger), 0);
    EXPECT_EQ(join(another, gid(2), ours).status, 0);
    EXPECT_EQ(HcaSoftwareSetLink(hcas.guid(2), 1, FALSE), STATUS_SUCCESS);
    EXPECT_EQ(one.next_report().TrapNumber_DeviceID, SM_MGID_CREATED_TRAP);
    const ib_mad_notice_t out = one.next_report();
    EXPECT_EQ(out.TrapNumber_DeviceID, SM_GID_OUT_OF_SERVICE_TRAP);
    EXPECT_EQ(gid_guid_in(out), gid(2).gid_guid);
    EXPECT_EQ(one.next_report().TrapNumber_DeviceID, SM_MGID_DESTROYED_TRAP);
    EXPECT_EQ(HcaSoftwareSetLink(hcas.guid(2), 1, TRUE), STATUS_SUCCESS);
    const ib_mad_notice_t in = one.next_report();
    EXPECT_EQ(in.TrapNumber_DeviceID, SM_GID_IN_SERVICE_TRAP);
    EXPECT_EQ(gid_guid_in(in), gid(2).gid_guid);
    const sa_response everybodys = join(of_manager, gid(0), 0xFFFF);
    EXPECT_EQ(everybodys.status, 0);
    EXPECT_EQ(gid_prefix_in(stranger.next_report()),
              everybodys.record<sa_mcmember_record_t>().MGID.gid_prefix);
}

IRPVERBS_ON_BOTH_MACHINES(SaPartitionVisibility);

} // namespace
