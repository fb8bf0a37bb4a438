// The responses of the subnet administration to a client on the fabric.
#include "administered_subnet.hpp"

#include <boost/endian/conversion.hpp>

#include <bit>
#include <map>
#include <set>

namespace {

using namespace irpverbs::testing;

class SaServer : public AdministeredSubnet {};
class SaServerTimes : public AdministeredSubnet {};

TEST_P(SaServer, TableOfEachAttribute_CoversWholeFabric) {
    EXPECT_EQ(client.table<sa_node_record_t>().size(), 7u);
    const auto ports = client.table<sa_portinfo_record_t>();
    EXPECT_EQ(ports.size(), 5u + 2 * 9);
    for (const sa_portinfo_record_t& each : ports)
        EXPECT_EQ(each.PortInfo.ClientReregister, 0);
    EXPECT_EQ(client.table<sa_switchinfo_record_t>().size(), 2u);
    EXPECT_EQ(client.table<sa_linearft_record_t>().size(), 2u);
    EXPECT_EQ(client.table<sa_link_record_t>().size(), 2u * (5 + 2));
    EXPECT_EQ(client.table<sa_guidinfo_record_t>().size(), 7u * 4);
    const auto managers = client.table<sa_sminfo_record_t>();
    ASSERT_EQ(managers.size(), 1u);
    EXPECT_EQ(managers[0].LID, lid(0));
    EXPECT_EQ(managers[0].SMInfo.GUID, gid(0).gid_guid);
    EXPECT_EQ(managers[0].SMInfo.SMState, SM_STATE_MASTER);
}

TEST_P(SaServer, ComponentMask_SelectsRecords) {
    sa_node_record_t wanted{};
    wanted.NodeInfo.NodeType = SM_NODE_TYPE_SWITCH;
    const auto switches = client.table(wanted, SA_NODEINFO_COMPMASK_NODETYPE);
    ASSERT_EQ(switches.size(), 2u);
    EXPECT_STREQ(reinterpret_cast<const char*>(switches[0].NodeDescription.NodeString), "switch1");
    wanted = {};
    wanted.LID = lid(3);
    const sa_response one =
        client.ask(SA_SUBN_ADM_GET, SA_NODERECORD_ATTRID, wanted, SA_NODEINFO_COMPMASK_NODELID);
    EXPECT_EQ(one.status, 0);
    EXPECT_EQ(one.record<sa_node_record_t>().NodeInfo.NodeGUID, hcas.guid(3));
}

TEST_P(SaServer, CapabilityMaskWithBit31OfTheModifier_SelectsPortsThatHaveItsBits) {
    sa_portinfo_record_t wanted{};
    wanted.PortInfo.CapabilityMask = IB_PORT_CAP_IS_SM;
    EXPECT_TRUE(client.table(wanted, SA_PORTINFO_COMPMASK_CAPMASK).empty());
    client.modifier = 0x8000'0000;
    const auto managers = client.table(wanted, SA_PORTINFO_COMPMASK_CAPMASK);
    ASSERT_EQ(managers.size(), 1u);
    EXPECT_EQ(managers[0].EndportLID, lid(0));
    wanted.PortInfo.CapabilityMask |= IB_PORT_CAP_SM_DISABLED;
    EXPECT_TRUE(client.table(wanted, SA_PORTINFO_COMPMASK_CAPMASK).empty());
}

TEST_P(SaServer, Get_ReturnsOneRecordOrError) {
    sa_node_record_t wanted{};
    const auto status_of = [&](std::uint8_t method, std::uint16_t attribute,
                               std::uint64_t components) {
        return client.ask(method, attribute, wanted, components).status;
    };
    EXPECT_EQ(status_of(SA_SUBN_ADM_GET, SA_NODERECORD_ATTRID, 0), SA_STATUS_ERR_TOO_MANY_RECORDS);
    wanted.LID = 0xbff0;
    EXPECT_EQ(status_of(SA_SUBN_ADM_GET, SA_NODERECORD_ATTRID, SA_NODEINFO_COMPMASK_NODELID),
              SA_STATUS_ERR_NO_RECORDS);
    EXPECT_TRUE(client.table(wanted, SA_NODEINFO_COMPMASK_NODELID).empty());
    EXPECT_EQ(status_of(SA_SUBN_ADM_GET, 0x7777, 0), MAD_STATUS_UNSUPP_METHOD_ATTR);
    EXPECT_EQ(status_of(SA_SUBN_ADM_SET, SA_NODERECORD_ATTRID, 0), MAD_STATUS_UNSUPP_METHOD_ATTR);
    EXPECT_EQ(status_of(SA_SUBN_ADM_GET_TABLE, SA_CLASSPORTINFO_ATTRID, 0),
              MAD_STATUS_UNSUPP_METHOD_ATTR);
    const sa_response ports = client.ask(SA_SUBN_ADM_GET, SA_CLASSPORTINFO_ATTRID, wanted, 0);
    EXPECT_EQ(ports.record<ib_mad_classportinfo_t>().ClassVersion, 2);
    EXPECT_EQ(ports.record<ib_mad_classportinfo_t>().CapabilityMask & 0x700, 0x700);
}

TEST_P(SaServer, PKeyTables_RequireSmKeyAndWrongKeyIsIgnored) {
    const sa_pkey_table_record_t wanted{};
    const auto ask = [&] {
        return client.ask(SA_SUBN_ADM_GET_TABLE, SA_PARTITIONRECORD_ATTRID, wanted, 0);
    };
    EXPECT_EQ(ask().status, SA_STATUS_ERR_REQ_INVALID);
    client.key = 1;
    const auto tables = ask().records<sa_pkey_table_record_t>();
    EXPECT_EQ(tables.size(), 7u);
    EXPECT_EQ(tables.at(0).P_KeyTable.P_KeyTableBlock[0], 0xFFFF);
    client.key = 2;
    EXPECT_EQ(ask().code, IBMF_TRANS_TIMEOUT);
}

TEST_P(SaServer, PathQueryFromOnePort_ReturnsPathToEveryPort) {
    sa_path_record_t wanted{};
    wanted.SGID = gid(2);
    const auto paths = client.table(wanted, SA_PR_COMPMASK_SGID);
    std::set<ib_lid_t> ends;
    for (const sa_path_record_t& path : paths) {
        EXPECT_EQ(path.SLID, lid(2));
        EXPECT_EQ(path.P_Key, 0xFFFF);
        EXPECT_TRUE(ends.insert(path.DLID).second);
    }
    EXPECT_EQ(paths.size(), 7u);
    EXPECT_EQ(client.table<sa_path_record_t>().size(), 7u * 7);

    wanted.DGID = gid(3);
    const sa_response one = client.ask(SA_SUBN_ADM_GET, SA_PATHRECORD_ATTRID, wanted,
                                       SA_PR_COMPMASK_SGID | SA_PR_COMPMASK_DGID);
    EXPECT_EQ(one.status, 0);
    EXPECT_EQ(one.record<sa_path_record_t>().DLID, lid(3));
    wanted.DGID.gid_guid = 0x77;
    EXPECT_EQ(client
                  .ask(SA_SUBN_ADM_GET, SA_PATHRECORD_ATTRID, wanted,
                       SA_PR_COMPMASK_SGID | SA_PR_COMPMASK_DGID)
                  .status,
              SA_STATUS_ERR_NO_RECORDS);
}

TEST_P(SaServer, MultiPathQuery_ReturnsPathsOfEachPair) {
    sa_multipath_record_t wanted{};
    wanted.SGIDCount = 2;
    wanted.DGIDCount = 1;
    const std::vector<ib_gid_t> gids{gid(0), gid(1), gid(3)};
    std::vector<std::uint8_t> data(200);
    ASSERT_NE(irpverbs::saa::pack_multipath(wanted, gids, data), 0u);
    const auto ask = [&](std::uint64_t components) {
        return client.ask(SA_SUBN_ADM_GET_MULTI, SA_MULTIPATHRECORD_ATTRID, data, components,
                          IBMF_MSG_TRANS_FLAG_SEQ | IBMF_MSG_TRANS_FLAG_RMPP);
    };
    const sa_response got = ask(SA_MPR_COMPMASK_SGIDCOUNT | SA_MPR_COMPMASK_DGIDCOUNT);
    EXPECT_EQ(got.code, IBMF_SUCCESS);
    EXPECT_EQ(got.attribute, SA_PATHRECORD_ATTRID);
    const auto paths = got.records<sa_path_record_t>();
    ASSERT_EQ(paths.size(), 2u);
    EXPECT_EQ(paths[0].SLID, lid(0));
    EXPECT_EQ(paths[1].SLID, lid(1));
    EXPECT_EQ(paths[1].DLID, lid(3));
    EXPECT_EQ(ask(SA_MPR_COMPMASK_SGIDCOUNT).status, SA_STATUS_ERR_REQ_INSUFFICIENT_COMPONENTS);
    EXPECT_EQ(ask(SA_MPR_COMPMASK_DGIDCOUNT).attribute, SA_PATHRECORD_ATTRID);
}

TEST_P(SaServer, ServiceRecord_RegisteredFoundAndDeleted) {
    sa_service_record_t service{};
    service.ServiceID = 0x1234;
    service.ServiceGID = gid(2);
    service.ServiceLease = 100;
    service.ServiceName[0] = 'x';
    const auto ask = [&](std::uint8_t method) {
        return client
            .ask(method, SA_SERVICERECORD_ATTRID, service,
                 SA_SR_COMPMASK_ID | SA_SR_COMPMASK_GID | SA_SR_COMPMASK_LEASE |
                     SA_SR_COMPMASK_NAME)
            .status;
    };
    EXPECT_EQ(ask(SA_SUBN_ADM_SET), 0);
    sa_service_record_t wanted{};
    wanted.ServiceName[0] = 'x';
    const auto found = client.table(wanted, SA_SR_COMPMASK_NAME);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].ServiceID, 0x1234u);
    EXPECT_LE(found[0].ServiceLease, 100u);
    service.ServiceP_Key = 0xFFFF;
    EXPECT_EQ(ask(SA_SUBN_ADM_DELETE), 0);
    EXPECT_EQ(ask(SA_SUBN_ADM_DELETE), SA_STATUS_ERR_NO_RECORDS);
    EXPECT_TRUE(client.table(wanted, SA_SR_COMPMASK_NAME).empty());
}

