// The common half of the MAD service: the datagrams that reach an agent, and the end of waiting
// receivers.
#include "mad_hca.hpp"

#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

#include <array>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::sim_machine;

class MadAgent : public BothMachines {};

struct buffer {
    explicit buffer(ULONG size = IB_MAD_SIZE) : bytes(size) {
        receive.Data = bytes.data();
        receive.Size = size;
    }
    auto get(IB_MAD_AGENT* agent) {
        return [this, agent](IRP* irp) { return CiGetMad(agent, &receive, irp); };
    }
    std::vector<UCHAR> bytes;
    IB_MAD_RECEIVE receive{};
};

TEST_P(MadAgent, DatagramReceived_CompletesOldestIrpOnly) {
    const mad_hca hca;
    const agent_scope it(hca);
    buffer first;
    buffer second;
    verb_call older(first.get(it.agent));
    verb_call younger(second.get(it.agent));
    it.report(1, 60);
    EXPECT_TRUE(older.done());
    EXPECT_FALSE(younger.done());
    EXPECT_EQ(older.status(), STATUS_SUCCESS);
    EXPECT_EQ(older.information(), 60u);
    EXPECT_EQ(first.receive.Length, 60u);
    EXPECT_EQ(first.receive.From.Lid, 7);
    EXPECT_EQ(first.bytes[0], 1);
    it.report(2);
    EXPECT_EQ(younger.status(), STATUS_SUCCESS);
    EXPECT_EQ(second.bytes[0], 2);
}

TEST_P(MadAgent, DatagramsBeyondReceiveLimit_CountedAsLost) {
    const mad_hca hca;
    IB_MAD_AGENT_ATTR attr = performance_agent();
    attr.ReceiveLimit = 2;
    const agent_scope it(hca, attr);
    for (UCHAR each = 1; each <= 5; ++each)
        it.report(each);
    for (const auto& [first, lost] : {std::pair{1, 3u}, {2, 0u}}) {
        buffer into;
        EXPECT_EQ(verb_call(into.get(it.agent)).status(), STATUS_SUCCESS);
        EXPECT_EQ(into.bytes[0], first);
        EXPECT_EQ(into.receive.Lost, lost);
    }
}

