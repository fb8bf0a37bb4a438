// P_Keys at end ports, and at switches that enforce partitions for forwarded datagrams.
#include "unmanaged_subnet.hpp"

namespace {

using namespace irpverbs::testing;

constexpr ib_pkey_t partition = 0x8123;
constexpr UCHAR inbound = 8;
constexpr UCHAR outbound = 4;

// Datagrams from host1 to host3, which pass switch1 and switch2.
class PartitionEnforcement : public unmanaged_subnet {
protected:
    void SetUp() override {
        configure();
        join(itself, 0);
    }
    void join(route way, ULONG port) {
        mad keys;
        keys.put<2>(smp_data, IB_PKEY_DEFAULT_FULL).put<2>(smp_data + 2, partition);
        EXPECT_EQ(manager.set(way, sm_pkey_table, port << 16, keys).status(), 0);
    }
    void enforce(route way, ULONG port, UCHAR direction) {
        const mad info = manager.modify(way, sm_port_info, port,
                                        [&](mad& now) { now[smp_data + 43] |= direction; });
        EXPECT_EQ(info.status(), 0);
        EXPECT_EQ(info[smp_data + 43] & 0xF, direction);
    }
    void send_with_key(USHORT number, USHORT index = 1) {
        IB_MAD_ADDRESS to = to_lid(3);
        to.PKeyIndex = index;
        to.ServiceLevel = 5;
        EXPECT_EQ(sender.send(to, mad(vendor_class, send_method, number)), STATUS_SUCCESS);
    }
    std::uint64_t next_number() { return receiver.receive().data.get<2>(16); }
    static HCA_SOFTWARE_COUNTERS counters(ib_guid_t guid, UCHAR port) {
        HCA_SOFTWARE_COUNTERS now{};
        EXPECT_EQ(HcaSoftwareCounters(guid, port, &now), STATUS_SUCCESS);
        return now;
    }
    void expect_switch_trap(ib_lid_t lid, UCHAR port) {
        const mad notice = traps.receive().data;
        EXPECT_EQ(notice.get<2>(smp_data + 4), 259u);
        EXPECT_EQ(notice.get<2>(details + 2), 1u);
        EXPECT_EQ(notice.get<2>(details + 4), 3u);
        EXPECT_EQ(notice.get<2>(details + 6), partition);
        EXPECT_EQ(notice.get<4>(details + 8), 5u << 28 | 1);
        EXPECT_EQ(notice.get<4>(details + 12), 1u);
        EXPECT_EQ(notice.get<2>(details + 48), lid);
        EXPECT_EQ(notice[details + 50], port);
    }