ib_mad_informinfo_t subscription_to(std::uint16_t trap) {
    ib_mad_informinfo_t info{};
    info.LIDRangeBegin = 0xFFFF;
    info.IsGeneric = 1;
    info.Subscribe = 1;
    info.Type = 0xFFFF;
    info.TrapNumber_DeviceID = trap;
    info.ProducerType_VendorID = 0xFFFFFF;
    return info;
}

// F6.
TEST_P(SaServer, ResponseToASet_HasTheStoredRecord) {
    sa_service_record_t service{};
    service.ServiceID = 0x99;
    service.ServiceGID = gid(2);
    service.ServiceP_Key = 0x8001;
    service.ServiceLease = 200;
    constexpr std::uint64_t identity = SA_SR_COMPMASK_ID | SA_SR_COMPMASK_GID;
    const sa_response set = client.ask(SA_SUBN_ADM_SET, SA_SERVICERECORD_ATTRID, service, identity);
    EXPECT_EQ(set.status, 0);
    const auto stored = client.table<sa_service_record_t>();
    ASSERT_EQ(stored.size(), 1u);
    for (const auto& each : {set.record<sa_service_record_t>(), stored[0]}) {
        EXPECT_EQ(each.ServiceP_Key, 0xFFFF);
        EXPECT_EQ(each.ServiceLease, SA_SR_INDEFINITE_SERVICE_LEASE);
    }
    const sa_response subscribed =
        client.ask(SA_SUBN_ADM_SET, SA_INFORMINFO_ATTRID, subscription_to(64), 0);
    EXPECT_EQ(subscribed.record<ib_mad_informinfo_t>().QPN, 1u);
    EXPECT_EQ(client.table<sa_informinfo_record_t>().at(0).InformInfo.QPN, 1u);
}

