// The performance management agents of CAs and switches.
#include "subnet_client.hpp"

#include <support/both_machines.hpp>

namespace {

using namespace irpverbs::testing;

constexpr USHORT class_port_info = 0x01;
constexpr USHORT port_counters = 0x12;
constexpr USHORT port_counters_extended = 0x1D;
constexpr USHORT samples_control = 0x10;
constexpr USHORT samples_result = 0x11;
constexpr USHORT bad_attribute = 0x000C;
constexpr USHORT bad_field = 0x001C;
constexpr ib_lid_t switch1 = 6; // follows the five CA ports
constexpr ib_guid_t switch1_guid = 0x0200000000000000 + (5 << 8);
constexpr UCHAR all_ports = 255;
constexpr std::size_t at = 64; // offset of the attribute

/// A counter in an attribute.
struct field {
    std::size_t offset;
    std::size_t bits;
    unsigned select;
};

// Source: IBA 16.1.3.5.
constexpr field narrow_errors[]{
    {4, 16, 0},  {6, 8, 1},  {7, 8, 2},  {8, 16, 3},  {10, 16, 4},  {12, 16, 5},
    {14, 16, 6}, {16, 8, 7}, {17, 8, 8}, {19, 4, 10}, {22, 16, 11},
};
constexpr field narrow_data[]{{24, 32, 12}, {28, 32, 13}, {32, 32, 14}, {36, 32, 15}};

class PerformanceManagement : public BothMachines {
protected:
    mad ask(ib_lid_t lid, UCHAR method, USHORT attribute, UCHAR port = 1, USHORT select = 0) {
        mad request(performance_class, method, attribute);
        request[65] = port;
        request.put<2>(66, select);
        return client.ask(to_lid(lid), request).data;
    }

    /// Writes one value into all selected counters; the response has their new values.
    mad write(ib_lid_t lid, USHORT attribute, USHORT select, UCHAR byte, UCHAR port = 1) {
        mad request(performance_class, set_method, attribute);
        std::fill_n(request.begin() + at, 72, byte);
        request[at + 1] = port;
        request.put<2>(at + 2, select);
        return client.ask(to_lid(lid), request).data;
    }
    static HCA_SOFTWARE_COUNTERS counters(ib_guid_t guid, UCHAR port) {
        HCA_SOFTWARE_COUNTERS now{};
        EXPECT_EQ(HcaSoftwareCounters(guid, port, &now), STATUS_SUCCESS);
        return now;
    }

