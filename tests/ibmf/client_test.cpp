// Registrations, handles and messages: the permitted registrations, and the notices of a failed
// HCA.
#include "ibmf_client.hpp"

#include <support/both_machines.hpp>

namespace {

using namespace irpverbs::testing;

class IbmfClients : public BothMachines {};

int try_register(ib_guid_t guid, uint_t port, int type, uint_t version = IBMF_VERSION,
                 uint_t flags = 0) {
    ibmf_register_info_t info{guid, port, static_cast<ibmf_client_type_t>(type)};
    ibmf_handle_t handle = nullptr;
    ibmf_impl_caps_t capabilities{};
    const int status =
        ibmf_register(&info, version, flags, nullptr, nullptr, &handle, &capabilities);
    if (status == IBMF_SUCCESS) {
        EXPECT_EQ(ibmf_unregister(&handle, 0), IBMF_SUCCESS);
        EXPECT_EQ(handle, nullptr);
    }
    return status;
}

TEST_P(IbmfClients, InvalidArguments_CheckedInContractOrder) {
    const wire joined;
    const ib_guid_t guid = wire::guids[0];
    EXPECT_EQ(ibmf_register(nullptr, 2, 0, nullptr, nullptr, nullptr, nullptr), IBMF_INVALID_ARG);
    EXPECT_EQ(try_register(1, 9, 9, 2, 0x80), IBMF_BAD_VERSION);
    EXPECT_EQ(try_register(1, 9, 9, 1, 0x80), IBMF_BAD_FLAGS);
    EXPECT_EQ(try_register(1, 9, 9, 1, IBMF_REG_FLAG_NO_OFFLOAD | IBMF_REG_FLAG_SINGLE_OFFLOAD),
              IBMF_BAD_FLAGS);
    EXPECT_EQ(try_register(1, 9, 9), IBMF_BAD_CLASS);
    EXPECT_EQ(try_register(1, 9, PERF_AGENT), IBMF_BAD_NODE);
    EXPECT_EQ(try_register(guid, 0, PERF_AGENT), IBMF_BAD_PORT);
    EXPECT_EQ(try_register(guid, 2, PERF_AGENT), IBMF_BAD_PORT);
    EXPECT_EQ(try_register(guid, 257, PERF_AGENT), IBMF_BAD_PORT);
    EXPECT_EQ(try_register(guid, 2, UNIVERSAL_CLASS), IBMF_BAD_PORT);
    EXPECT_EQ(try_register(guid, 1, UNIVERSAL_CLASS), IBMF_NOT_SUPPORTED);
    EXPECT_EQ(try_register(guid, 1, PERF_AGENT), IBMF_SUCCESS);
}

TEST_P(IbmfClients, AllClassesAtOnce_AreRegistered) {
    const wire joined;
    std::vector<int> types{SUBN_AGENT,    SUBN_MANAGER,   SUBN_ADM_AGENT, SUBN_ADM_MANAGER,
                           PERF_AGENT,    PERF_MANAGER,   BM_AGENT,       BM_MANAGER,
                           DEV_MGT_AGENT, DEV_MGT_MANAGER};
    for (int mgmt_class = 0x07; mgmt_class <= 0x4F; ++mgmt_class)
        types.push_back(0x00030000 | mgmt_class);
    std::vector<std::unique_ptr<client_scope>> all;
    for (const int type : types)
        all.push_back(std::make_unique<client_scope>(0u, static_cast<ibmf_client_type_t>(type)));
    for (const int type : types)
        EXPECT_EQ(try_register(wire::guids[0], 1, type), IBMF_PORT_IN_USE);
    EXPECT_EQ(try_register(wire::guids[1], 1, PERF_AGENT), IBMF_SUCCESS);
    EXPECT_EQ(HcaRefuseOpen(joined.fdo(0)), STATUS_DEVICE_BUSY);
}

int try_register_oui(int type, std::uint32_t oui) {
    ibmf_register_info_t info{wire::guids[1], 1, static_cast<ibmf_client_type_t>(type)};
    ibmf_handle_t handle = nullptr;
    ibmf_impl_caps_t capabilities{};
    const int status =
        ibmf_register_oui(&info, oui, IBMF_VERSION, 0, nullptr, nullptr, &handle, &capabilities);
    if (status == IBMF_SUCCESS) {
        EXPECT_EQ(ibmf_unregister(&handle, 0), IBMF_SUCCESS);
    }
    return status;
}

TEST_P(IbmfClients, OuiOutOfRangeOrOfOtherClass_IsRefused) {
    const wire joined;
    EXPECT_EQ(try_register_oui(VENDOR_30_MANAGER_AGENT, 0), IBMF_INVALID_ARG);
    EXPECT_EQ(try_register_oui(VENDOR_30_MANAGER_AGENT, 0x1000000), IBMF_INVALID_ARG);
    EXPECT_EQ(try_register_oui(VENDOR_0F_MANAGER_AGENT, 0x1405), IBMF_BAD_CLASS);
    EXPECT_EQ(try_register_oui(PERF_AGENT, 0x1405), IBMF_BAD_CLASS);
    EXPECT_EQ(try_register_oui(VENDOR_4F_MANAGER_AGENT, 0xFFFFFF), IBMF_SUCCESS);
}

// Two vendors' agents of one class side by side: each receives the requests with its OUI.
TEST_P(IbmfClients, VendorRequest_ReachesClientOfItsOui) {
    constexpr std::uint32_t ouis[] = {0x001405, 0xABCDEF};
    wire joined;
    const ibmf_register_info_t there{wire::guids[1], 1, VENDOR_32_MANAGER_AGENT};
    const client_scope one(vendor{there, ouis[0]});
    const client_scope other(vendor{there, ouis[1]});
    EXPECT_EQ(try_register_oui(VENDOR_32_MANAGER_AGENT, ouis[1]), IBMF_PORT_IN_USE);
    const client_scope asker(0, VENDOR_32_MANAGER_AGENT);
    for (const std::uint32_t oui : ouis) {
        test_message request(asker.handle, {.mgmt_class = 0x32});
        request.set_oui(oui);
        EXPECT_EQ(request.send_and_wait(0), IBMF_SUCCESS);
    }
    joined.await_empty();
    EXPECT_EQ(one.stats().st_datagrams_received, 1u);
    EXPECT_EQ(other.stats().st_datagrams_received, 1u);
}

// Seed 000, 317: the client registers a class, not an OUI of it.
TEST_P(IbmfClients, VendorClassWithoutOui_ReceivesUnclaimedRequests) {
    constexpr std::uint32_t taken = 0x001405;
    wire joined;
    const client_scope any(1, VENDOR_32_MANAGER_AGENT);
    const client_scope one(vendor{{wire::guids[1], 1, VENDOR_32_MANAGER_AGENT}, taken});
    EXPECT_EQ(try_register(wire::guids[1], 1, VENDOR_32_MANAGER_AGENT), IBMF_PORT_IN_USE);
    const client_scope asker(0, VENDOR_32_MANAGER_AGENT);
    for (const std::uint32_t oui : {taken, 0xABCDEFu, 0u}) {
        test_message request(asker.handle, {.mgmt_class = 0x32});
        request.set_oui(oui);
        EXPECT_EQ(request.send_and_wait(0), IBMF_SUCCESS);
    }
    joined.await_empty();
    EXPECT_EQ(one.stats().st_datagrams_received, 1u);
    EXPECT_EQ(any.stats().st_datagrams_received, 2u);
}

TEST_P(IbmfClients, FreedHandle_IsRefusedByEveryCall) {
    const wire joined;
    ibmf_handle_t stale = nullptr;
    {
        const client_scope gone(0, PERF_MANAGER);
        stale = gone.handle;
    }
    const client_scope other(0, PERF_MANAGER); // in the slot of the first
    EXPECT_NE(other.handle, stale);
    ibmf_msg_t* msg = nullptr;
    ASSERT_EQ(ibmf_alloc_msg(other.handle, IBMF_ALLOC_NOSLEEP, &msg), IBMF_SUCCESS);
    for (ibmf_handle_t bad : {stale, ibmf_handle_t{}, reinterpret_cast<ibmf_handle_t>(~0ull)}) {
        ibmf_msg_t* none = nullptr;
        ibmf_handle_t copy = bad;
        ibmf_qp_handle_t qp = nullptr;
        uint_t number = 0;
        ib_pkey_t pkey = 0;
        ib_qkey_t qkey = 0;
        uint8_t port = 0;
        ibmf_stats_t stats;
        const auto call = [](ibmf_handle_t, ibmf_msg_t*, void*) {};
        EXPECT_EQ(ibmf_alloc_msg(bad, IBMF_ALLOC_SLEEP, &none), IBMF_BAD_HANDLE);
        EXPECT_EQ(ibmf_free_msg(bad, &msg), IBMF_BAD_HANDLE);
        EXPECT_EQ(ibmf_msg_transport(bad, nullptr, msg, nullptr, call, nullptr, 0),
                  IBMF_BAD_HANDLE);
        EXPECT_EQ(ibmf_setup_async_cb(bad, nullptr, call, nullptr, 0), IBMF_BAD_HANDLE);
        EXPECT_EQ(ibmf_tear_down_async_cb(bad, nullptr, 0), IBMF_BAD_HANDLE);
        EXPECT_EQ(ibmf_alloc_qp(bad, 0xFFFF, 0, IBMF_ALT_QP_RAW_ONLY, &qp), IBMF_BAD_HANDLE);
        EXPECT_EQ(ibmf_query_qp(bad, qp, &number, &pkey, &qkey, &port, 0), IBMF_BAD_HANDLE);
        EXPECT_EQ(ibmf_modify_qp(bad, qp, 0xFFFF, 0, 0), IBMF_BAD_HANDLE);
        EXPECT_EQ(ibmf_free_qp(bad, &qp, 0), IBMF_BAD_HANDLE);
        EXPECT_EQ(ibmf_query_stats(bad, B_FALSE, &stats), IBMF_BAD_HANDLE);
        EXPECT_EQ(ibmf_cancel_msg(bad, msg), IBMF_BAD_HANDLE);
        EXPECT_EQ(ibmf_resume_msg(bad, msg), IBMF_BAD_HANDLE);
        std::size_t length = 1;
        ibmf_transfer_result_t end;
        EXPECT_EQ(ibmf_stream_msg(bad, msg, call, nullptr), IBMF_BAD_HANDLE);
        EXPECT_EQ(ibmf_read_msg(bad, msg, &length, &length), IBMF_BAD_HANDLE);
        EXPECT_EQ(ibmf_query_transfer(bad, msg, &end), IBMF_BAD_HANDLE);
        EXPECT_EQ(ibmf_limit_port(bad, 1), IBMF_BAD_HANDLE);
        EXPECT_EQ(ibmf_set_is_sm(bad, B_TRUE), IBMF_BAD_HANDLE);
        EXPECT_EQ(ibmf_unregister(&copy, 0), IBMF_BAD_HANDLE);
    }
    EXPECT_EQ(ibmf_free_msg(other.handle, &msg), IBMF_SUCCESS);
}

TEST_P(IbmfClients, UnregisterWithHeldResources_ReturnsBusy) {
    const wire joined;
    client_scope it(0, PERF_MANAGER);
    ibmf_msg_t* msg = nullptr;
    ASSERT_EQ(ibmf_alloc_msg(it.handle, IBMF_ALLOC_SLEEP, &msg), IBMF_SUCCESS);
    EXPECT_EQ(ibmf_unregister(&it.handle, 0), IBMF_BUSY);
    EXPECT_EQ(ibmf_free_msg(it.handle, &msg), IBMF_SUCCESS);
    it.listen([](ibmf_handle_t, ibmf_msg_t*, void*) {}, nullptr);
    EXPECT_EQ(ibmf_unregister(&it.handle, 0), IBMF_BUSY);
    EXPECT_EQ(ibmf_tear_down_async_cb(it.handle, nullptr, 0), IBMF_SUCCESS);
    EXPECT_EQ(ibmf_unregister(&it.handle, 1), IBMF_INVALID_ARG);
    EXPECT_EQ(ibmf_unregister(nullptr, 0), IBMF_INVALID_ARG); // defect D3: dereferenced NULL
}

TEST_P(IbmfClients, AllocatedMessage_IsZeroedAndSecondFreeFails) {
    const wire joined;
    const client_scope it(0, PERF_MANAGER);
    const client_scope other(0, PERF_AGENT);
    ibmf_msg_t* msg = nullptr;
    EXPECT_EQ(ibmf_alloc_msg(it.handle, IBMF_ALLOC_SLEEP, nullptr), IBMF_INVALID_ARG);
    EXPECT_EQ(ibmf_alloc_msg(it.handle, 2, &msg), IBMF_BAD_FLAGS);
    // Defect D5: IBMF_ALLOC_SLEEP is not a bit.
    ASSERT_EQ(ibmf_alloc_msg(it.handle, IBMF_ALLOC_SLEEP, &msg), IBMF_SUCCESS);
    const ibmf_msg_t zero{};
    EXPECT_EQ(std::memcmp(msg, &zero, sizeof zero), 0);
    ibmf_msg_t* copy = msg;
    EXPECT_EQ(ibmf_free_msg(other.handle, &copy), IBMF_BAD_HANDLE);
    EXPECT_EQ(ibmf_free_msg(it.handle, &msg), IBMF_SUCCESS);
    EXPECT_EQ(msg, nullptr);
    EXPECT_EQ(ibmf_free_msg(it.handle, &copy), IBMF_BAD_HANDLE);
    EXPECT_EQ(ibmf_free_msg(it.handle, &msg), IBMF_INVALID_ARG);
    EXPECT_EQ(ibmf_free_msg(it.handle, nullptr), IBMF_INVALID_ARG);
}

TEST_P(IbmfClients, RepeatedCallbackSetupOrTearDown_IsRefused) {
    const wire joined;
    const client_scope it(0, PERF_AGENT);
    const auto call = [](ibmf_handle_t, ibmf_msg_t*, void*) {};
    const auto no_qp = reinterpret_cast<ibmf_qp_handle_t>(8);
    EXPECT_EQ(ibmf_setup_async_cb(it.handle, nullptr, nullptr, nullptr, 0), IBMF_INVALID_ARG);
    EXPECT_EQ(ibmf_setup_async_cb(it.handle, nullptr, call, nullptr, 1), IBMF_INVALID_ARG);
    EXPECT_EQ(ibmf_setup_async_cb(it.handle, no_qp, call, nullptr, 0), IBMF_BAD_QP_HANDLE);
    EXPECT_EQ(ibmf_tear_down_async_cb(it.handle, nullptr, 0), IBMF_CB_NOT_REGISTERED);
    EXPECT_EQ(ibmf_setup_async_cb(it.handle, nullptr, call, nullptr, 0), IBMF_SUCCESS);
    EXPECT_EQ(ibmf_setup_async_cb(it.handle, nullptr, call, nullptr, 0), IBMF_CB_REGISTERED);
    EXPECT_EQ(ibmf_tear_down_async_cb(it.handle, no_qp, 0), IBMF_BAD_QP_HANDLE);
    EXPECT_EQ(ibmf_tear_down_async_cb(it.handle, nullptr, 0), IBMF_SUCCESS);
}

// Defect D6: a flag must name exactly one kind of QP.
TEST_P(IbmfClients, AlternateQpCalls_ArgumentsCheckedThenNotSupported) {
    const wire joined;
    const client_scope it(0, PERF_MANAGER);
    ibmf_qp_handle_t qp = nullptr;
    const auto alloc = [&](ib_pkey_t key, uint_t flags) {
        return ibmf_alloc_qp(it.handle, key, IB_QP1_QKEY, flags, &qp);
    };
    EXPECT_EQ(ibmf_alloc_qp(it.handle, 0xFFFF, 0, IBMF_ALT_QP_RAW_ONLY, nullptr), IBMF_INVALID_ARG);
    EXPECT_EQ(alloc(0x8000, IBMF_ALT_QP_RAW_ONLY), IBMF_INVALID_ARG);
    EXPECT_EQ(alloc(0xFFFF, 0), IBMF_BAD_FLAGS);
    EXPECT_EQ(alloc(0xFFFF, IBMF_ALT_QP_MAD_RMPP | IBMF_ALT_QP_RAW_ONLY), IBMF_BAD_FLAGS);
    EXPECT_EQ(alloc(0xFFFF, 8), IBMF_BAD_FLAGS);
    EXPECT_EQ(alloc(0xFFFF, IBMF_ALT_QP_MAD_RMPP), IBMF_NOT_SUPPORTED);
    EXPECT_EQ(ibmf_free_qp(it.handle, nullptr, 0), IBMF_INVALID_ARG); // defect D3
    EXPECT_EQ(ibmf_free_qp(it.handle, &qp, 0), IBMF_BAD_QP_HANDLE);
    EXPECT_EQ(ibmf_modify_qp(it.handle, qp, 0x8000, 0, 0), IBMF_INVALID_ARG);
    EXPECT_EQ(ibmf_modify_qp(it.handle, qp, 0xFFFF, 0, 0), IBMF_BAD_QP_HANDLE);
}

struct offline_client {
    ibmf_handle_t handle = nullptr;
    ibmf_msg_t* held = nullptr;
    int notifications = 0;
    KIRQL level = DISPATCH_LEVEL;
    KEVENT done;

