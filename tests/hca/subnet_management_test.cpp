// The subnet management agents of CAs and switches, over directed routes, in a fabric without
// configuration.
#include "own_qp.hpp"
#include "unmanaged_subnet.hpp"

#include <support/explore_gtest.hpp>

namespace {

using namespace irpverbs::testing;

constexpr USHORT bad_attribute = 0x000C;
constexpr USHORT bad_field = 0x001C;

class SubnetManagement : public unmanaged_subnet {};

TEST_P(SubnetManagement, NodeInfo_IdentifiesNode) {
    const mad host = manager.get(itself, sm_node_info);
    EXPECT_EQ(host.status(), 0);
    EXPECT_EQ(host[smp_data + 2], IB_NODE_CA);
    EXPECT_EQ(host[smp_data + 3], 2);
    EXPECT_EQ(host.get<8>(smp_data + 12), hcas.guid(0));
    EXPECT_EQ(host[smp_data + 36], 1);
    const mad sw = manager.get(switch2, sm_node_info);
    EXPECT_EQ(sw[smp_data + 2], IB_NODE_SWITCH);
    EXPECT_EQ(sw[smp_data + 3], 8);
    EXPECT_EQ(sw[smp_data + 36], 7); // the port at which it arrived
    const mad far = manager.get(host3, sm_node_info);
    EXPECT_EQ(far.get<8>(smp_data + 12), hcas.guid(2));
    const mad name = manager.get(host3, sm_node_description);
    EXPECT_STREQ(reinterpret_cast<const char*>(&name[smp_data]), "host3");
    EXPECT_EQ(manager.get(host1_again, sm_node_info)[smp_data + 36], 2);
}

TEST_P(SubnetManagement, DirectedRouteResponse_ReturnsByItsRoute) {
    const mad response = manager.get(host3, sm_node_info);
    EXPECT_EQ(response.method(), 0x81);
    EXPECT_NE(response.get<2>(4) & 0x8000, 0u); // the direction
    EXPECT_EQ(response[6], 0);                  // the hop pointer
    EXPECT_EQ(response[193], 1);                // input ports of the return path
    EXPECT_EQ(response[194], 7);
    EXPECT_EQ(response[195], 1);
}

TEST_P(SubnetManagement, UnmanagedLink_StaysInit) {
    const port_block now(three, 1);
    EXPECT_EQ(now->State, IB_PORT_INIT);
    EXPECT_EQ(now->Lid, 0);
    HcaSoftwareFlapLink(hcas.guid(2), 1);
    EXPECT_EQ(port_block(three, 1)->State, IB_PORT_INIT);
}

TEST_P(SubnetManagement, SubnetConfiguredBySmps_CarriesDatagrams) {
    configure();
    EXPECT_EQ(port_block(three, 1)->State, IB_PORT_ACTIVE);
    EXPECT_EQ(port_block(three, 1)->Lid, 3);
    EXPECT_EQ(port_block(three, 1)->SmLid, 1);
    mad_client receiver(three, agent_of(vendor_class, {3}));
    mad_client sender(one, agent_of(vendor_class));
    EXPECT_EQ(sender.send(to_lid(3), mad(vendor_class, 3, 77)), STATUS_SUCCESS);
    EXPECT_EQ(receiver.receive().data.get<2>(16), 77u);
    mad_client by_lid(one, agent_of(subnet_class));
    for (const ib_lid_t lid : {ib_lid_t{1}, ib_lid_t{3}, ib_lid_t{11}, ib_lid_t{12}}) {
        const received_mad info =
            by_lid.ask(to_subnet(lid), mad(subnet_class, get_method, sm_port_info));
        EXPECT_EQ(info.data.get<2>(smp_data + 16), lid);
        EXPECT_EQ(info.from.Lid, lid);
    }
}

// A route by LIDs to switch2 and by ports from there, and one by ports to switch1 and by LIDs from
// there.
TEST_P(SubnetManagement, PartlyDirectedRoute_ReachesNode) {
    configure();
    mad second = directed_smp(get_method, sm_node_info, 0, {1});
    second.put<2>(32, 1); // DrSLID
    const received_mad far = manager.agent().ask(to_subnet(12), second);
    EXPECT_EQ(far.data.get<8>(smp_data + 12), hcas.guid(2));
    mad first = directed_smp(get_method, sm_node_info, 0, {1});
    first.put<2>(34, 3); // DrDLID
    const received_mad same = manager.agent().ask(to_subnet(), first);
    EXPECT_EQ(same.data.get<8>(smp_data + 12), hcas.guid(2));
}

// The response enters the switch by the port that its route by LIDs leaves by: ibportstate asks so.
TEST_P(SubnetManagement, PartlyDirectedRouteBackToItself_ReturnsThroughOnePort) {
    configure();
    mad own = directed_smp(get_method, sm_node_info, 0, {1});
    own.put<2>(32, 1); // DrSLID
    const received_mad response = manager.agent().ask(to_subnet(11), own);
    EXPECT_EQ(response.data.get<8>(smp_data + 12), hcas.guid(0));
}

// The loop ends: later requests are answered.
TEST_P(SubnetManagement, LoopInForwardingTables_DatagramIsLost) {
    configure();
    route_of(switch1, {{1, 1}, {3, 7}, {5, 7}, {11, 0}});
    route_of(switch2, {{1, 7}, {3, 1}, {5, 7}, {12, 0}});
    mad_client receiver(three, agent_of(vendor_class, {3}));
    mad_client sender(one, agent_of(vendor_class));
    sender.send(to_lid(5), mad(vendor_class, 3, 1));
    sender.send(to_lid(3), mad(vendor_class, 3, 2));
    EXPECT_EQ(receiver.receive().data.get<2>(16), 2u);
    HCA_SOFTWARE_COUNTERS now{};
    // the switch does not return it through the port at which it arrived
    HcaSoftwareCounters(second_switch, 7, &now);
    EXPECT_EQ(now.RelayErrors, 1u);
}

TEST_P(SubnetManagement, MulticastDatagram_ForwardedByTable) {
    configure();
    mad table;
    table.put<2>(smp_data + 2 * 2, 1u << 7); // MLID 0xC002
    EXPECT_EQ(manager.set(switch1, sm_multicast_table, 0, table).status(), 0);
    table.put<2>(smp_data + 2 * 2, 1u << 1 | 1u << 7);
    EXPECT_EQ(manager.set(switch2, sm_multicast_table, 0, table).status(), 0);
    mad_client receiver(three, agent_of(vendor_class, {3}));
    mad_client sender(one, agent_of(vendor_class));
    sender.send(to_lid(0xC001), mad(vendor_class, 3, 1));
    sender.send(to_lid(0xC002), mad(vendor_class, 3, 2));
    EXPECT_EQ(receiver.receive().data.get<2>(16), 2u);
}

TEST_P(SubnetManagement, SetByManager_RaisesClientEvents) {
    std::vector<std::unique_ptr<verb_call>> events;
    for (int i = 0; i < 5; ++i)
        events.push_back(
            std::make_unique<verb_call>([&](IRP* irp) { return CiGetCaPortEvent(three, 1, irp); }));
    manager.modify(host3, sm_port_info, 1, [](mad& info) {
        info.put<2>(smp_data + 16, 9)
            .put<2>(smp_data + 18, 8)
            .put<8>(smp_data + 8, 0xFEC0ull << 48);
        info[smp_data + 51] |= 0x80;
    });
    mad keys;
    keys.put<2>(smp_data, 0xFFFF).put<2>(smp_data + 2, 0x8123);
    EXPECT_EQ(manager.set(host3, sm_pkey_table, 0, keys).get<2>(smp_data + 2), 0x8123u);
    const IB_ASYNC_EVENT expected[] = {IB_AE_LID_CHANGE, IB_AE_SM_CHANGE, IB_AE_GID_CHANGE,
                                       IB_AE_CLIENT_REREGISTER, IB_AE_PKEY_CHANGE};
    for (std::size_t i = 0; i < events.size(); ++i)
        EXPECT_EQ(events[i]->information(), static_cast<ULONG_PTR>(expected[i]));
    EXPECT_EQ(IbPortGid(&*port_block(three, 1), 0)->gid_prefix, 0xFEC0ull << 48);
}

// PortInfo has the prefix, so a manager that writes the block it read does not undo the change.
TEST_P(SubnetManagement, PrefixChangedByHand_PortInfoHasItAndWritingItBackKeepsIt) {
    constexpr std::uint64_t site_local = 0xFEC0ull << 48;
    const port_block before(three, 1);
    EXPECT_EQ(HcaSoftwareChangePrefix(IbPortGid(&*before, 0)->gid_guid - 1, 1, site_local),
              STATUS_SUCCESS);
    EXPECT_EQ(manager.get(host3, sm_port_info, 1).get<8>(smp_data + 8), site_local);
    manager.modify(host3, sm_port_info, 1, [](mad&) {});
    EXPECT_EQ(IbPortGid(&*port_block(three, 1), 0)->gid_prefix, site_local);
}

// Source: IBA 14.2.5.6 (InitType, InitTypeReply).
TEST_P(SubnetManagement, InitTypeRequest_ManagerSetsReply) {
    IB_MODIFY_PORT asked{};
    asked.InitType = 6;
    const auto ask = [&](IRP* irp) {
        return CiModifyPort(three, 1, IB_MODIFY_PORT_INIT_TYPE, &asked, irp);
    };
    EXPECT_EQ(verb_call(ask).status(), STATUS_SUCCESS);
    EXPECT_EQ(manager.get(host3, sm_port_info, 1)[smp_data + 37] & 0xF, 6);
    EXPECT_EQ(port_block(three, 1)->InitTypeReply, 0);
    manager.modify(host3, sm_port_info, 1, [](mad& info) {
        info[smp_data + 41] = static_cast<UCHAR>(info[smp_data + 41] | 2 << 4);
    });
    EXPECT_EQ(port_block(three, 1)->InitTypeReply, 2);
    EXPECT_EQ(port_block(one, 1)->InitTypeReply, 0);
}

TEST_P(SubnetManagement, InvalidSmp_IsRefusedAndChangesNothing) {
    EXPECT_EQ(manager.get(switch1, 0x7777).status(), bad_attribute);
    EXPECT_EQ(manager.get(itself, sm_switch_info).status(), bad_attribute);
    EXPECT_EQ(manager.set(switch1, sm_node_info, 0, {}).status(), bad_attribute);
    EXPECT_EQ(manager.get(switch1, sm_port_info, 9).status(), bad_field);
    EXPECT_EQ(manager.get(switch1, sm_linear_table, 0x0FFFFFFF).status(), bad_field);
    EXPECT_EQ(manager.get(switch1, sm_multicast_table, 0x10000000).status(), bad_field);
    EXPECT_EQ(manager.get(host3, sm_pkey_table, 1).status(), bad_field);
    EXPECT_EQ(manager.get(host3, sm_guid_info, 0xFFFFFFFF).status(), bad_field);
    EXPECT_EQ(manager.get(switch1, sm_sl_to_vl, 0x0109).status(), bad_field);
    EXPECT_EQ(manager.get(switch1, sm_vl_arbitration, 0).status(), bad_field);
    const mad skipped = manager.modify(host3, sm_port_info, 1, [](mad& info) {
        info[smp_data + 32] = static_cast<UCHAR>(info[smp_data + 32] | IB_PORT_ACTIVE);
        info.put<2>(smp_data + 16, 99);
    });
    EXPECT_EQ(skipped.status(), bad_field);
    EXPECT_EQ(port_block(three, 1)->Lid, 0);
    mad newer = directed_smp(get_method, sm_node_info, 0, {1});
    newer[2] = 2;
    EXPECT_EQ(manager.ask(newer).status(), 0x0004);
}

TEST_P(SubnetManagement, TableWrite_ReadsBackUnchanged) {
    mad data;
    for (std::size_t i = 0; i < 64; ++i)
        data[smp_data + i] = static_cast<UCHAR>(i + 1);
    for (const auto& [attribute, modifier, bytes] : {std::tuple{sm_vl_arbitration, 0x20003u, 64u},
                                                     {sm_sl_to_vl, 0x0102u, 8u},
                                                     {sm_linear_table, 5u, 64u},
                                                     {sm_multicast_table, 3u, 64u},
                                                     {sm_pkey_table, 0x20000u, 64u}}) {
        manager.set(switch1, attribute, modifier, data);
        const mad back = manager.get(switch1, attribute, modifier);
        EXPECT_EQ(back.status(), 0);
        EXPECT_TRUE(std::equal(back.begin() + smp_data, back.begin() + smp_data + bytes,
                               data.begin() + smp_data))
            << attribute;
    }
    manager.set(host3, sm_guid_info, 0, data);
    const mad guids = manager.get(host3, sm_guid_info);
    EXPECT_EQ(guids.get<8>(smp_data), port_block(three, 1)->PortGuid); // its own GUID stays
    EXPECT_EQ(guids.get<8>(smp_data + 8), data.get<8>(smp_data + 8));
}

// Random forwarding is for switches without linear tables.
TEST_P(SubnetManagement, OptionalAttributes_MatchCapabilityMask) {
    for (const route way : {host3, switch1}) {
        const auto capabilities = manager.get(way, sm_port_info).get<4>(smp_data + 20);
        EXPECT_NE(capabilities & IB_PORT_CAP_NOTICE_SUP, 0u);
        EXPECT_NE(capabilities & IB_PORT_CAP_LED_INFO_SUP, 0u);
        EXPECT_EQ(manager.get(way, sm_notice).status(), 0);
        mad on;
        on[smp_data] = 0x80;
        EXPECT_EQ(manager.get(way, sm_led_info)[smp_data], 0);
        EXPECT_EQ(manager.set(way, sm_led_info, 0, on)[smp_data], 0x80);
        EXPECT_EQ(manager.get(way, sm_led_info)[smp_data], 0x80);
        EXPECT_EQ(manager.set(way, sm_led_info, 0, {})[smp_data], 0);
        const mad diagnostics = manager.get(way, sm_vendor_diagnostics);
        EXPECT_EQ(diagnostics.status(), 0);
        EXPECT_EQ(diagnostics.get<2>(smp_data), 0u); // no further page
        EXPECT_EQ(manager.get(way, sm_vendor_diagnostics, 1).status(), bad_field);
        EXPECT_EQ(manager.set(way, sm_vendor_diagnostics, 0, {}).status(), bad_attribute);
        EXPECT_EQ(manager.set(way, sm_info, 1, {}).status(), bad_attribute); // no manager there
        EXPECT_EQ(manager.get(way, sm_random_table).status(), bad_attribute);
        EXPECT_EQ(manager.set(way, sm_random_table, 0, {}).status(), bad_attribute);
    }
    EXPECT_EQ(manager.get(switch1, sm_switch_info).get<2>(smp_data + 2), 0u); // RandomFDBCap
}

// Source: IBA 13.4.10.
TEST_P(SubnetManagement, PendingNotice_IsReadUntilCleared) {
    configure();
    constexpr UCHAR none = 0xFF;
    EXPECT_EQ(manager.get(host3, sm_notice)[smp_data], none);
    for (const USHORT number : {USHORT{130}, USHORT{131}})
        HcaSoftwareReportErrorThreshold(hcas.guid(2), 1, number);
    const mad first = manager.get(host3, sm_notice);
    EXPECT_EQ(first.get<2>(smp_data + 4), 130u);
    EXPECT_EQ(first.get<2>(smp_data + 6), 3u);
    EXPECT_EQ(first.get<2>(smp_data + 8), 2u); // the count, and the toggle bit
    EXPECT_EQ(first[smp_data + 10 + 4], 1);
    mad other = first;
    other[smp_data + 8] ^= 0x80;
    EXPECT_EQ(manager.set(host3, sm_notice, 0, other).get<2>(smp_data + 4), 130u);
    other = first;
    other.put<2>(smp_data + 4, 131);
    EXPECT_EQ(manager.set(host3, sm_notice, 0, other).get<2>(smp_data + 4), 130u);
    const mad second = manager.set(host3, sm_notice, 0, first);
    EXPECT_EQ(second.get<2>(smp_data + 4), 131u);
    EXPECT_EQ(second.get<2>(smp_data + 8), 0x8001u);
    EXPECT_EQ(manager.set(host3, sm_notice, 0, first).get<2>(smp_data + 4), 131u);
    EXPECT_EQ(manager.set(host3, sm_notice, 0, second)[smp_data], none);
    mad_client traps(one, agent_of(subnet_class, {5}));
    for (const ib_guid_t guid : {hcas.guid(2), second_switch}) {
        HcaSoftwareReportErrorThreshold(guid, 1, 129);
        // cleared notices are not repeated
        EXPECT_EQ(traps.receive().data.get<2>(smp_data + 4), 129u);
    }
    EXPECT_EQ(manager.get(switch2, sm_notice).get<2>(smp_data + 8), 1u); // its own notice
}

TEST_P(SubnetManagement, WrongMKey_RefusesSetAndRaisesTrap) {
    configure();
    manager.modify(host3, sm_port_info, 1, [](mad& info) {
        info.put<8>(smp_data, 0x1234);
        info[smp_data + 34] |= 0x40; // readers see a zero key
    });
    EXPECT_EQ(manager.get(host3, sm_port_info, 1).get<8>(smp_data), 0u);
    mad_client by_lid(one, agent_of(subnet_class, {5})); // receives the trap
    mad wrong = directed_smp(set_method, sm_pkey_table, 0, {1, 7, 1});
    EXPECT_EQ(manager.agent().send(to_subnet(), wrong), STATUS_SUCCESS);
    const received_mad notice = by_lid.receive();
    EXPECT_EQ(notice.data.get<2>(smp_data + 4), 256u);
    EXPECT_EQ(notice.data.get<2>(smp_data + 10 + 2), 3u);
    mad repress = notice.data;
    repress[3] = 7;
    repress.put<8>(smp_mkey, 0x1234);
    EXPECT_EQ(by_lid.send(to_subnet(notice.from.Lid), repress), STATUS_SUCCESS);
    manager.mkey = 0x1234;
    // first read of the key: the response to the Set had none
    const mad now = manager.get(host3, sm_port_info, 1);
    EXPECT_EQ(now.get<8>(smp_data), 0x1234u);
    EXPECT_EQ(now.get<2>(smp_data + 44), 1u);
    EXPECT_EQ(port_block(three, 1)->MKeyViolations, 1);
}

// IBA 14.2.5.6, PortPhysicalState: how ibportstate resets a link.
TEST_P(SubnetManagement, LinkThatIsToPoll_GoesDownAndTrainsAnew) {
    configure();
    HCA_SOFTWARE_COUNTERS before{}, after{};
    EXPECT_EQ(HcaSoftwareCounters(hcas.guid(2), 1, &before), STATUS_SUCCESS);
    const mad done = manager.modify(switch2, sm_port_info, 1, [](mad& info) {
        info[smp_data + 33] = static_cast<UCHAR>(info[smp_data + 33] | IB_PORT_PHYS_POLLING << 4);
    });
    EXPECT_EQ(done.status(), 0);
    EXPECT_EQ(HcaSoftwareCounters(hcas.guid(2), 1, &after), STATUS_SUCCESS);
    EXPECT_EQ(after.LinkDowned, before.LinkDowned + 1);
    EXPECT_EQ(port_block(three, 1)->State, IB_PORT_INIT);
    EXPECT_EQ(port_block(three, 1)->PhysicalState, IB_PORT_PHYS_LINK_UP);
}

TEST_P(SubnetManagement, LinkLost_TrapRepeatsUntilRepressed) {
    configure();
    mad_client traps(one, agent_of(subnet_class, {5}));
    HcaSoftwareFlapLink(hcas.guid(2), 1);
    const received_mad first = traps.receive();
    EXPECT_EQ(first.data.get<2>(smp_data + 4), 128u);
    EXPECT_EQ(first.data.get<2>(smp_data + 10), 12u);
    const received_mad again = traps.receive();
    EXPECT_EQ(again.data.get<8>(8), first.data.get<8>(8));
    EXPECT_NE(manager.get(switch2, sm_switch_info)[smp_data + 11] & 4, 0);
    mad repress = again.data;
    repress[3] = 7;
    EXPECT_EQ(traps.send(to_subnet(again.from.Lid), repress), STATUS_SUCCESS);
    manager.get(switch2, sm_node_info); // the SMP has arrived before this is answered
    HcaSoftwarePortError(hcas.guid(0), 1);
    manager.bring_up(switch1, 1);
    EXPECT_NE(traps.receive().data.get<2>(smp_data + 4), 0u);
}

TEST_P(SubnetManagement, PortChange_RaisesItsTrap) {
    configure();
    mad_client traps(one, agent_of(subnet_class, {5}));
    const auto expect_trap = [&](USHORT number) {
        const received_mad notice = traps.receive();
        EXPECT_EQ(notice.data.get<2>(smp_data + 4), number);
        EXPECT_EQ(notice.data.get<2>(smp_data + 6), notice.from.Lid);
        mad repress = notice.data;
        repress[3] = 7;
        EXPECT_EQ(traps.send(to_subnet(notice.from.Lid), repress), STATUS_SUCCESS);
        return notice.data;
    };
    for (const USHORT number : {USHORT{129}, USHORT{130}, USHORT{131}}) {
        EXPECT_EQ(HcaSoftwareReportErrorThreshold(hcas.guid(2), 1, number), STATUS_SUCCESS);
        EXPECT_EQ(expect_trap(number)[smp_data + 10 + 4], 1);
    }
    EXPECT_EQ(HcaSoftwareReportErrorThreshold(hcas.guid(2), 1, 132), STATUS_INVALID_PARAMETER);
    IB_MODIFY_PORT capability{};
    capability.SetCapabilities = IB_PORT_CAP_CM_SUP;
    verb_call([&](IRP* irp) {
        return CiModifyPort(three, 1, IB_MODIFY_PORT_CAPABILITIES, &capability, irp);
    });
    EXPECT_NE(expect_trap(144).get<4>(smp_data + 10 + 6) & IB_PORT_CAP_CM_SUP, 0u);
    IB_MODIFY_CA image{};
    image.SystemImageGuid = 0x77;
    verb_call(
        [&](IRP* irp) { return CiModifyCa(three, IB_MODIFY_CA_SYSTEM_IMAGE_GUID, &image, irp); });
    EXPECT_EQ(expect_trap(145).get<8>(smp_data + 10 + 6), 0x77u);
}

// The trap comes from the destination port and from a switch that enforces partitions.
TEST_P(SubnetManagement, QKeyOrPKeyViolation_RaisesTrap) {
    configure();
    mad_client traps(one, agent_of(subnet_class, {5}));
    mad_client sender(one, agent_of(vendor_class));
    IB_MAD_ADDRESS to = to_lid(3);
    to.QKey = 5;
    sender.send(to, mad(vendor_class, 3, 1));
    EXPECT_EQ(traps.receive().data.get<2>(smp_data + 4), 258u);
    mad keys;
    keys.put<2>(smp_data, 0xFFFF).put<2>(smp_data + 2, 0x8123);
    EXPECT_EQ(manager.set(itself, sm_pkey_table, 0, keys).status(), 0);
    EXPECT_EQ(manager
                  .modify(switch2, sm_port_info, 1,
                          [](mad& info) {
                              info[smp_data + 43] |= 4; // outbound
                          })
                  .status(),
              0);
    to = to_lid(3);
    to.PKeyIndex = 1;
    sender.send(to, mad(vendor_class, 3, 1));
    mad notice;
    do // the first trap is repeated
        notice = traps.receive().data;
    while (notice.get<2>(smp_data + 4) == 258);
    EXPECT_EQ(notice.get<2>(smp_data + 4), 259u);
    EXPECT_EQ(notice.get<2>(smp_data + 10 + 6), 0x8123u);
    EXPECT_EQ(notice.get<2>(smp_data + 10 + 48), 12u);
    EXPECT_EQ(notice[smp_data + 10 + 50], 1);
}

// Both ports are in both partitions, the queue pair is in one.
TEST_P(SubnetManagement, AgentsOwnQp_BelongsToOnePartition) {
    configure();
    mad keys;
    keys.put<2>(smp_data, 0xFFFF).put<2>(smp_data + 2, 0x8123);
    for (const route way : {itself, host3})
        EXPECT_EQ(manager.set(way, sm_pkey_table, 0, keys).status(), 0);
    mad_client traps(one, agent_of(subnet_class, {5}));
    mad_client receiver(three, own_qp(IB_MAD_QP_OWN_MADS));
    mad_client stranger(one, own_qp(IB_MAD_QP_OWN_MADS, own_qkey, 0x8123));
    mad_client member(one, own_qp(IB_MAD_QP_OWN_MADS));
    IB_MAD_ADDRESS to = to_lid(3);
    to.Qp = number_of(receiver);
    to.QKey = own_qkey;
    stranger.send(to, mad(vendor_class, 3, 1));
    const mad notice = traps.receive().data;
    EXPECT_EQ(notice.get<2>(smp_data + 4), 257u);
    EXPECT_EQ(notice.get<4>(smp_data + 10 + 6), 0x8123u);
    EXPECT_EQ(notice.get<4>(smp_data + 10 + 10), number_of(stranger));
    EXPECT_EQ(notice.get<4>(smp_data + 10 + 14), number_of(receiver));
    member.send(to, mad(vendor_class, 3, 2));
    EXPECT_EQ(receiver.receive().data.get<2>(16), 2u);
    EXPECT_EQ(port_block(three, 1)->PKeyViolations, 1);
    keys.put<2>(smp_data, 0x8123).put<2>(smp_data + 2, 0xFFFF); // the entries are swapped
    for (const route way : {itself, host3})
        EXPECT_EQ(manager.set(way, sm_pkey_table, 0, keys).status(), 0);
    member.send(to, mad(vendor_class, 3, 3));
    const received_mad seen = receiver.receive();
    EXPECT_EQ(seen.data.get<2>(16), 3u);
    EXPECT_EQ(seen.from.PKeyIndex, 1);
    keys.put<2>(smp_data + 2, 0);
    EXPECT_EQ(manager.set(itself, sm_pkey_table, 0, keys).status(), 0);
    EXPECT_EQ(member.send(to, mad(vendor_class, 3, 4)), STATUS_INVALID_PARAMETER);
}

TEST_P(SubnetManagement, DatagramLongerThanLinkMtu_IsDropped) {
    configure();
    EXPECT_EQ(manager
                  .modify(switch2, sm_port_info, 1,
                          [](mad& info) {
                              info[smp_data + 36] = IB_MTU_2048 << 4 | (info[smp_data + 36] & 0xF);
                          })
                  .status(),
              0);
    const mad_client sender(one, own_qp(IB_MAD_QP_OWN_RAW));
    const mad_client receiver(three, own_qp(IB_MAD_QP_OWN_RAW));
    IB_MAD_ADDRESS to = to_lid(3);
    to.Qp = number_of(receiver);
    to.QKey = own_qkey;
    EXPECT_EQ(send_raw(sender, to, counted(2049)), STATUS_SUCCESS);
    EXPECT_EQ(send_raw(sender, to, counted(2048)), STATUS_SUCCESS);
    EXPECT_EQ(receive_raw(receiver), counted(2048));
}

TEST_P(SubnetManagement, SmInfoGet_RegisteredManagerOrNodeResponds) {
    EXPECT_EQ(manager.get(host3, sm_info).get<8>(smp_data), port_block(three, 1)->PortGuid);
    mad_client other(three, agent_of(directed_class, {get_method}));
    EXPECT_EQ(manager.agent().send(to_subnet(), directed_smp(get_method, sm_info, 0, {1, 7, 1})),
              STATUS_SUCCESS);
    received_mad asked = other.receive();
    asked.data[3] = 0x81;
    asked.data[4] |= 0x80; // sent back as a response
    asked.data[smp_data + 20] = 0x73;
    EXPECT_EQ(other.send(asked.from, asked.data), STATUS_SUCCESS);
    EXPECT_EQ(manager.agent().receive().data[smp_data + 20], 0x73);
}

IRPVERBS_ON_BOTH_MACHINES(SubnetManagement);

struct counted {
    int responses = 0;
    static void note(IB_MAD_AGENT*, void* context, const IB_MAD_RECEIVED* received) {
        EXPECT_EQ(static_cast<const UCHAR*>(received->Data)[3], 0x81);
        ++static_cast<counted*>(context)->responses;
    }
};

// Each request is answered once or, when its link fails, not at all; the last write wins.
TEST(SubnetManagementRaces, TwoManagersSetDuringFlap_EachReceivesOneResponseAtMost) {
    using namespace irpverbs::dispatch;
    explore_options options;
    options.random_runs = 200;
    options.pct_runs = 200;
    expect_explored(options, [](sim_machine& sim) {
        attached hcas("software:?unmanaged");
        const open_hca ca(hcas.fdo(0));
        counted got;
        const IB_MAD_DISPATCH calls{counted::note};
        const IB_MAD_AGENT_ATTR attr = agent_of(directed_class);
        IB_MAD_AGENT* agents[2]{};
        for (IB_MAD_AGENT*& each : agents)
            each = verb_call([&](IRP* irp) {
                       return CiRegisterMadAgent(ca, &attr, &got, &calls, irp);
                   }).object<IB_MAD_AGENT>();
        for (int i = 0; i < 2; ++i)
            sim.spawn(i == 0 ? "first" : "second", [&, i] {
                mad smp = directed_smp(set_method, sm_port_info, 1, {1, 2});
                smp.put<2>(smp_data + 16, static_cast<ib_lid_t>(10 + i));
                smp[smp_data + 32] = IB_PORT_ARMED;
                IB_MAD_SEND sent{};
                sent.To = to_subnet();
                sent.Data = smp.data();
                sent.Length = IB_MAD_SIZE;
                verb_call([&](IRP* irp) { return CiSendMad(agents[i], &sent, irp); });
            });
        sim.spawn("flap", [&] { HcaSoftwareFlapLink(hcas.guid(1), 1); });
        sim.run();
        EXPECT_LE(got.responses, 2);
        {
            const open_hca other(hcas.fdo(1));
            const ib_lid_t lid = other.lid();
            EXPECT_TRUE(got.responses == 0 || lid == 10 || lid == 11);
        }
        for (IB_MAD_AGENT* each : agents)
            EXPECT_EQ(verb_call([&](IRP* irp) { return CiDeregisterMadAgent(each, irp); }).status(),
                      STATUS_SUCCESS);
    });
}

} // namespace