TEST_P(MadAgent, MessageLongerThanBuffer_RemainsNext) {
    const mad_hca hca;
    const agent_scope it(hca);
    buffer small;
    verb_call waiting(small.get(it.agent));
    it.report(9, 1000);
    EXPECT_EQ(waiting.status(), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(small.receive.Length, 1000u);
    EXPECT_EQ(verb_call(small.get(it.agent)).status(), STATUS_BUFFER_OVERFLOW);
    buffer enough(1000);
    EXPECT_EQ(verb_call(enough.get(it.agent)).status(), STATUS_SUCCESS);
    EXPECT_EQ(enough.bytes[0], 9);
}

TEST_P(MadAgent, UpCall_RunsAtDispatchLevelAndReceivesAll) {
    struct observation {
        KIRQL level = PASSIVE_LEVEL;
        std::vector<UCHAR> first;
    } observed;
    const mad_hca hca;
    const IB_MAD_DISPATCH calls{[](IB_MAD_AGENT*, void* context, const IB_MAD_RECEIVED* received) {
        auto& here = *static_cast<observation*>(context);
        here.level = KeGetCurrentIrql();
        here.first.push_back(*static_cast<const UCHAR*>(received->Data));
    }};
    const agent_scope it(hca, performance_agent(), &calls, &observed);
    it.report(1);
    it.report(2);
    EXPECT_EQ(observed.level, DISPATCH_LEVEL);
    EXPECT_EQ(observed.first, (std::vector<UCHAR>{1, 2}));
    buffer none;
    EXPECT_EQ(verb_call(none.get(it.agent)).status(), STATUS_INVALID_DEVICE_REQUEST);
}

TEST_P(MadAgent, Deregistration_CancelsWaitsAndMakesCaClosable) {
    const mad_hca hca;
    agent_scope it(hca);
    buffer into;
    verb_call waiting(into.get(it.agent));
    EXPECT_EQ(close_ca(hca.ca), STATUS_DEVICE_BUSY);
    EXPECT_EQ(it.deregister(), STATUS_SUCCESS);
    EXPECT_TRUE(waiting.done());
    EXPECT_EQ(waiting.status(), STATUS_CANCELLED);
}

TEST_P(MadAgent, DeregisterInsideUpCall_Completes) {
    struct closer {
        std::unique_ptr<verb_call> call;
    } observed;
    const mad_hca hca;
    const IB_MAD_DISPATCH calls{[](IB_MAD_AGENT* agent, void* context, const IB_MAD_RECEIVED*) {
        static_cast<closer*>(context)->call =
            std::make_unique<verb_call>([&](IRP* irp) { return CiDeregisterMadAgent(agent, irp); });
    }};
    agent_scope it(hca, performance_agent(), &calls, &observed);
    it.report(1);
    EXPECT_EQ(observed.call->status(), STATUS_SUCCESS);
    it.agent = nullptr;
}

TEST_P(MadAgent, OldestWaitCancelled_NextDatagramCompletesNextWait) {
    const mad_hca hca;
    const agent_scope it(hca);
    buffer first;
    buffer second;
    verb_call older(first.get(it.agent));
    verb_call younger(second.get(it.agent));
    EXPECT_TRUE(older.cancel());
    EXPECT_EQ(older.status(), STATUS_CANCELLED);
    it.report(3);
    EXPECT_EQ(younger.status(), STATUS_SUCCESS);
}

TEST_P(MadAgent, FatalEvent_QueuedDatagramsStillReceived) {
    const mad_hca hca;
    const agent_scope it(hca);
    it.report(1);
    HcaReportFatal(hca.fdo);
    buffer into;
    EXPECT_EQ(verb_call(into.get(it.agent)).status(), STATUS_SUCCESS);
    EXPECT_EQ(verb_call(into.get(it.agent)).status(), STATUS_FILE_FORCED_CLOSED);
}

TEST_P(MadAgent, InvalidSend_ReturnsInvalidParameter) {
    mad_hca hca;
    const agent_scope it(hca);
    const std::array<UCHAR, 300> bytes{42};
    IB_MAD_SEND send{};
    const auto status = [&](const void* data, ULONG length) {
        send.Data = data;
        send.Length = length;
        return verb_call([&](IRP* irp) { return CiSendMad(it.agent, &send, irp); }).status();
    };
    EXPECT_EQ(status(nullptr, 256), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(status(bytes.data(), 23), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(status(bytes.data(), 257), STATUS_INVALID_PARAMETER);
    EXPECT_TRUE(hca.sent.empty());
    EXPECT_EQ(status(bytes.data(), 24), STATUS_SUCCESS);
    EXPECT_EQ(status(bytes.data(), 256), STATUS_SUCCESS);
    EXPECT_EQ(hca.sent, (std::vector<UCHAR>{42, 42}));
    EXPECT_EQ(verb_call([&](IRP* irp) { return CiSendMad(it.agent, nullptr, irp); }).status(),
              STATUS_INVALID_PARAMETER);
}

TEST_P(MadAgent, InvalidAgentAttributes_ReturnInvalidParameter) {
    const mad_hca hca;
    const auto status = [&](auto change) {
        IB_MAD_AGENT_ATTR attr = performance_agent();
        change(attr);
        return verb_call([&](IRP* irp) {
                   return CiRegisterMadAgent(hca.ca, &attr, nullptr, nullptr, irp);
               })
            .status();
    };
    EXPECT_EQ(status([](auto& a) { a.PortNumber = 0; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(status([](auto& a) { a.PortNumber = 3; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(status([](auto& a) { a.ManagementClass = 0; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(status([](auto& a) { a.Rmpp = 2; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(status([](auto& a) { a.Oui[1] = 2; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(status([](auto& a) { a.QpKind = IB_MAD_QP_OWN_MADS; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(status([](auto& a) { a.ManagementClass = 0, a.QpKind = 3; }),
              STATUS_INVALID_PARAMETER);
    EXPECT_EQ(verb_call([&](IRP* irp) {
                  return CiRegisterMadAgent(hca.ca, nullptr, nullptr, nullptr, irp);
              }).status(),
              STATUS_INVALID_PARAMETER);
}

// Either the waiter received the datagram, or the next receiver does.
TEST(MadAgentRaces, DatagramDuringCancel_NotLost) {
    expect_explored({}, [](sim_machine& sim) {
        const mad_hca hca;
        const agent_scope it(hca);
        buffer first;
        buffer second;
        verb_call waiter(first.get(it.agent));
        sim.spawn("cancel", [&] { waiter.cancel(); });
        sim.spawn("datagram", [&] { it.report(1); });
        sim.run();
        verb_call next(second.get(it.agent));
        EXPECT_EQ(next.done(), waiter.status() == STATUS_CANCELLED);
        next.cancel();
    });
}

TEST(MadAgentRaces, DeregistrationDuringCancel_CompletesEachWaitOnce) {
    expect_explored({}, [](sim_machine& sim) {
        const mad_hca hca;
        agent_scope it(hca);
        buffer first;
        buffer second;
        verb_call one(first.get(it.agent));
        verb_call two(second.get(it.agent));
        sim.spawn("cancel", [&] { one.cancel(); });
        sim.spawn("deregister", [&] { EXPECT_EQ(it.deregister(), STATUS_SUCCESS); });
        sim.run();
        EXPECT_EQ(one.status(), STATUS_CANCELLED);
        EXPECT_EQ(two.status(), STATUS_CANCELLED);
    });
}

IRPVERBS_ON_BOTH_MACHINES(MadAgent);

} // namespace