TEST_P(SaServer, ServiceWithALeaseOf0_IsRefused) {
    sa_service_record_t service{};
    service.ServiceID = 0x99;
    service.ServiceGID = gid(2);
    EXPECT_EQ(client
                  .ask(SA_SUBN_ADM_SET, SA_SERVICERECORD_ATTRID, service,
                       SA_SR_COMPMASK_ID | SA_SR_COMPMASK_GID | SA_SR_COMPMASK_LEASE)
                  .status,
              SA_STATUS_ERR_REQ_INVALID);
    EXPECT_TRUE(client.table<sa_service_record_t>().empty());
}

sa_mcmember_record_t membership_of(const ib_gid_t& port) {
    sa_mcmember_record_t record{};
    record.MGID = {0xff12401bffff0000, 0x42};
    record.PortGID = port;
    record.Q_Key = IB_QP1_QKEY;
    record.P_Key = 0xFFFF;
    record.JoinState = SA_MC_JOIN_FULL;
    return record;
}

// A member is reachable as soon as it has the response to its join.
TEST_P(SaServer, GroupJoined_DatagramsReachMemberByMlid) {
    constexpr std::uint64_t components = SA_MC_COMPMASK_MGID | SA_MC_COMPMASK_PORTGID |
                                         SA_MC_COMPMASK_JOINSTATE | SA_MC_COMPMASK_QKEY |
                                         SA_MC_COMPMASK_TCLASS | SA_MC_COMPMASK_PKEY |
                                         SA_MC_COMPMASK_FLOWLABEL | SA_MC_COMPMASK_SL;
    sa_client other(hcas.guid(1), lid(0));
    const sa_response joined =
        client.ask(SA_SUBN_ADM_SET, SA_MCMEMBERRECORD_ATTRID, membership_of(gid(2)), components);
    ASSERT_EQ(joined.status, 0);
    ASSERT_EQ(
        other.ask(SA_SUBN_ADM_SET, SA_MCMEMBERRECORD_ATTRID, membership_of(gid(1)), components)
            .status,
        0);
    const auto group = joined.record<sa_mcmember_record_t>();
    EXPECT_GE(group.MLID, 0xC000);
    const open_hca near(hcas.fdo(1));
    const open_hca far(hcas.fdo(2));
    mad_client receiver(far, agent_of(vendor_class, {3}));
    mad_client sender(near, agent_of(vendor_class));
    sender.send(to_lid(group.MLID), mad(vendor_class, 3, 5));
    EXPECT_EQ(receiver.receive().data.get<2>(16), 5u);
    EXPECT_EQ(client.table<sa_mcmember_record_t>().size(), 2u)
        << "one record of each group, the broadcast group's among them";
    EXPECT_EQ(
        client.ask(SA_SUBN_ADM_DELETE, SA_MCMEMBERRECORD_ATTRID, membership_of(gid(2)), components)
            .status,
        0);
    EXPECT_EQ(
        client.ask(SA_SUBN_ADM_DELETE, SA_MCMEMBERRECORD_ATTRID, membership_of(gid(2)), components)
            .status,
        SA_STATUS_ERR_REQ_INVALID);
}