    attached hcas;
    open_hca one{hcas.fdo(0)};
    open_hca two{hcas.fdo(1)};
    mad_client client{one, agent_of(performance_class)};
};

TEST_P(PerformanceManagement, ClassPortInfo_ReportsCapabilities) {
    const mad info = ask(two.lid(), get_method, class_port_info);
    EXPECT_EQ(info.status(), 0);
    EXPECT_EQ(info.method(), 0x81);
    // all ports at once and extended counters are supported; no PortXmitWait
    EXPECT_EQ(info.get<2>(66), 0x0300u);
    // therefore there is no CounterSelect2
    EXPECT_EQ(write(two.lid(), port_counters, 0xFFFF, 0x11)[at + 18], 0);
    EXPECT_EQ(write(two.lid(), port_counters, 0, 0x11).get<4>(at + 40), 0u);
}

TEST_P(PerformanceManagement, SetOfPortCounters_WritesOnlySelectedCounter) {
    write(two.lid(), port_counters, 0xFFFF, 0);
    for (const field& each : narrow_errors) {
        const auto bit = static_cast<USHORT>(1u << each.select);
        const mad now = write(two.lid(), port_counters, bit, 0x77);
        EXPECT_EQ(now.get<2>(at + 2), bit);
        for (const field& other : narrow_errors) {
            const auto value = other.bits == 16 ? now.get<2>(at + other.offset)
                                                : now[at + other.offset] & ((1u << other.bits) - 1);
            const unsigned expected = 0x7777u & ((1u << each.bits) - 1);
            EXPECT_EQ(value, &other == &each ? expected : 0) << each.select << ' ' << other.select;
        }
        write(two.lid(), port_counters, bit, 0);
    }
    EXPECT_EQ(write(two.lid(), port_counters, 1u << 9, 0x77)[at + 19], 0x70);
    for (const field& each : narrow_data) {
        const mad now =
            write(two.lid(), port_counters, static_cast<USHORT>(1u << each.select), 0x77);
        EXPECT_EQ(now.get<4>(at + each.offset), 0x77777777u);
    }
    const mad zero = write(two.lid(), port_counters, 0xFFFF, 0);
    EXPECT_TRUE(std::all_of(&zero[at + 4], &zero[at + 44], [](UCHAR each) { return each == 0; }));
}

TEST_P(PerformanceManagement, SetOfExtendedCounters_WritesOnlySelectedCounter) {
    for (unsigned select = 0; select < 8; ++select) {
        const auto bit = static_cast<USHORT>(1u << select);
        const mad now = write(two.lid(), port_counters_extended, bit, 0x77);
        for (unsigned other = 0; other < 8; ++other)
            EXPECT_EQ(now.get<8>(at + 8 + 8 * other) == 0x7777777777777777, other == select);
        const mad reset = write(two.lid(), port_counters_extended, bit, 0);
        EXPECT_EQ(reset.get<8>(at + 8 + 8 * select), 0u);
    }
}

TEST_P(PerformanceManagement, CounterAtMaximum_Saturates) {
    write(two.lid(), port_counters, 0x0FFF, 0xFF);
    write(two.lid(), port_counters, 0xF000, 0xFF);
    for (int i = 0; i < 3; ++i)
        for (const USHORT trap : {USHORT{129}, USHORT{130}})
            EXPECT_EQ(HcaSoftwareReportErrorThreshold(hcas.guid(1), 1, trap), STATUS_SUCCESS);
    HcaSoftwareFlapLink(hcas.guid(1), 1);
    HcaSoftwarePortError(hcas.guid(1), 1);
    const mad now = ask(two.lid(), get_method, port_counters);
    EXPECT_EQ(now.get<2>(at + 4), 0xFFFFu);
    EXPECT_EQ(now.get<2>(at + 6), 0xFFFFu); // two counters
    EXPECT_EQ(now[at + 19], 0xFF);          // two counters
    EXPECT_EQ(now.get<4>(at + 24), 0xFFFFFFFFu);
    EXPECT_EQ(now.get<4>(at + 36), 0xFFFFFFFFu);
    const mad wide = ask(two.lid(), get_method, port_counters_extended);
    EXPECT_GT(wide.get<8>(at + 32), 0xFFFFFFFFu);
}

TEST_P(PerformanceManagement, LinkErrors_CountedByKind) {
    write(two.lid(), port_counters, 0xFFFF, 0);
    HcaSoftwarePortError(hcas.guid(1), 1);
    mad now = ask(two.lid(), get_method, port_counters);
    EXPECT_EQ(now.get<2>(at + 4), 1u); // SymbolErrors
    EXPECT_EQ(now[at + 6], 1);         // LinkErrorRecovery
    EXPECT_EQ(now[at + 19], 0x10);     // LocalLinkIntegrity
    HcaSoftwareReportErrorThreshold(hcas.guid(1), 1, 130);
    EXPECT_EQ(ask(two.lid(), get_method, port_counters)[at + 19], 0x11); // and BufferOverrun
    HCA_SOFTWARE_FAULTS losing{};
    losing.LossOnceIn = 1;
    HcaSoftwareSetFaults(hcas.guid(1), 1, &losing);
    client.send(to_lid(two.lid()), mad(performance_class, get_method, port_counters));
    HcaSoftwareSetFaults(hcas.guid(1), 1, nullptr);
    now = ask(two.lid(), get_method, port_counters);
    EXPECT_EQ(now.get<2>(at + 8), 1u); // PortRcvErrors
    EXPECT_EQ(now.get<2>(at + 10), 0u);
}

// The port that cannot send counts the datagram, and so does the port of a switch that has no route
// for it.
TEST_P(PerformanceManagement, UndeliverableDatagram_CountedAtDroppingPort) {
    const UCHAR port_of_two = 2;
    client.send(to_lid(0xBFFE), mad(performance_class, get_method, port_counters));
    EXPECT_EQ(ask(switch1, get_method, port_counters, 1).get<2>(at + 12), 1u); // RelayErrors
    HcaSoftwareSetLink(hcas.guid(1), 1, FALSE);
    client.send(to_lid(two.lid()), mad(performance_class, get_method, port_counters));
    const mad now = ask(switch1, get_method, port_counters, port_of_two);
    EXPECT_EQ(now.get<2>(at + 14), 1u); // TransmitDiscards
    EXPECT_EQ(now.get<2>(at + 12), 0u);
    EXPECT_EQ(ask(switch1, get_method, port_counters, 1).get<2>(at + 12), 1u);
}

TEST_P(PerformanceManagement, Multicast_CountedSeparately) {
    subnet_client manager(one);
    mad table;
    table.put<2>(smp_data + 2 * 1, 1u << 2); // MLID 0xC001, to host2
    EXPECT_EQ(manager.set({1}, sm_multicast_table, 0, table).status(), 0);
    const HCA_SOFTWARE_COUNTERS before[]{counters(hcas.guid(0), 1), counters(switch1_guid, 1),
                                         counters(switch1_guid, 2), counters(hcas.guid(1), 1)};
    client.send(to_lid(0xC001), mad(performance_class, 3, port_counters));
    const HCA_SOFTWARE_COUNTERS after[]{counters(hcas.guid(0), 1), counters(switch1_guid, 1),
                                        counters(switch1_guid, 2), counters(hcas.guid(1), 1)};
    for (int i = 0; i < 4; ++i) {
        const ULONGLONG sent = i % 2 == 0 ? 1 : 0; // the other hosts receive
        EXPECT_EQ(after[i].TransmitMulticasts - before[i].TransmitMulticasts, sent);
        EXPECT_EQ(after[i].ReceiveMulticasts - before[i].ReceiveMulticasts, 1 - sent);
        EXPECT_EQ(after[i].TransmitUnicasts, before[i].TransmitUnicasts);
        EXPECT_EQ(after[i].ReceiveUnicasts, before[i].ReceiveUnicasts);
        EXPECT_EQ(after[i].TransmitPackets - before[i].TransmitPackets, sent);
    }
    const mad shown = ask(two.lid(), get_method, port_counters_extended);
    EXPECT_EQ(shown.get<8>(at + 64), after[3].ReceiveMulticasts);
}

TEST_P(PerformanceManagement, AllPortsOfSwitch_ReadAndResetTogether) {
    for (const UCHAR port : {UCHAR{1}, UCHAR{2}, UCHAR{2}})
        EXPECT_EQ(HcaSoftwareReportErrorThreshold(switch1_guid, port, 129), STATUS_SUCCESS);
    EXPECT_EQ(ask(switch1, get_method, port_counters, 2)[at + 19], 0x20);
    EXPECT_EQ(ask(switch1, get_method, port_counters, all_ports)[at + 19], 0x30);
    const mad reset = write(switch1, port_counters, 1u << 9, 0, all_ports);
    EXPECT_EQ(reset[at + 1], all_ports);
    EXPECT_EQ(reset[at + 19], 0);
    EXPECT_NE(reset.get<4>(at + 36), 0u);
    for (const UCHAR port : {UCHAR{1}, UCHAR{2}})
        EXPECT_EQ(counters(switch1_guid, port).LinkIntegrityErrors, 0u);
}

TEST_P(PerformanceManagement, Traffic_CountsPacketsAndData) {
    const mad before = ask(two.lid(), get_method, port_counters_extended);
    const mad after = ask(two.lid(), get_method, port_counters_extended);
    EXPECT_EQ(after.get<8>(64 + 32) - before.get<8>(64 + 32), 1u); // packets received
    EXPECT_EQ(after.get<8>(64 + 16) - before.get<8>(64 + 16), 72u);
    EXPECT_EQ(after.get<8>(64 + 8) - before.get<8>(64 + 8), 72u); // of the previous response
    EXPECT_EQ(ask(two.lid(), get_method, port_counters).get<4>(64 + 36), after.get<8>(64 + 32) + 1);
}

TEST_P(PerformanceManagement, CounterReset_ClearsOnlySelectedCounter) {
    HcaSoftwareFlapLink(hcas.guid(1), 1);
    ask(two.lid(), get_method, port_counters);
    EXPECT_EQ(ask(two.lid(), get_method, port_counters)[64 + 7], 1); // LinkDowned
    const mad reset = ask(two.lid(), set_method, port_counters, 1, 1u << 2);
    EXPECT_EQ(reset[64 + 7], 0);
    EXPECT_NE(reset.get<4>(64 + 36), 0u);
    HCA_SOFTWARE_COUNTERS now{};
    HcaSoftwareCounters(hcas.guid(1), 1, &now);
    EXPECT_EQ(now.LinkDowned, 0u);
}

TEST_P(PerformanceManagement, SwitchPorts_CountedAloneAndTogether) {
    const mad alone = ask(switch1, get_method, port_counters_extended, 1);
    EXPECT_EQ(alone.status(), 0);
    EXPECT_NE(alone.get<8>(64 + 32), 0u);
    EXPECT_EQ(ask(switch1, get_method, port_counters_extended, 2).get<8>(64 + 32), 0u);
    EXPECT_GE(ask(switch1, get_method, port_counters_extended, 255).get<8>(64 + 32),
              alone.get<8>(64 + 32));
}

TEST_P(PerformanceManagement, InvalidRequest_FailsWithMadStatus) {
    EXPECT_EQ(ask(two.lid(), get_method, 0x7777).status(), bad_attribute);
    EXPECT_EQ(ask(two.lid(), get_method, port_counters, 9).status(), bad_field);
    mad newer(performance_class, get_method, port_counters);
    newer[2] = 7;
    EXPECT_EQ(client.ask(to_lid(two.lid()), newer).data.status(), 0x0004);
    mad_client baseboard(one, agent_of(5));
    EXPECT_EQ(baseboard.ask(to_lid(two.lid()), mad(5, get_method, 1)).data.status(), bad_attribute);
}

TEST_P(PerformanceManagement, RegisteredPerformanceAgent_ReplacesBuiltIn) {
    mad_client own(two, agent_of(performance_class, {get_method}));
    EXPECT_EQ(client.send(to_lid(two.lid()), mad(performance_class, get_method, port_counters)),
              STATUS_SUCCESS);
    EXPECT_EQ(own.receive().data.method(), get_method);
}

IRPVERBS_ON_BOTH_MACHINES(PerformanceManagement);

// The tick is as long as 256 symbols of a QDR link: 256 ns.
class PortSamples : public PerformanceManagement {
protected:
    enum : UCHAR { done, to_come, running };