    static constexpr std::size_t details = smp_data + 10;
    mad_client sender{one, agent_of(vendor_class)};
    mad_client receiver{three, agent_of(vendor_class, {send_method})};
    mad_client traps{one, agent_of(subnet_class, {trap_method})};
};

TEST_P(PartitionEnforcement, PKeyMismatchAtEndPort_RaisesTrap257) {
    send_with_key(1);
    const mad notice = traps.receive().data;
    EXPECT_EQ(notice.get<2>(smp_data + 4), 257u);
    EXPECT_EQ(notice.get<2>(smp_data + 6), 3u);
    EXPECT_EQ(notice.get<2>(details + 2), 1u);
    EXPECT_EQ(notice.get<2>(details + 4), 3u);
    EXPECT_EQ(notice.get<4>(details + 6), partition);
    EXPECT_EQ(notice.get<4>(details + 10), 5u << 28 | 1);
    EXPECT_EQ(notice.get<4>(details + 14), 1u);
    EXPECT_EQ(port_block(three, 1)->PKeyViolations, 1);
    join(host3, 0);
    send_with_key(2);
    EXPECT_EQ(next_number(), 2u);
    EXPECT_EQ(port_block(three, 1)->PKeyViolations, 1);
}

// Two violations at once are both reported, although the first trap is repressed later.
TEST_P(PartitionEnforcement, SeveralPKeyViolations_EachRaisesTrap) {
    const auto violate = [&](UCHAR service_level) {
        IB_MAD_ADDRESS to = to_lid(3);
        to.PKeyIndex = 1;
        to.ServiceLevel = service_level;
        EXPECT_EQ(sender.send(to, mad(vendor_class, send_method, 1)), STATUS_SUCCESS);
    };
    const auto next = [&] {
        const mad notice = traps.receive().data;
        EXPECT_EQ(notice.get<2>(smp_data + 4), 257u);
        return notice;
    };
    const auto level_of = [](const mad& notice) { return notice.get<4>(details + 10) >> 28; };
    violate(1);
    const mad first = next();
    EXPECT_EQ(level_of(first), 1u);
    violate(2);
    mad repress = first;
    repress[3] = 7;
    EXPECT_EQ(traps.send(to_subnet(3), repress), STATUS_SUCCESS);
    for (int i = 0; i < 2; ++i) { // the second time it is a repetition
        const mad second = next();
        EXPECT_EQ(level_of(second), 2u);
        EXPECT_NE(second.get<8>(8), first.get<8>(8));
    }
    const ULONGLONG before = KeQueryInterruptTime();
    violate(3);
    violate(4);
    const std::uint64_t third = level_of(next());
    // in ms: no trap waits for the repetition of another
    EXPECT_LT(KeQueryInterruptTime() - before, 10'000u * 100);
    EXPECT_EQ(third + level_of(next()), 3u + 4);
}

// Both the end port and a switch report the violation.
TEST_P(PartitionEnforcement, PKeyMismatchWithGrh_TrapHasBothGids) {
    IB_MAD_ADDRESS to = to_lid(3);
    to.PKeyIndex = 1;
    to.Flags = IB_MAD_GRH;
    to.Gid = *IbPortGid(&*port_block(three, 1), 0);
    const ib_gid_t from = *IbPortGid(&*port_block(one, 1), 0);
    for (const auto& [number, gids] : {std::pair{257u, details + 18}, {259u, details + 16}}) {
        EXPECT_EQ(sender.send(to, mad(vendor_class, send_method, 1)), STATUS_SUCCESS);
        mad notice = traps.receive().data;
        while (notice.get<2>(smp_data + 4) != number)
            notice = traps.receive().data; // the end port's trap, repeated
        EXPECT_EQ(notice.get<8>(gids), from.gid_prefix);
        EXPECT_EQ(notice.get<8>(gids + 8), from.gid_guid);
        EXPECT_EQ(notice.get<8>(gids + 16), to.Gid.gid_prefix);
        EXPECT_EQ(notice.get<8>(gids + 24), to.Gid.gid_guid);
        enforce(switch2, 1, outbound);
    }
}

TEST_P(PartitionEnforcement, OutboundEnforcementAtSwitch_DropsAndTraps) {
    join(host3, 0);
    enforce(switch2, 1, outbound);
    send_with_key(1);
    send_with_key(2, 0);
    EXPECT_EQ(next_number(), 2u);
    expect_switch_trap(12, 1);
    EXPECT_EQ(counters(second_switch, 1).TransmitConstraintErrors, 1u);
    EXPECT_EQ(counters(second_switch, 1).TransmitDiscards, 0u);
    EXPECT_EQ(manager.get(switch2, sm_port_info, 1).get<2>(smp_data + 46), 1u);
    join(switch2, 1);
    send_with_key(3);
    EXPECT_EQ(next_number(), 3u);
    EXPECT_EQ(port_block(three, 1)->PKeyViolations, 0);
}

TEST_P(PartitionEnforcement, InboundEnforcementAtSwitch_DropsAndTraps) {
    join(host3, 0);
    enforce(switch1, 1, inbound);
    send_with_key(1);
    send_with_key(2, 0);
    EXPECT_EQ(next_number(), 2u);
    expect_switch_trap(11, 1);
    EXPECT_EQ(counters(first_switch, 1).ReceiveConstraintErrors, 1u);
    EXPECT_EQ(counters(first_switch, 7).TransmitPackets, counters(second_switch, 7).ReceivePackets);
    join(switch1, 1);
    send_with_key(3);
    EXPECT_EQ(next_number(), 3u);
}

// SMPs have no P_Key.
TEST_P(PartitionEnforcement, EnforcementInOtherDirectionOrSmp_PassesDatagram) {
    join(host3, 0);
    enforce(switch1, 7, inbound);
    enforce(switch2, 7, outbound);
    send_with_key(1);
    EXPECT_EQ(next_number(), 1u);
    for (const auto& [way, port] : {std::pair{switch1, 1}, {switch2, 1}})
        enforce(way, static_cast<ULONG>(port), inbound | outbound);
    mad none;
    EXPECT_EQ(manager.set(switch1, sm_pkey_table, 1 << 16, none).status(), 0);
    EXPECT_EQ(manager.set(switch2, sm_pkey_table, 1 << 16, none).status(), 0);
    EXPECT_EQ(manager.get(host3, sm_node_info).status(), 0);
    mad_client by_lid(one, agent_of(subnet_class));
    EXPECT_EQ(by_lid.ask(to_subnet(3), mad(subnet_class, get_method, sm_node_info)).data.status(),
              0);
}

IRPVERBS_ON_BOTH_MACHINES(PartitionEnforcement);

} // namespace
