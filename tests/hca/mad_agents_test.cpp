// The MAD service of the software HCA: permitted registrations, and the agents that a datagram
// reaches.
#include "mad_client.hpp"

#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

namespace {

using namespace irpverbs::testing;

constexpr UCHAR report = 6;
constexpr UCHAR administration_class = 3;
constexpr UCHAR vendor_with_oui = 0x32;

class MadAgents : public BothMachines {
protected:
    NTSTATUS try_register(IB_MAD_AGENT_ATTR attr) {
        verb_call make(
            [&](IRP* irp) { return CiRegisterMadAgent(one, &attr, nullptr, nullptr, irp); });
        if (make.status() != STATUS_SUCCESS) return make.status();
        auto* agent = make.object<IB_MAD_AGENT>();
        return verb_call([&](IRP* irp) { return CiDeregisterMadAgent(agent, irp); }).status();
    }

    attached hcas;
    open_hca one{hcas.fdo(0)};
    open_hca two{hcas.fdo(1)};
};

TEST_P(MadAgents, MethodOfClassAlreadyRegistered_FailsWithSharingViolation) {
    const mad_client first(one, agent_of(vendor_class, {get_method, send_method}));
    EXPECT_EQ(try_register(agent_of(vendor_class, {set_method, send_method})),
              STATUS_SHARING_VIOLATION);
    EXPECT_EQ(try_register(agent_of(vendor_class, {set_method})), STATUS_SUCCESS);
    EXPECT_EQ(try_register(agent_of(vendor_class)), STATUS_SUCCESS);
    EXPECT_EQ(try_register(agent_of(vendor_class, {get_method}, 2)), STATUS_SUCCESS);
    EXPECT_EQ(try_register(agent_of(vendor_class + 1, {get_method})), STATUS_SUCCESS);
    IB_MAD_AGENT_ATTR newer = agent_of(vendor_class, {get_method});
    newer.ClassVersion = 2;
    EXPECT_EQ(try_register(newer), STATUS_SUCCESS);
}

TEST_P(MadAgents, AgentsForReports_ReceiveEachReport) {
    mad_client first(one, agent_of(administration_class, {report}));
    mad_client second(one, agent_of(administration_class, {report}));
    const mad_client elsewhere(one, agent_of(administration_class, {report}, 2));
    EXPECT_EQ(try_register(agent_of(administration_class, {get_method, report})),
              STATUS_SHARING_VIOLATION);
    mad_client sender(two, agent_of(administration_class));
    for (const USHORT attribute : {USHORT{1}, USHORT{2}}) {
        sender.send(to_lid(one.lid()), mad(administration_class, report, attribute));
        for (mad_client* const each : {&first, &second}) {
            const mad got = each->receive().data;
            EXPECT_EQ(got.get<2>(16), attribute) << "once each";
        }
    }
}

TEST_P(MadAgents, RemovedAgentForReports_OthersReceive) {
    auto first = std::make_unique<mad_client>(one, agent_of(administration_class, {report}));
    mad_client second(one, agent_of(administration_class, {report}));
    first.reset();
    mad_client sender(two, agent_of(administration_class));
    sender.send(to_lid(one.lid()), mad(administration_class, report, 1));
    EXPECT_EQ(second.receive().data.get<2>(16), 1u);
}

TEST_P(MadAgents, VendorClassWithOui_AgentsSelectedByOui) {
    IB_MAD_AGENT_ATTR attr = agent_of(vendor_with_oui, {get_method});
    attr.Oui[2] = 7;
    const mad_client first(one, attr);
    EXPECT_EQ(try_register(attr), STATUS_SHARING_VIOLATION);
    attr.Oui[2] = 8;
    mad_client second(one, attr);
    mad_client sender(two, agent_of(vendor_with_oui));
    sender.send(to_lid(one.lid()), mad(vendor_with_oui, get_method, 1).put<3>(37, 8));
    EXPECT_EQ(second.receive().data.get<3>(37), 8u);
}

TEST_P(MadAgents, Oui_OfZero_ReceivesThoseThatNoOtherAgentReceives) {
    IB_MAD_AGENT_ATTR attr = agent_of(vendor_with_oui, {get_method});
    mad_client any(one, attr);
    attr.Oui[2] = 7;
    mad_client seven(one, attr);
    mad_client sender(two, agent_of(vendor_with_oui));
    for (const UCHAR oui : {UCHAR{7}, UCHAR{8}, UCHAR{0}})
        sender.send(to_lid(one.lid()), mad(vendor_with_oui, get_method, 1).put<3>(37, oui));
    EXPECT_EQ(seven.receive().data.get<3>(37), 7u);
    EXPECT_EQ(any.receive().data.get<3>(37), 8u);
    EXPECT_EQ(any.receive().data.get<3>(37), 0u);
}

TEST_P(MadAgents, RmppByDriver_IsNotSupported) {
    IB_MAD_AGENT_ATTR attr = agent_of(vendor_class);
    attr.Rmpp = IB_MAD_RMPP_BY_DRIVER;
    EXPECT_EQ(try_register(attr), STATUS_NOT_SUPPORTED);
}

TEST_P(MadAgents, RequestAndResponse_ReachTheirAgents) {
    mad_client gets(two, agent_of(vendor_class, {get_method}));
    mad_client sets(two, agent_of(vendor_class, {set_method}));
    mad_client bystander(one, agent_of(vendor_class));
    mad_client asker(one, agent_of(vendor_class));
    asker.send(to_lid(two.lid()), mad(vendor_class, set_method, 5).with_transaction(77));
    received_mad request = sets.receive();
    EXPECT_EQ(request.from.Lid, one.lid());
    EXPECT_EQ(request.from.Qp, 1u);
    EXPECT_EQ(request.data.own_transaction(), 77u);
    EXPECT_NE(request.data.get<4>(8), 0u); // the driver's half
    sets.send(request.from, request.data.as_response());
    const received_mad response = asker.receive();
    EXPECT_EQ(response.data.method(), 0x82);
    EXPECT_EQ(response.data.own_transaction(), 77u);
    EXPECT_EQ(response.from.Lid, two.lid());
}

// A datagram may go from a port to itself and between the ports of one HCA.
TEST_P(MadAgents, SendWithinOneHca_ReachesItsPorts) {
    mad_client first(one, agent_of(vendor_class, {send_method}));
    mad_client second(one, agent_of(vendor_class, {send_method}, 2));
    for (const auto& [lid, receiver] : {std::pair{one.lid(1), &first}, {one.lid(2), &second}}) {
        EXPECT_EQ(first.send(to_lid(lid), mad(vendor_class, send_method, 9)), STATUS_SUCCESS);
        EXPECT_EQ(receiver->receive().from.Lid, one.lid(1));
    }
}

TEST_P(MadAgents, ShortDatagram_IsPaddedWithZeros) {
    mad_client receiver(two, agent_of(vendor_class, {send_method}));
    mad_client sender(one, agent_of(vendor_class));
    mad sent(vendor_class, send_method, 9);
    sent.put<8>(24, ~0ull);
    EXPECT_EQ(sender.send(to_lid(two.lid()), sent, 28), STATUS_SUCCESS);
    EXPECT_EQ(receiver.receive().data.get<8>(24), 0xFFFFFFFF00000000u);
}

TEST_P(MadAgents, InvalidSend_FailsWithInvalidParameter) {
    mad_client sender(one, agent_of(vendor_class));
    const mad good(vendor_class, send_method, 9);
    EXPECT_EQ(sender.send(to_lid(two.lid()), mad(vendor_class + 1, send_method, 9)),
              STATUS_INVALID_PARAMETER);
    IB_MAD_ADDRESS to = to_lid(two.lid());
    to.PKeyIndex = 1000;
    EXPECT_EQ(sender.send(to, good), STATUS_INVALID_PARAMETER);
    to = to_lid(two.lid());
    to.GidIndex = 100;
    EXPECT_EQ(sender.send(to, good), STATUS_SUCCESS); // without a GRH it has no meaning
    to.Flags = IB_MAD_GRH;
    EXPECT_EQ(sender.send(to, good), STATUS_INVALID_PARAMETER);
}

struct leaver {
    int calls = 0;
    KIRQL level = PASSIVE_LEVEL;
    verb_call deregistration;
};

// Deregistration pends until the up-call has returned; later reports reach no agent.
TEST(MadAgentRaces, DeregistrationDuringReceive_NoUpCallAfterwards) {
    using namespace irpverbs::dispatch;
    explore_options options;
    options.random_runs = 300;
    options.pct_runs = 300;
    expect_explored(options, [](sim_machine& sim) {
        attached hcas;
        const open_hca ca(hcas.fdo());
        leaver receiver;
        const IB_MAD_DISPATCH calls{[](IB_MAD_AGENT*, void* context, const IB_MAD_RECEIVED*) {
            auto& self = *static_cast<leaver*>(context);
            EXPECT_FALSE(self.deregistration.done());
            self.level = KeGetCurrentIrql();
            ++self.calls;
        }};
        const IB_MAD_AGENT_ATTR attr = agent_of(vendor_class, {send_method});
        verb_call make(
            [&](IRP* irp) { return CiRegisterMadAgent(ca, &attr, &receiver, &calls, irp); });
        auto* agent = make.object<IB_MAD_AGENT>();
        {
            mad_client sender(ca, agent_of(vendor_class));
            const ib_lid_t lid = ca.lid();
            sim.spawn("send", [&] {
                sender.send(to_lid(lid), mad(vendor_class, send_method, 9));
                sender.send(to_lid(lid), mad(vendor_class, send_method, 9));
            });
            sim.spawn("deregister", [&] {
                KeStallExecutionProcessor(1);
                receiver.deregistration.send(
                    [&](IRP* irp) { return CiDeregisterMadAgent(agent, irp); });
            });
            sim.run();
        }
        EXPECT_EQ(receiver.deregistration.status(), STATUS_SUCCESS);
        EXPECT_LE(receiver.calls, 2);
        if (receiver.calls != 0) {
            EXPECT_EQ(receiver.level, DISPATCH_LEVEL);
        }
    });
}

IRPVERBS_ON_BOTH_MACHINES(MadAgents);

} // namespace