    static mad control(ULONG start, ULONG interval, USHORT tag) {
        mad request(performance_class, set_method, samples_control);
        request[at + 1] = 1;
        request.put<4>(at + 28, start).put<4>(at + 32, interval).put<2>(at + 36, tag);
        for (std::size_t i = 0; i < 15; ++i)
            request.put<2>(at + 38 + 2 * i, i < 6 ? i : 0);
        return request;
    }
    mad set_control(const mad& what) { return client.ask(to_lid(two.lid()), what).data; }
    mad result() { return ask(two.lid(), get_method, samples_result, 0); }
    static void pass(LONGLONG time) {
        LARGE_INTEGER from_now;
        from_now.QuadPart = -time;
        KeDelayExecutionThread(KernelMode, FALSE, &from_now);
    }
    static constexpr ULONG ticks = 1'000'000;
    static constexpr LONGLONG time_of_ticks = 2'560'000;
};

TEST_P(PortSamples, SamplesControl_CountsForRequestedInterval) {
    const mad begun = set_control(control(ticks, ticks, 0x77));
    EXPECT_EQ(begun.status(), 0);
    EXPECT_EQ(begun[at + 2], 255);
    EXPECT_EQ(begun[at + 3], 4); // 32 bits
    EXPECT_EQ(begun[at + 11], to_come);
    EXPECT_EQ(begun.get<4>(at + 28), ticks);
    EXPECT_EQ(begun.get<2>(at + 38 + 2 * 4), 4u);
    pass(time_of_ticks + 1000);
    mad now = result(); // counts a datagram to the port and one from it
    EXPECT_EQ(now[at + 3], running);
    EXPECT_EQ(now.get<4>(at + 4 + 4 * 4), 0u); // not reported before the end
    const mad refused = set_control(control(0, 1, 0x88));
    EXPECT_EQ(refused.status(), 0);
    EXPECT_EQ(refused[at + 11], running);
    EXPECT_EQ(refused.get<2>(at + 36), 0x77u);
    pass(time_of_ticks - 2000);
    EXPECT_EQ(result()[at + 3], running);
    pass(1500);
    for (int i = 0; i < 2; ++i) {
        now = result();
        EXPECT_EQ(now.get<2>(at), 0x77u);
        EXPECT_EQ(now[at + 3], done);
        const ULONG expected[]{0, 3 * 72, 3 * 72, 3, 3, 0, 0};
        for (std::size_t each = 0; each < std::size(expected); ++each)
            EXPECT_EQ(now.get<4>(at + 4 + 4 * each), expected[each]) << each;
    }
    EXPECT_EQ(set_control(control(0, ticks, 0x88)).get<2>(at + 36), 0x88u);
    EXPECT_EQ(result()[at + 3], running);
}

TEST_P(PortSamples, InvalidSamplesControl_FailsWithBadField) {
    EXPECT_EQ(set_control(control(0, ticks, 1).put<2>(at + 38, 6)).status(), bad_field);
    mad other_port = control(0, ticks, 1);
    other_port[at + 1] = 9;
    EXPECT_EQ(set_control(other_port).status(), bad_field);
    EXPECT_EQ(set_control(control(0, ticks, 1).put<4>(20, 1)).status(), bad_field);
    EXPECT_EQ(ask(two.lid(), set_method, samples_result).status(), bad_attribute);
    EXPECT_EQ(result()[at + 3], done);
    const mad initial = ask(two.lid(), get_method, samples_control);
    EXPECT_EQ(initial.status(), 0);
    EXPECT_EQ(initial[at + 1], 1);
}

IRPVERBS_ON_THE_SIMULATED_MACHINE(PortSamples);

// Datagrams beyond the capacity of the fabric.
class FabricCapacity : public PerformanceManagement {};

TEST_P(FabricCapacity, ExcessSmpOrDatagram_DroppedAndCounted) {
    constexpr unsigned max_in_flight = 1u << 16;
    HCA_SOFTWARE_FAULTS faults{};
    faults.Delay = 3'600'000'000; // an hour
    HcaSoftwareSetFaults(hcas.guid(0), 1, &faults);
    for (unsigned i = 1; i < max_in_flight; ++i)
        client.send(to_lid(two.lid()), mad(performance_class, get_method, port_counters));
    faults = {};
    faults.DuplicationOnceIn = 1;
    faults.ReorderingOnceIn = 1; // the SMP may overtake the delayed datagrams
    HcaSoftwareSetFaults(hcas.guid(0), 1, &faults);
    subnet_client manager(one);
    // neither the SMP nor its response is duplicated
    EXPECT_EQ(manager.get({1}, sm_node_info).status(), 0);
    EXPECT_EQ(counters(switch1_guid, 1).Vl15Dropped, 1u);
    EXPECT_EQ(counters(hcas.guid(0), 1).Vl15Dropped, 1u);
    faults = {};
    faults.Delay = 3'600'000'000;
    HcaSoftwareSetFaults(hcas.guid(0), 1, &faults);
    client.send(to_lid(two.lid()), mad(performance_class, get_method, port_counters));
    const ULONGLONG discarded = counters(hcas.guid(0), 1).TransmitDiscards;
    client.send(to_lid(two.lid()), mad(performance_class, get_method, port_counters));
    EXPECT_EQ(counters(hcas.guid(0), 1).TransmitDiscards - discarded, 1u);
}

IRPVERBS_ON_THE_REAL_MACHINE(FabricCapacity);

} // namespace
