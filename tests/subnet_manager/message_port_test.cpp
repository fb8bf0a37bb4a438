// A queue that is slower than the arrivals: the number of waiting requests is bounded.
#include "managed_fabric.hpp"

#include <message_port.hpp>

#include <ci/mad.h>
#include <saa/sa_recs.h>
#include <support/both_machines.hpp>

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