// host2 and host3 are at ports of two switches.
TEST_P(SaServer, GroupJoined_MulticastTablesHoldItsTree) {
    EXPECT_TRUE(client.table<sa_multicastft_record_t>().empty());
    constexpr std::uint64_t components = SA_MC_COMPMASK_MGID | SA_MC_COMPMASK_PORTGID |
                                         SA_MC_COMPMASK_JOINSTATE | SA_MC_COMPMASK_QKEY |
                                         SA_MC_COMPMASK_TCLASS | SA_MC_COMPMASK_PKEY |
                                         SA_MC_COMPMASK_FLOWLABEL | SA_MC_COMPMASK_SL;
    sa_client other(hcas.guid(1), lid(0));
    ASSERT_EQ(
        client.ask(SA_SUBN_ADM_SET, SA_MCMEMBERRECORD_ATTRID, membership_of(gid(2)), components)
            .status,
        0);
    ASSERT_EQ(
        other.ask(SA_SUBN_ADM_SET, SA_MCMEMBERRECORD_ATTRID, membership_of(gid(1)), components)
            .status,
        0);
    const auto tables = client.table<sa_multicastft_record_t>();
    ASSERT_EQ(tables.size(), 2u);
    std::set<ib_lid_t> switches;
    for (const sa_multicastft_record_t& each : tables) {
        switches.insert(each.LID);
        EXPECT_EQ(each.BlockNum, 0);
        EXPECT_EQ(each.Position, 0);
        EXPECT_EQ(std::popcount(each.MulticastFT.PortMaskBlock[1]), 2); // a host, and a cable
    }
    EXPECT_EQ(switches.size(), 2u);
    sa_multicastft_record_t wanted{};
    wanted.LID = *switches.begin();
    EXPECT_EQ(client.table(wanted, SA_MFT_COMPMASK_MFTLID).size(), 1u);
}

