// Datagrams in C++: a message of any length arrives whole, and agents close themselves.
#include "fake_hca.hpp"

#include <support/both_machines.hpp>
#include <support/coroutines.hpp>

#include <ci/async.hpp>

#include <algorithm>

namespace {

using namespace irpverbs;
using irpverbs::testing::call_result;
using irpverbs::testing::fake_hca;

class AsyncMad : public irpverbs::testing::BothMachines {
protected:
    AsyncMad() {
        hca.operations.RegisterMadAgent = [](HCA_MAD_AGENT*, IRP*) { return STATUS_SUCCESS; };
        ci::open_ca(hca.fdo, opened.handler());
        IB_MAD_AGENT_ATTR attr{};
        attr.PortNumber = 1;
        attr.ManagementClass = 4;
        attr.ClassVersion = 1;
        attr.ReceiveLimit = 2;
        ci::register_mad_agent(opened.result(), attr, registered.handler());
        agent = std::move(registered.result());
    }

    void report(UCHAR first, ULONG length = IB_MAD_SIZE) {
        std::vector<UCHAR> bytes(length);
        bytes[0] = first;
        IB_MAD_RECEIVED received{};
        received.From.Lid = 7;
        received.Data = bytes.data();
        received.Length = length;
        IB_MAD_AGENT* raw = agent;
        HcaReportMad(reinterpret_cast<HCA_MAD_AGENT*>(raw), &received);
    }

    fake_hca hca;
    call_result<ci::channel_adapter> opened;
    call_result<ci::mad_agent> registered;
    ci::mad_agent agent;
};

TEST_P(AsyncMad, LongMessagesAfterLoss_ReceivedWholeWithLossCount) {
    for (UCHAR each = 1; each <= 3; ++each)
        report(each, 1000);
    call_result<ci::received_mad> got;
    ci::get_mad(agent, got.handler());
    EXPECT_EQ(got.status(), STATUS_SUCCESS);
    EXPECT_EQ(got.result().data.size(), 1000u);
    EXPECT_EQ(got.result().data[0], std::byte{1});
    EXPECT_EQ(got.result().from.Lid, 7);
    EXPECT_EQ(got.result().lost, 1u);
}

TEST_P(AsyncMad, PendingReceive_CompletesWithLongMessage) {
    call_result<ci::received_mad> got;
    agent.datagrams().next(got.handler());
    report(5, 4000);
    EXPECT_EQ(got.status(), STATUS_SUCCESS);
    EXPECT_EQ(got.result().data.size(), 4000u);
}

TEST_P(AsyncMad, AgentDestroyed_CancelsWaitsAndClosesAdapter) {
    call_result<ci::received_mad> waiting;
    const ci::mad_stream datagrams = agent.datagrams();
    datagrams.next(waiting.handler());
    opened.result() = {};
    EXPECT_EQ(hca.closed, 0);
    agent = {};
    EXPECT_EQ(hca.closed, 1);
    EXPECT_EQ(waiting.status(), STATUS_CANCELLED);
    EXPECT_TRUE(waiting.result().data.empty());
    call_result<ci::received_mad> late;
    datagrams.next(late.handler());
    EXPECT_EQ(late.status(), STATUS_FILE_CLOSED);
}

IRPVERBS_ON_BOTH_MACHINES(AsyncMad);

} // namespace
