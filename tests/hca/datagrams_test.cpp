// The checks of a datagram on its way through the software fabric: links, keys, GIDs.
#include "subnet_client.hpp"

#include <support/both_machines.hpp>
#include <support/topology_file.hpp>

namespace {

using namespace irpverbs::testing;

class Datagrams : public BothMachines {
protected:
    /// A datagram that carries its number in its attribute.
    mad numbered(USHORT number) { return {vendor_class, send_method, number}; }
    void send_to_two(USHORT number, const IB_MAD_ADDRESS& to) {
        EXPECT_EQ(sender.send(to, numbered(number)), STATUS_SUCCESS);
    }
    /// Returns the number of the next datagram received: since the order is kept, lower numbers
    /// that did not arrive are lost.
    std::uint64_t next_number() { return receiver.receive().data.get<2>(16); }
    port_block port_of_two() { return port_block(two, 1); }

    attached hcas;
    open_hca one{hcas.fdo(0)};
    open_hca two{hcas.fdo(2)}; // behind the other switch
    mad_client sender{one, agent_of(vendor_class)};
    mad_client receiver{two, agent_of(vendor_class, {send_method})};
    IB_MAD_ADDRESS good = to_lid(two.lid());
};

TEST_P(Datagrams, ManySends_ArriveInOrder) {
    for (USHORT i = 1; i <= 50; ++i)
        send_to_two(i, good);
    for (USHORT i = 1; i <= 50; ++i)
        EXPECT_EQ(next_number(), i);
}

TEST_P(Datagrams, WrongQKey_CountedAndDropped) {
    IB_MAD_ADDRESS wrong = good;
    wrong.QKey = 0x00010000;
    send_to_two(1, wrong);
    IB_MAD_ADDRESS own = good;
    own.QKey = 0x80000001; // the highest bit selects the queue pair's Q_Key
    send_to_two(2, own);
    EXPECT_EQ(next_number(), 2u);
    EXPECT_EQ(port_of_two()->QKeyViolations, 1);
}

TEST_P(Datagrams, ModifyPortResetsQKeyViolations_CounterIsZero) {
    IB_MAD_ADDRESS wrong = good;
    wrong.QKey = 0x00010000;
    send_to_two(1, wrong);
    send_to_two(2, good);
    EXPECT_EQ(next_number(), 2u);
    EXPECT_EQ(port_of_two()->QKeyViolations, 1);
    const IB_MODIFY_PORT nothing{};
    EXPECT_EQ(verb_call([&](IRP* irp) {
                  return CiModifyPort(two, 1, IB_MODIFY_PORT_RESET_QKEY_VIOLATIONS, &nothing, irp);
              }).status(),
              STATUS_SUCCESS);
    EXPECT_EQ(port_of_two()->QKeyViolations, 0);
}

// One of the two ports has to be a full member.
TEST_P(Datagrams, PKeyMismatch_CountedAndDropped) {
    HcaSoftwareChangePKey(hcas.guid(0), 1, 1, 0x8011);
    HcaSoftwareChangePKey(hcas.guid(0), 1, 2, 0x0012);
    HcaSoftwareChangePKey(hcas.guid(0), 1, 3, 0x0013);
    HcaSoftwareChangePKey(hcas.guid(2), 1, 5, 0x0012);
    HcaSoftwareChangePKey(hcas.guid(2), 1, 6, 0x8013);
    IB_MAD_ADDRESS by_index = good;
    for (USHORT index = 1; index <= 3; ++index) {
        by_index.PKeyIndex = index;
        send_to_two(index, by_index);
    }
    const received_mad got = receiver.receive();
    EXPECT_EQ(got.data.get<2>(16), 3u);
    EXPECT_EQ(got.from.PKeyIndex, 6);
    EXPECT_EQ(port_of_two()->PKeyViolations, 2);
}

TEST_P(Datagrams, SendWithGrh_ReceiverGetsGrhFields) {
    IB_MAD_ADDRESS global = good;
    global.Flags = IB_MAD_GRH;
    global.Gid = *IbPortGid(&*port_of_two(), 0);
    global.Gid.gid_guid += 1;
    send_to_two(1, global);
    global.Gid.gid_guid -= 1;
    global.FlowLabel = 0x12345;
    global.HopLimit = 9;
    global.TrafficClass = 0x42;
    send_to_two(2, global);
    const received_mad got = receiver.receive();
    EXPECT_EQ(got.data.get<2>(16), 2u); // no port has the other GID
    EXPECT_EQ(got.from.Flags, IB_MAD_GRH);
    EXPECT_EQ(got.from.Gid.gid_guid, IbPortGid(&*port_block(one, 1), 0)->gid_guid);
    EXPECT_EQ(got.from.FlowLabel, 0x12345u);
    EXPECT_EQ(got.from.HopLimit, 9);
    EXPECT_EQ(got.from.TrafficClass, 0x42);
}

TEST_P(Datagrams, PortNotActive_DatagramIsLost) {
    HcaSoftwareSetPortState(hcas.guid(2), 1, IB_PORT_DOWN); // which leaves it in Init
    send_to_two(1, good);
    HcaSoftwareSetPortState(hcas.guid(2), 1, IB_PORT_ARMED);
    send_to_two(2, good);
    HcaSoftwareFlapLink(hcas.guid(2), 1);
    send_to_two(3, good);
    EXPECT_EQ(next_number(), 3u);
}

TEST_P(Datagrams, UnassignedLidOrQp_DatagramIsLost) {
    send_to_two(1, to_lid(0xBFFF));
    send_to_two(2, to_lid(0));
    send_to_two(3, to_lid(IB_LID_PERMISSIVE));
    send_to_two(4, to_lid(IB_LID_MULTICAST_FIRST));
    IB_MAD_ADDRESS elsewhere = good;
    elsewhere.Qp = 12;
    send_to_two(5, elsewhere);
    elsewhere.Qp = 0;
    send_to_two(6, elsewhere);
    send_to_two(7, good);
    EXPECT_EQ(next_number(), 7u);
}

// OpenSM sends its LID-routed SMPs by the agent of the directed-route ones.
TEST_P(Datagrams, LidRoutedSmps_AreSentByAnAgentOfDirectedRoutes) {
    constexpr UCHAR lid_routed = 0x01;
    constexpr UCHAR directed = 0x81;
    constexpr USHORT sm_info = 0x20; // the requests that a node does not respond to itself
    mad_client requester(one, agent_of(directed));
    mad_client manager(two, agent_of(lid_routed, {1}));
    mad_client responder(two, agent_of(directed));
    const mad request = mad(lid_routed, 1, sm_info).with_transaction(7);
    ASSERT_EQ(requester.send(to_subnet(two.lid()), request), STATUS_SUCCESS);
    received_mad got = manager.receive();
    ASSERT_EQ(responder.send(got.from, got.data.as_response()), STATUS_SUCCESS);
    EXPECT_EQ(requester.receive().data.own_transaction(), 7u);
    EXPECT_EQ(requester.send(good, numbered(1)), STATUS_INVALID_PARAMETER) << "a class of QP1";
}

TEST_P(Datagrams, Receive_CountsPacketAndData) {
    HCA_SOFTWARE_COUNTERS before{};
    HCA_SOFTWARE_COUNTERS after{};
    HcaSoftwareCounters(hcas.guid(2), 1, &before);
    send_to_two(1, good);
    next_number();
    HcaSoftwareCounters(hcas.guid(2), 1, &after);
    EXPECT_EQ(after.ReceivePackets - before.ReceivePackets, 1u);
    EXPECT_EQ(after.ReceiveUnicasts - before.ReceiveUnicasts, 1u);
    EXPECT_EQ(after.ReceiveData - before.ReceiveData, 72u); // 288 bytes
}

TEST_P(Datagrams, ReceiverHcaFailed_DatagramIsLost) {
    HcaSoftwareFail(hcas.guid(2));
    send_to_two(1, good);
    mad_client itself(one, agent_of(vendor_class, {send_method}));
    sender.send(to_lid(one.lid()), numbered(2));
    EXPECT_EQ(itself.receive().data.get<2>(16), 2u);
}

IRPVERBS_ON_BOTH_MACHINES(Datagrams);

// Two switches with two cables between them, whose tables send a LID in a circle.
class ForwardingLoops : public BothMachines {
protected:
    static constexpr ib_lid_t circling = 40;
};

TEST_P(ForwardingLoops, DatagramInForwardingLoop_IsDropped) {
    const topology_file file("Switch 4 \"S1\"\n[1] \"H1\"[1]\n[2] \"S2\"[2]\n[3] \"S2\"[3]\n"
                             "Switch 4 \"S2\"\n[1] \"H2\"[1]\n"
                             "Hca 1 \"H1\"\nHca 1 \"H2\"\n");
    const attached hcas(file.uri());
    const open_hca one(hcas.fdo(0));
    const open_hca two(hcas.fdo(1));
    subnet_client manager(one);
    const auto send_by = [&](route way, UCHAR port) {
        mad table = manager.get(way, sm_linear_table);
        table[smp_data + circling] = port;
        EXPECT_EQ(manager.set(way, sm_linear_table, 0, table).status(), 0);
        manager.modify(way, sm_switch_info, 0,
                       [](mad& info) { info.put<2>(smp_data + 6, circling); });
    };
    send_by({1}, 2);
    send_by({1, 2}, 3);
    mad_client sender(one, agent_of(vendor_class));
    mad_client receiver(two, agent_of(vendor_class, {send_method}));
    sender.send(to_lid(circling), {vendor_class, send_method, 1});
    sender.send(to_lid(two.lid()), {vendor_class, send_method, 2});
    EXPECT_EQ(receiver.receive().data.get<2>(16), 2u);
}

IRPVERBS_ON_BOTH_MACHINES(ForwardingLoops);

} // namespace