std::uint64_t gid_guid_in(const ib_mad_notice_t& notice) {
    return boost::endian::load_big_u64(&notice.DataDetails[14]);
}

// A cable is pulled: the switch sends a trap, and the next sweep finds no host there.
TEST_P(SaServer, HostUnpluggedAndReplugged_ReportsAreSent) {
    for (const auto trap :
         {std::uint16_t{SM_GID_IN_SERVICE_TRAP}, std::uint16_t{SM_GID_OUT_OF_SERVICE_TRAP}})
        EXPECT_EQ(
            client.ask(SA_SUBN_ADM_SET, SA_INFORMINFO_ATTRID, subscription_to(trap), 0).status, 0);
    EXPECT_EQ(client.table<sa_informinfo_record_t>().size(), 2u);
    const ib_gid_t gone = gid(3);
    EXPECT_EQ(HcaSoftwareSetLink(hcas.guid(3), 1, FALSE), STATUS_SUCCESS);
    const ib_mad_notice_t out = client.next_report();
    EXPECT_EQ(out.TrapNumber_DeviceID, SM_GID_OUT_OF_SERVICE_TRAP);
    EXPECT_EQ(gid_guid_in(out), gone.gid_guid);
    EXPECT_EQ(out.IssuerLID, lid(0));
    EXPECT_EQ(client.table<sa_node_record_t>().size(), 6u);
    EXPECT_EQ(HcaSoftwareSetLink(hcas.guid(3), 1, TRUE), STATUS_SUCCESS);
    const ib_mad_notice_t in = client.next_report();
    EXPECT_EQ(in.TrapNumber_DeviceID, SM_GID_IN_SERVICE_TRAP);
    EXPECT_EQ(gid_guid_in(in), gone.gid_guid);
    EXPECT_EQ(port_block(open_hca(hcas.fdo(3)), 1)->State, IB_PORT_ACTIVE);
    EXPECT_EQ(client.table<sa_node_record_t>().size(), 7u);
}