    offline_client() { KeInitializeEvent(&done, NotificationEvent, FALSE); }
    static void call(ibmf_handle_t handle, void* context, ibmf_async_event_t event) {
        auto& self = *static_cast<offline_client*>(context);
        EXPECT_EQ(event, IBMF_CI_OFFLINE);
        EXPECT_EQ(handle, self.handle);
        ++self.notifications;
        self.level = KeGetCurrentIrql();
        EXPECT_EQ(ibmf_free_msg(handle, &self.held), IBMF_SUCCESS);
        EXPECT_EQ(ibmf_unregister(&self.handle, 0), IBMF_SUCCESS);
        KeSetEvent(&self.done, IO_NO_INCREMENT, FALSE);
    }
};

TEST_P(IbmfClients, HcaFails_ClientUnregistersInCallback) {
    const wire joined;
    offline_client it;
    {
        client_scope made(0, PERF_MANAGER, 0, offline_client::call, &it);
        it.handle = std::exchange(made.handle, nullptr);
    }
    ASSERT_EQ(ibmf_alloc_msg(it.handle, IBMF_ALLOC_SLEEP, &it.held), IBMF_SUCCESS);
    HcaReportFatal(joined.fdo(0));
    KeWaitForSingleObject(&it.done, Executive, KernelMode, FALSE, nullptr);
    EXPECT_EQ(it.notifications, 1);
    EXPECT_EQ(it.level, PASSIVE_LEVEL);
    EXPECT_EQ(try_register(wire::guids[0], 1, PERF_MANAGER), IBMF_BAD_PORT_STATE);
}

// IBMF must not free the objects of a client that it does not notify.
TEST_P(IbmfClients, HcaFailsWithoutCallback_ObjectsStayUntilUnregister) {
    const wire joined;
    offline_client last;
    client_scope silent(0, PERF_MANAGER);
    test_message msg(silent.handle, {MAD_MGMT_CLASS_PERF});
    {
        // Notified after the silent client.
        client_scope made(0, PERF_AGENT, 0, offline_client::call, &last);
        last.handle = std::exchange(made.handle, nullptr);
    }
    ASSERT_EQ(ibmf_alloc_msg(last.handle, IBMF_ALLOC_SLEEP, &last.held), IBMF_SUCCESS);
    HcaReportFatal(joined.fdo(0));
    KeWaitForSingleObject(&last.done, Executive, KernelMode, FALSE, nullptr);
    EXPECT_EQ(msg.send_and_wait(), IBMF_BAD_PORT_STATE);
    EXPECT_EQ(ibmf_unregister(&silent.handle, 0), IBMF_BUSY);
    EXPECT_EQ(ibmf_free_msg(silent.handle, &msg.ibmf_msg), IBMF_SUCCESS);
    EXPECT_EQ(ibmf_unregister(&silent.handle, 0), IBMF_SUCCESS);
}

/// Waits until no client of IBMF has the HCA open. No client can open an HCA that failed.
void await_closed(DEVICE_OBJECT* fdo) {
    while (HcaRefuseOpen(fdo) != STATUS_SUCCESS)
        KeStallExecutionProcessor(10);
}

// A client without a callback does not block others, whatever it holds.
TEST_P(IbmfClients, HcaThatFailed_WithAClientThatStaysRegistered_CanGoAndComeBack) {
    wire joined;
    client_scope silent(0, SUBN_MANAGER);
    test_message msg(silent.handle, {MAD_MGMT_CLASS_SUBN_LID_ROUTED});
    silent.listen([](auto...) {}, nullptr);
    joined.set_modify_port_status(STATUS_SUCCESS);
    ASSERT_EQ(ibmf_set_is_sm(silent.handle, B_TRUE), IBMF_SUCCESS);
    ASSERT_EQ(msg.send(), IBMF_SUCCESS);
    HcaReportFatal(joined.fdo(0));
    EXPECT_EQ(msg.status(), IBMF_TRANSPORT_FAILURE);
    EXPECT_EQ(try_register(wire::guids[0], 1, PERF_MANAGER), IBMF_BAD_PORT_STATE);
    await_closed(joined.fdo(0));
    joined.replug(0);
    {
        const client_scope fresh(0, SUBN_MANAGER);
        const echo_agent agent(1);
        const client_scope other(0, PERF_MANAGER);
        test_message asked(other.handle, {MAD_MGMT_CLASS_PERF});
        EXPECT_EQ(asked.send_and_wait(), IBMF_SUCCESS);
        EXPECT_EQ(msg.send_and_wait(), IBMF_BAD_PORT_STATE);
        EXPECT_EQ(ibmf_set_is_sm(silent.handle, B_FALSE), IBMF_TRANSPORT_FAILURE);
    }
    EXPECT_EQ(ibmf_free_msg(silent.handle, &msg.ibmf_msg), IBMF_SUCCESS);
}

// Clients are notified while others unregister: each once, without memory for a list of them.
TEST_P(IbmfClients, HcaThatFailed_WithManyClients_NotifiesEachOnce) {
    const wire joined;
    constexpr int types[] = {PERF_MANAGER, PERF_AGENT, BM_MANAGER, BM_AGENT, DEV_MGT_AGENT};
    std::array<offline_client, std::size(types)> all;
    for (std::size_t i = 0; i < all.size(); ++i) {
        client_scope made(0, static_cast<ibmf_client_type_t>(types[i]), 0, offline_client::call,
                          &all[i]);
        all[i].handle = std::exchange(made.handle, nullptr);
        ASSERT_EQ(ibmf_alloc_msg(all[i].handle, IBMF_ALLOC_SLEEP, &all[i].held), IBMF_SUCCESS);
    }
    HcaReportFatal(joined.fdo(0));
    for (offline_client& each : all)
        KeWaitForSingleObject(&each.done, Executive, KernelMode, FALSE, nullptr);
    await_closed(joined.fdo(0));
    for (const offline_client& each : all)
        EXPECT_EQ(each.notifications, 1);
}

IRPVERBS_ON_BOTH_MACHINES(IbmfClients);

} // namespace
