// Queue pairs of an agent's own: the datagrams that they receive and send, and the numbers they
// use.
#include "own_qp.hpp"

#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

#include <algorithm>

namespace {

using namespace irpverbs::testing;

NTSTATUS modify(const mad_client& which, IB_MAD_KEYS keys) {
    return verb_call([&](IRP* irp) { return CiModifyMadAgent(which.agent(), &keys, irp); })
        .status();
}

class AgentQps : public BothMachines {
protected:
    IB_MAD_ADDRESS to_two(ib_qpn_t qp, ib_qkey_t qkey = own_qkey) const {
        IB_MAD_ADDRESS to = to_lid(two.lid());
        to.Qp = qp;
        to.QKey = qkey;
        return to;
    }
    NTSTATUS try_register(const IB_MAD_AGENT_ATTR& attr) {
        verb_call make(
            [&](IRP* irp) { return CiRegisterMadAgent(one, &attr, nullptr, nullptr, irp); });
        if (make.status() != STATUS_SUCCESS) return make.status();
        auto* agent = make.object<IB_MAD_AGENT>();
        return verb_call([&](IRP* irp) { return CiDeregisterMadAgent(agent, irp); }).status();
    }

    attached hcas;
    open_hca one{hcas.fdo(0)};
    open_hca two{hcas.fdo(2)}; // behind the other switch
};

TEST_P(AgentQps, PortAttributes_HaveMadQpsFlag) {
    EXPECT_NE(port_block(one, 1)->Flags & IB_PORT_MAD_QPS, 0);
}

TEST_P(AgentQps, InvalidAttributes_RegistrationFails) {
    EXPECT_EQ(try_register(own_qp(IB_MAD_QP_OWN_RAW)), STATUS_SUCCESS);
    EXPECT_EQ(try_register(own_qp(IB_MAD_QP_OWN_RAW + 1)), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(try_register(own_qp(IB_MAD_QP_OWN_MADS, 0, 0x8123)), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(try_register(own_qp(IB_MAD_QP_OWN_MADS, 0, 0x8000)), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(try_register(own_qp(IB_MAD_QP_OWN_MADS, 0, 0x7FFF)), STATUS_SUCCESS);
    IB_MAD_AGENT_ATTR with_class = own_qp(IB_MAD_QP_OWN_MADS);
    with_class.ManagementClass = vendor_class;
    EXPECT_EQ(try_register(with_class), STATUS_INVALID_PARAMETER);
}

TEST_P(AgentQps, SeveralQps_HaveDistinctNumbers) {
    const mad_client first(one, own_qp(IB_MAD_QP_OWN_MADS));
    const mad_client second(one, own_qp(IB_MAD_QP_OWN_RAW));
    const mad_client elsewhere(one, own_qp(IB_MAD_QP_OWN_RAW, 0, IB_PKEY_DEFAULT_FULL, 2));
    const std::array numbers{number_of(first), number_of(second), number_of(elsewhere)};
    EXPECT_GT(*std::ranges::min_element(numbers), 1u);
    EXPECT_NE(numbers[0], numbers[1]);
    EXPECT_NE(numbers[1], numbers[2]);
    EXPECT_NE(numbers[0], numbers[2]);
}

// Class and method do not matter, and a response needs no request. The TransactionID is unchanged.
TEST_P(AgentQps, MadOfAnyClass_ExchangedBetweenOwnQps) {
    mad_client asks(one, own_qp(IB_MAD_QP_OWN_MADS));
    mad_client responder(two, own_qp(IB_MAD_QP_OWN_MADS));
    const std::uint64_t id = 0x0123456789ABCDEF;
    for (const UCHAR each : {UCHAR{1}, vendor_class, UCHAR{0x32}, UCHAR{0x81}}) {
        EXPECT_EQ(asks.send(to_two(number_of(responder)), mad(each, send_method, 9).put<8>(8, id)),
                  STATUS_SUCCESS);
        received_mad seen = responder.receive();
        EXPECT_EQ(seen.data.at(1), each);
        EXPECT_EQ(seen.data.get<8>(8), id);
        EXPECT_EQ(seen.from.Lid, one.lid());
        EXPECT_EQ(seen.from.Qp, number_of(asks));
        EXPECT_EQ(seen.from.QKey, own_qkey);
        responder.send(seen.from, seen.data.as_response());
        const received_mad back = asks.receive();
        EXPECT_EQ(back.data.method(), 0x83);
        EXPECT_EQ(back.data.get<8>(8), id);
        EXPECT_EQ(back.from.Qp, number_of(responder));
    }
}

// A client of QP1 and one with a QP of its own exchange datagrams, each with its own QP number.
TEST_P(AgentQps, Qp1Agent_ExchangesDatagramsWithOwnQp) {
    mad_client shared(one, agent_of(vendor_class, {send_method}));
    mad_client own(two, own_qp(IB_MAD_QP_OWN_MADS, IB_QP1_QKEY));
    EXPECT_EQ(shared.send(to_two(number_of(own), IB_QP1_QKEY), mad(vendor_class, send_method, 1)),
              STATUS_SUCCESS);
    const received_mad asked = own.receive();
    EXPECT_EQ(asked.from.Qp, 1u);
    EXPECT_EQ(own.send(to_lid(one.lid()), mad(vendor_class, send_method, 2)), STATUS_SUCCESS);
    EXPECT_EQ(shared.receive().from.Qp, number_of(own));
}

TEST_P(AgentQps, DatagramForOwnQp_NotReceivedByQp1Agent) {
    mad_client own(two, own_qp(IB_MAD_QP_OWN_MADS));
    mad_client shared(two, agent_of(vendor_class, {send_method}));
    mad_client sender(one, own_qp(IB_MAD_QP_OWN_MADS, IB_QP1_QKEY));
    EXPECT_EQ(sender.send(to_two(number_of(own)), mad(vendor_class, send_method, 1)),
              STATUS_SUCCESS);
    EXPECT_EQ(own.receive().data.get<2>(16), 1u);
    EXPECT_EQ(sender.send(to_lid(two.lid()), mad(vendor_class, send_method, 2)), STATUS_SUCCESS);
    EXPECT_EQ(shared.receive().data.get<2>(16), 2u);
}

TEST_P(AgentQps, RawQp_CarriesAnySizeUpToMtu) {
    const mad_client sender(one, own_qp(IB_MAD_QP_OWN_RAW));
    const mad_client receiver(two, own_qp(IB_MAD_QP_OWN_RAW));
    const IB_MAD_ADDRESS to = to_two(number_of(receiver));
    for (const std::size_t size : {1u, 24u, 255u, 256u, 257u, full_mtu}) {
        EXPECT_EQ(send_raw(sender, to, counted(size)), STATUS_SUCCESS);
        EXPECT_EQ(receive_raw(receiver), counted(size));
    }
    EXPECT_EQ(send_raw(sender, to, counted(full_mtu + 1)), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(send_raw(sender, to, {}), STATUS_INVALID_PARAMETER);
}

TEST_P(AgentQps, ShortBufferForRawDatagram_OverflowsAndKeepsIt) {
    const mad_client sender(one, own_qp(IB_MAD_QP_OWN_RAW));
    const mad_client receiver(two, own_qp(IB_MAD_QP_OWN_RAW));
    EXPECT_EQ(send_raw(sender, to_two(number_of(receiver)), counted(1000)), STATUS_SUCCESS);
    std::vector<UCHAR> small(IB_MAD_SIZE);
    IB_MAD_RECEIVE into{};
    into.Data = small.data();
    into.Size = IB_MAD_SIZE;
    verb_call get([&](IRP* irp) { return CiGetMad(receiver.agent(), &into, irp); });
    EXPECT_EQ(get.status(), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(into.Length, 1000u);
    EXPECT_EQ(receive_raw(receiver), counted(1000));
}

TEST_P(AgentQps, BytesThatAreNoMad_NotReceivedByMadAgents) {
    const mad_client sender(one, own_qp(IB_MAD_QP_OWN_RAW, IB_QP1_QKEY));
    mad_client mads(two, own_qp(IB_MAD_QP_OWN_MADS));
    mad_client shared(two, agent_of(vendor_class, {send_method}));
    const IB_MAD_ADDRESS to = to_two(number_of(mads));
    send_raw(sender, to, counted(100));
    send_raw(sender, to, counted(IB_MAD_SIZE)); // of base version 0
    send_raw(sender, to_lid(two.lid()), counted(100));
    const mad good(vendor_class, send_method, 7);
    send_raw(sender, to, {good.begin(), good.end()});
    send_raw(sender, to_lid(two.lid()), {good.begin(), good.end()});
    EXPECT_EQ(mads.receive().data, good);
    EXPECT_EQ(shared.receive().data, good);
}

// The length is counted in words.
TEST_P(AgentQps, RawDatagram_LengthIsCountedInWords) {
    const mad_client sender(one, own_qp(IB_MAD_QP_OWN_RAW));
    const mad_client receiver(two, own_qp(IB_MAD_QP_OWN_RAW));
    HCA_SOFTWARE_COUNTERS before{};
    HCA_SOFTWARE_COUNTERS after{};
    EXPECT_EQ(HcaSoftwareCounters(hcas.guid(0), 1, &before), STATUS_SUCCESS);
    EXPECT_EQ(send_raw(sender, to_two(number_of(receiver)), counted(1001)), STATUS_SUCCESS);
    EXPECT_EQ(HcaSoftwareCounters(hcas.guid(0), 1, &after), STATUS_SUCCESS);
    EXPECT_EQ(after.TransmitData - before.TransmitData, (8u + 12 + 8 + 1004 + 4) / 4);
}

TEST_P(AgentQps, WrongQKey_CountedAndDropped) {
    mad_client sender(one, own_qp(IB_MAD_QP_OWN_MADS));
    mad_client receiver(two, own_qp(IB_MAD_QP_OWN_MADS));
    const ib_qpn_t number = number_of(receiver);
    sender.send(to_two(number, 0x4321), mad(vendor_class, send_method, 1));
    sender.send(to_two(number, 0x80000000), mad(vendor_class, send_method, 2)); // the sender's own
    EXPECT_EQ(receiver.receive().data.get<2>(16), 2u);
    EXPECT_EQ(port_block(two, 1)->QKeyViolations, 1);
    EXPECT_EQ(port_block(two, 1)->PKeyViolations, 0);
}

TEST_P(AgentQps, ModifyAgent_SetsPKeyAndQKey) {
    mad_client sender(one, own_qp(IB_MAD_QP_OWN_MADS));
    mad_client receiver(two, own_qp(IB_MAD_QP_OWN_MADS));
    const ib_qpn_t number = number_of(receiver);
    EXPECT_EQ(modify(receiver, {0x8123, 1}), STATUS_INVALID_PARAMETER); // it has no such P_Key
    EXPECT_EQ(modify(receiver, {IB_PKEY_DEFAULT_FULL, 0x4321}), STATUS_SUCCESS);
    EXPECT_EQ(number_of(receiver), number);
    sender.send(to_two(number), mad(vendor_class, send_method, 1));
    sender.send(to_two(number, 0x4321), mad(vendor_class, send_method, 2));
    const received_mad seen = receiver.receive();
    EXPECT_EQ(seen.data.get<2>(16), 2u);
    EXPECT_EQ(seen.from.QKey, 0x4321u);
    const mad_client shared(one, agent_of(vendor_class));
    EXPECT_EQ(modify(shared, {IB_PKEY_DEFAULT_FULL, 1}), STATUS_INVALID_DEVICE_REQUEST);
    EXPECT_EQ(verb_call([&](IRP* irp) {
                  return CiModifyMadAgent(receiver.agent(), nullptr, irp);
              }).status(),
              STATUS_INVALID_PARAMETER);
}

TEST_P(AgentQps, TrafficWithQp0_IsRefusedAndDropped) {
    mad_client own(two, own_qp(IB_MAD_QP_OWN_MADS));
    mad_client sender(one, own_qp(IB_MAD_QP_OWN_MADS));
    EXPECT_EQ(sender.send(to_two(0), mad(1, send_method, 1)), STATUS_INVALID_PARAMETER);
    mad_client subnet(one, agent_of(1));
    EXPECT_EQ(subnet.send(to_two(number_of(own)), mad(1, send_method, 1)), STATUS_SUCCESS);
    sender.send(to_two(number_of(own)), mad(1, send_method, 2));
    EXPECT_EQ(own.receive().data.get<2>(16), 2u);
}

TEST_P(AgentQps, FreedQpNumber_DatagramIsDropped) {
    mad_client sender(one, own_qp(IB_MAD_QP_OWN_MADS));
    ib_qpn_t freed = 0;
    {
        const mad_client gone(two, own_qp(IB_MAD_QP_OWN_MADS));
        freed = number_of(gone);
    }
    mad_client next(two, own_qp(IB_MAD_QP_OWN_MADS));
    EXPECT_NE(number_of(next), freed);
    sender.send(to_two(freed), mad(vendor_class, send_method, 1));
    sender.send(to_two(number_of(next)), mad(vendor_class, send_method, 2));
    EXPECT_EQ(next.receive().data.get<2>(16), 2u);
    EXPECT_EQ(port_block(two, 1)->QKeyViolations, 0);
}

IRPVERBS_ON_BOTH_MACHINES(AgentQps);

// A datagram meets either the old keys or the new ones.
TEST(AgentQpRaces, ModifyKeysDuringReceives_OldOrNewKeysApply) {
    using namespace irpverbs::dispatch;
    explore_options options;
    options.random_runs = 300;
    options.pct_runs = 300;
    expect_explored(options, [](sim_machine& sim) {
        attached hcas;
        const open_hca ca(hcas.fdo());
        mad_client receiver(ca, own_qp(IB_MAD_QP_OWN_MADS, 1));
        mad_client sender(ca, own_qp(IB_MAD_QP_OWN_MADS, 7));
        IB_MAD_ADDRESS to = to_lid(ca.lid());
        to.Qp = number_of(receiver);
        sim.spawn("send", [&] {
            for (const ib_qkey_t each : {1u, 2u, 3u}) {
                to.QKey = each;
                sender.send(to, mad(vendor_class, send_method, static_cast<USHORT>(each)));
            }
        });
        sim.spawn("modify", [&] {
            EXPECT_EQ(modify(receiver, {IB_PKEY_DEFAULT_FULL, 2}), STATUS_SUCCESS);
        });
        sim.run();
        const IB_MAD_KEYS last{IB_PKEY_DEFAULT_FULL, 9};
        EXPECT_EQ(modify(receiver, last), STATUS_SUCCESS);
        to.QKey = last.QKey;
        sender.send(to, mad(vendor_class, send_method, 9));
        std::uint64_t number = 0;
        while (number != 9) {
            number = receiver.receive().data.get<2>(16);
            EXPECT_NE(number, 3u);
        }
    });
}

} // namespace