// The manager forwards the traps of nodes to the subscribers.
TEST_P(SaServer, TrapsOfNodes_ForwardedToSubscribers) {
    for (const auto trap : {std::uint16_t{128}, std::uint16_t{144}, std::uint16_t{145}})
        EXPECT_EQ(
            client.ask(SA_SUBN_ADM_SET, SA_INFORMINFO_ATTRID, subscription_to(trap), 0).status, 0);
    const open_hca opened(hcas.fdo(3));
    IB_MODIFY_PORT port{};
    port.SetCapabilities = IB_PORT_CAP_CM_SUP;
    verb_call(
        [&](IRP* irp) { return CiModifyPort(opened, 1, IB_MODIFY_PORT_CAPABILITIES, &port, irp); });
    const ib_mad_notice_t capabilities = client.next_report();
    EXPECT_EQ(capabilities.TrapNumber_DeviceID, 144);
    EXPECT_EQ(capabilities.IssuerLID, lid(3));
    IB_MODIFY_CA image{};
    image.SystemImageGuid = 0x99;
    verb_call(
        [&](IRP* irp) { return CiModifyCa(opened, IB_MODIFY_CA_SYSTEM_IMAGE_GUID, &image, irp); });
    const ib_mad_notice_t renamed = client.next_report();
    EXPECT_EQ(renamed.TrapNumber_DeviceID, 145);
    EXPECT_EQ(renamed.IssuerLID, lid(3));
    EXPECT_EQ(HcaSoftwareSetLink(hcas.guid(3), 1, FALSE), STATUS_SUCCESS);
    const ib_mad_notice_t changed = client.next_report();
    EXPECT_EQ(changed.TrapNumber_DeviceID, 128);
    EXPECT_NE(changed.IssuerLID, lid(3));
}

// A slow subscriber would not learn otherwise that events are missing.
TEST_P(SaServerTimes, ReportGetsNoResponse_SubscriptionEndsAndPortIsAskedToReregister) {
    const std::uint16_t trap = SM_GID_OUT_OF_SERVICE_TRAP;
    EXPECT_EQ(client.ask(SA_SUBN_ADM_SET, SA_INFORMINFO_ATTRID, subscription_to(trap), 0).status,
              0);
    const open_hca host(hcas.fdo(2));
    const auto next_event = [&](verb_call& call) {
        call.send([&](IRP* irp) { return CiGetCaPortEvent(host, 1, irp); });
    };
    verb_call reregister;
    next_event(reregister);
    client.ignores_reports = true;
    EXPECT_EQ(HcaSoftwareSetLink(hcas.guid(3), 1, FALSE), STATUS_SUCCESS);
    EXPECT_EQ(reregister.status(), STATUS_SUCCESS);
    EXPECT_EQ(reregister.information(), static_cast<ULONG_PTR>(IB_AE_CLIENT_REREGISTER));
    EXPECT_TRUE(client.table<sa_informinfo_record_t>().empty());
}

// The subscription ends with the port. The repeat of an earlier Report would remove a host from the
// view of a client that has subscribed and queried since.
TEST_P(SaServerTimes, SubscriberUnpluggedAndReplugged_EarlierReportIsNotRepeated) {
    const auto subscribe = [&] {
        const auto info = subscription_to(SM_GID_OUT_OF_SERVICE_TRAP);
        return client.ask(SA_SUBN_ADM_SET, SA_INFORMINFO_ATTRID, info, 0).status;
    };
    const auto end_ports_become = [&](std::uint32_t wanted) {
        return eventually([&] { return manager->status().end_ports == wanted; });
    };
    EXPECT_EQ(subscribe(), 0);
    client.ignores_reports = true;
    EXPECT_EQ(HcaSoftwareSetLink(hcas.guid(3), 1, FALSE), STATUS_SUCCESS);
    EXPECT_TRUE(end_ports_become(6));
    EXPECT_EQ(HcaSoftwareSetLink(hcas.guid(2), 1, FALSE), STATUS_SUCCESS);
    EXPECT_TRUE(end_ports_become(5));
    client.ignores_reports = false;
    EXPECT_EQ(HcaSoftwareSetLink(hcas.guid(2), 1, TRUE), STATUS_SUCCESS);
    EXPECT_TRUE(end_ports_become(6));
    EXPECT_EQ(subscribe(), 0);
    EXPECT_EQ(HcaSoftwareSetLink(hcas.guid(1), 1, FALSE), STATUS_SUCCESS);
    EXPECT_EQ(gid_guid_in(client.next_report()), gid(1).gid_guid);
}

IRPVERBS_ON_BOTH_MACHINES(SaServer);
IRPVERBS_ON_THE_SIMULATED_MACHINE(SaServerTimes);

} // namespace
