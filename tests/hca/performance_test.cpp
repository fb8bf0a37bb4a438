// The performance management agents of CAs and switches.
#include "mad_client.hpp"

#include <support/both_machines.hpp>

namespace {

using namespace irpverbs::testing;

constexpr UCHAR get = 1;
constexpr UCHAR set = 2;
constexpr USHORT class_port_info = 0x01;
constexpr USHORT port_counters = 0x12;
constexpr USHORT port_counters_extended = 0x1D;
constexpr USHORT bad_attribute = 0x000C;
constexpr USHORT bad_field = 0x001C;
constexpr ib_lid_t switch1 = 6; // behind the five CA ports

class Performance : public BothMachines {
protected:
    mad ask(ib_lid_t lid, UCHAR method, USHORT attribute, UCHAR port = 1, USHORT select = 0) {
        mad request(performance_class, method, attribute);
        request[65] = port;
        request.put<2>(66, select);
        return client.ask(to_lid(lid), request).data;
    }

    attached hcas;
    open_hca one{hcas.fdo(0)};
    open_hca two{hcas.fdo(1)};
    mad_client client{one, agent_of(performance_class)};
};

TEST_P(Performance, SaysWhatItCan) {
    const mad info = ask(two.lid(), get, class_port_info);
    EXPECT_EQ(info.status(), 0);
    EXPECT_EQ(info.method(), 0x81);
    EXPECT_EQ(info.get<2>(66), 0x0300u); // all ports at once, extended counters
}

TEST_P(Performance, CountsWhatGoesBy) {
    const mad before = ask(two.lid(), get, port_counters_extended);
    const mad after = ask(two.lid(), get, port_counters_extended);
    EXPECT_EQ(after.get<8>(64 + 32) - before.get<8>(64 + 32), 1u); // packets received
    EXPECT_EQ(after.get<8>(64 + 16) - before.get<8>(64 + 16), 72u);
    EXPECT_EQ(after.get<8>(64 + 8) - before.get<8>(64 + 8), 72u); // the answer before
    EXPECT_EQ(ask(two.lid(), get, port_counters).get<4>(64 + 36), after.get<8>(64 + 32) + 1);
}

TEST_P(Performance, ResetsWhatIsSelected) {
    HcaSoftwareFlapLink(hcas.guid(1), 1);
    ask(two.lid(), get, port_counters);
    EXPECT_EQ(ask(two.lid(), get, port_counters)[64 + 7], 1); // LinkDowned
    const mad reset = ask(two.lid(), set, port_counters, 1, 1u << 2);
    EXPECT_EQ(reset[64 + 7], 0);
    EXPECT_NE(reset.get<4>(64 + 36), 0u);
    HCA_SOFTWARE_COUNTERS now{};
    HcaSoftwareCounters(hcas.guid(1), 1, &now);
    EXPECT_EQ(now.LinkDowned, 0u);
}

TEST_P(Performance, OfASwitchCountsItsPortsAloneAndTogether) {
    const mad alone = ask(switch1, get, port_counters_extended, 1);
    EXPECT_EQ(alone.status(), 0);
    EXPECT_NE(alone.get<8>(64 + 32), 0u);
    EXPECT_EQ(ask(switch1, get, port_counters_extended, 2).get<8>(64 + 32), 0u);
    EXPECT_GE(ask(switch1, get, port_counters_extended, 255).get<8>(64 + 32),
              alone.get<8>(64 + 32));
}

TEST_P(Performance, RefusesWhatIsNotThere) {
    EXPECT_EQ(ask(two.lid(), get, 0x7777).status(), bad_attribute);
    EXPECT_EQ(ask(two.lid(), get, port_counters, 9).status(), bad_field);
    mad newer(performance_class, get, port_counters);
    newer[2] = 7;
    EXPECT_EQ(client.ask(to_lid(two.lid()), newer).data.status(), 0x0004);
    mad_client baseboard(one, agent_of(5));
    EXPECT_EQ(baseboard.ask(to_lid(two.lid()), mad(5, get, 1)).data.status(), bad_attribute);
}

TEST_P(Performance, AClientsAgentStandsInForIt) {
    mad_client own(two, agent_of(performance_class, {get}));
    EXPECT_EQ(client.send(to_lid(two.lid()), mad(performance_class, get, port_counters)),
              STATUS_SUCCESS);
    EXPECT_EQ(own.receive().data.method(), get);
}

IRPVERBS_ON_BOTH_MACHINES(Performance);

} // namespace
