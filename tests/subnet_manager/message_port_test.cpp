// A queue that is slower than the arrivals: the number of waiting requests is bounded. Messages to
// a peer that does not respond: they end early when they are cancelled.
#include "managed_fabric.hpp"

#include <message_port.hpp>
#include <sa/reporter.hpp>

#include <ci/mad.h>
#include <dispatch/timer.h>
#include <saa/sa_recs.h>
#include <support/both_machines.hpp>

#include <optional>

namespace {

using namespace irpverbs::testing;
using namespace irpverbs::subnet_manager;

class MessagePort : public BothMachines {
protected:
    MessagePort() {
        KeInitializeEvent(&go_on, NotificationEvent, FALSE);
        ibmf_register_info_t info{hcas.guid(0), 1, SUBN_ADM_AGENT};
        ibmf_impl_caps_t capabilities{};
        EXPECT_EQ(ibmf_register(&info, IBMF_VERSION, IBMF_REG_FLAG_RMPP | IBMF_REG_FLAG_NO_OFFLOAD,
                                nullptr, nullptr, &client, &capabilities),
                  IBMF_SUCCESS);
        EXPECT_TRUE(queue->post_call(
            [this] { KeWaitForSingleObject(&go_on, Executive, KernelMode, FALSE, nullptr); }));
    }
    ~MessagePort() { EXPECT_EQ(ibmf_unregister(&client, 0), IBMF_SUCCESS); }

    void flood(unsigned requests) {
        for (unsigned i = 0; i < requests; ++i) {
            mad request(MAD_MGMT_CLASS_SUBN_ADM, SA_SUBN_ADM_GET, SA_NODERECORD_ATTRID);
            request[2] = 2; // the class's version
            request.put<8>(8, i + 1);
            EXPECT_EQ(sender.send(to_lid(open_hca(hcas.fdo(0)).lid()), request), STATUS_SUCCESS);
        }
    }

    message_parts request_to_silent_peer() {
        message_parts request;
        request.peer.local.ia_remote_lid = from.lid();
        request.peer.local.ia_remote_qno = 1;
        request.peer.local.ia_p_key = IB_PKEY_DEFAULT_FULL;
        request.peer.local.ia_q_key = IB_QP1_QKEY;
        request.header = {.mgmt_class = MAD_MGMT_CLASS_SUBN_ADM,
                          .class_version = 2,
                          .method = SA_SUBN_ADM_REPORT,
                          .transaction_id = 1,
                          .attribute_id = SA_NOTICE_ATTRID};
        request.class_header.resize(irpverbs::ibmf::sa_header::size);
        request.data.resize(200);
        return request;
    }

    const attached hcas{"software:?static"};
    const std::shared_ptr<serial_queue> queue = std::make_shared<serial_queue>();
    KEVENT go_on{};
    ibmf_handle_t client = nullptr;
    open_hca from{hcas.fdo(1)};
    mad_client sender{from, agent_of(MAD_MGMT_CLASS_SUBN_ADM)};
};

TEST_P(MessagePort, Flood_ByOnePeer_ReceivesBusyBeyondItsShare) {
    unsigned heard = 0;
    message_port port(*queue, message_port::overflow::respond_busy, [] {});
    ASSERT_EQ(port.open(client, [&](message_parts) { ++heard; }), IBMF_SUCCESS);
    constexpr unsigned surplus = 10;
    flood(message_port::max_per_peer + surplus);
    for (unsigned i = 0; i < surplus; ++i)
        EXPECT_EQ(sender.receive().data.status(), MAD_STATUS_BUSY);
    EXPECT_FALSE(port.idle());
    KeSetEvent(&go_on, IO_NO_INCREMENT, FALSE);
    EXPECT_TRUE(eventually([&] { return port.idle(); }));
    EXPECT_EQ(heard, message_port::max_per_peer);
    flood(1);
    EXPECT_TRUE(eventually([&] { return heard == message_port::max_per_peer + 1; }));
    port.close();
}

TEST_P(MessagePort, Flood_OfTraps_IsDroppedBeyondItsShare) {
    unsigned heard = 0;
    message_port port(*queue, message_port::overflow::drop, [] {});
    ASSERT_EQ(port.open(client, [&](message_parts) { ++heard; }), IBMF_SUCCESS);
    flood(message_port::max_per_peer + 10);
    EXPECT_TRUE(eventually([&] { return !port.idle(); }));
    KeSetEvent(&go_on, IO_NO_INCREMENT, FALSE);
    EXPECT_TRUE(eventually([&] { return port.idle(); }));
    EXPECT_EQ(heard, message_port::max_per_peer);
    port.close();
}

TEST_P(MessagePort, MessageCancelled_EndsBeforeItsRepeats) {
    message_port port(*queue, message_port::overflow::drop, [] {});
    ASSERT_EQ(port.open(client, [](message_parts) {}), IBMF_SUCCESS);
    constexpr ibmf_retrans_t for_an_hour{.retrans_retries = 3600,
                                         .retrans_rtv = 1'000'000,
                                         .retrans_rttv = 0,
                                         .retrans_trans_to = 0};
    std::optional<int> ended;
    EXPECT_TRUE(queue->post_call([&] {
        const auto number = port.send(request_to_silent_peer(), IBMF_MSG_TRANS_FLAG_SEQ,
                                      for_an_hour, [&](int status) { ended = status; });
        port.cancel(number);
    }));
    KeSetEvent(&go_on, IO_NO_INCREMENT, FALSE);
    EXPECT_TRUE(eventually([&] { return ended.has_value() && port.idle(); }));
    EXPECT_EQ(ended, IBMF_TRANS_FAILURE);
    bool again = false;
    EXPECT_TRUE(queue->post_call([&] {
        port.cancel(1); // has ended
        again = true;
    }));
    EXPECT_TRUE(eventually([&] { return again; }));
    port.close();
}

// A manager that is no longer the master leaves the Reports to the next one.
TEST_P(MessagePort, ReporterDestroyed_ItsReportIsNotRepeated) {
    message_port port(*queue, message_port::overflow::drop, [] {});
    ASSERT_EQ(port.open(client, [](message_parts) {}), IBMF_SUCCESS);
    const ib_lid_t peer = from.lid();
    bool was_sent = false;
    const ULONGLONG before = KeQueryInterruptTime();
    EXPECT_TRUE(queue->post_call([&] {
        reporter reports(port, [](const subscriber&) {});
        subscription to;
        to.from = {{}, peer, 1, IB_PKEY_DEFAULT_FULL, 0};
        reports.send(to, {});
        was_sent = true;
    }));
    KeSetEvent(&go_on, IO_NO_INCREMENT, FALSE);
    EXPECT_TRUE(eventually([&] { return was_sent && port.idle(); }));
    constexpr ULONGLONG two_seconds = 20'000'000; // the repeats take almost five
    EXPECT_LT(KeQueryInterruptTime() - before, two_seconds);
    port.close();
}

TEST_P(MessagePort, Task_ThatThrows_CostsNothingButItself) {
    unsigned failures = 0;
    const auto other = std::make_shared<serial_queue>([&] { ++failures; });
    bool after = false;
    EXPECT_TRUE(other->post_call([] { throw std::bad_alloc(); }));
    EXPECT_TRUE(other->post_call([&] { after = true; }));
    EXPECT_TRUE(eventually([&] { return after; }));
    EXPECT_EQ(failures, 1u);
    KeSetEvent(&go_on, IO_NO_INCREMENT, FALSE);
}

IRPVERBS_ON_THE_SIMULATED_MACHINE(MessagePort);

} // namespace
