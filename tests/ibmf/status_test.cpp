// Documented statuses that the other tests do not produce.
#include "ibmf_client.hpp"

#include <dispatch/support/faults.hpp>
#include <dispatch/testing/fault_sweep.hpp>
#include <support/both_machines.hpp>

#include <set>

namespace {

using namespace irpverbs::testing;
namespace detail = irpverbs::dispatch::detail;

class IbmfStatus : public BothMachines {};

/// For the life of the scope every allocation that can fail does.
class no_memory {
public:
    no_memory() {
        detail::settings.fault_one_in = 1;
        detail::set_enabled_checks(before_ |
                                   static_cast<std::uint32_t>(detail::check::low_resources));
    }
    ~no_memory() {
        detail::set_enabled_checks(before_);
        detail::settings.fault_one_in = 17;
    }
    no_memory(const no_memory&) = delete;
    no_memory& operator=(const no_memory&) = delete;

private:
    const std::uint32_t before_ = detail::enabled_checks.load();
};

int register_at(ibmf_register_info_t* info, ibmf_handle_t* handle, ibmf_impl_caps_t* features) {
    return ibmf_register(info, IBMF_VERSION, 0, nullptr, nullptr, handle, features);
}

TEST_P(IbmfStatus, RegisterWithoutOutput_ReturnsInvalidArg) {
    const wire joined;
    ibmf_register_info_t info{wire::guids[0], 1, VENDOR_30_MANAGER_AGENT};
    ibmf_handle_t handle = nullptr;
    ibmf_impl_caps_t features{};
    EXPECT_EQ(register_at(nullptr, &handle, &features), IBMF_INVALID_ARG);
    EXPECT_EQ(register_at(&info, nullptr, &features), IBMF_INVALID_ARG);
    EXPECT_EQ(register_at(&info, &handle, nullptr), IBMF_INVALID_ARG);
    const auto by_oui = [&](auto* whom, auto* to, auto* caps) {
        return ibmf_register_oui(whom, 0x1405, IBMF_VERSION, 0, nullptr, nullptr, to, caps);
    };
    EXPECT_EQ(by_oui(static_cast<ibmf_register_info_t*>(nullptr), &handle, &features),
              IBMF_INVALID_ARG);
    EXPECT_EQ(by_oui(&info, static_cast<ibmf_handle_t*>(nullptr), &features), IBMF_INVALID_ARG);
    EXPECT_EQ(by_oui(&info, &handle, static_cast<ibmf_impl_caps_t*>(nullptr)), IBMF_INVALID_ARG);
    EXPECT_EQ(handle, nullptr);
    ASSERT_EQ(register_at(&info, &handle, &features), IBMF_SUCCESS);
    EXPECT_EQ(features, IBMF_DEF_QP_HDL_P_KEY_ANY | IBMF_DEF_QP_HDL_Q_KEY_ANY);
    EXPECT_EQ(ibmf_unregister(&handle, 0), IBMF_SUCCESS);
}

TEST_P(IbmfStatus, DriverRefusesAgent_StatusIsMapped) {
    wire joined;
    for (const auto& [driver_status, status] :
         {std::pair{STATUS_INSUFFICIENT_RESOURCES, IBMF_NO_RESOURCES},
          {STATUS_SHARING_VIOLATION, IBMF_PORT_IN_USE},
          {STATUS_IO_DEVICE_ERROR, IBMF_TRANSPORT_FAILURE}}) {
        joined.fail_registrations(driver_status);
        ibmf_register_info_t info{wire::guids[0], 1, SUBN_MANAGER};
        ibmf_handle_t handle = nullptr;
        ibmf_impl_caps_t features{};
        EXPECT_EQ(register_at(&info, &handle, &features), status);
        EXPECT_EQ(handle, nullptr);
    }
    joined.fail_registrations(STATUS_SUCCESS);
    const client_scope after(0, SUBN_MANAGER); // the failed registrations left nothing
}

// An allocation fails at each place: the port is closed again, as the wire's destructor checks, and
// the next registration succeeds.
TEST_P(IbmfStatus, AllocationFailsInRegister_PortIsClosed) {
    for (const ibmf_client_type_t type : {SUBN_MANAGER, BM_AGENT, PERF_MANAGER}) {
        std::set<std::string> short_of;
        irpverbs::dispatch::fault_sweep(
            [&](irpverbs::dispatch::sweep& faults) {
                const wire joined;
                ibmf_register_info_t info{wire::guids[0], 1, type};
                ibmf_handle_t handle = nullptr;
                ibmf_impl_caps_t features{};
                int status = IBMF_SUCCESS;
                {
                    const irpverbs::dispatch::fault_plan plan(machine(), faults);
                    status = register_at(&info, &handle, &features);
                }
                if (status == IBMF_SUCCESS) {
                    EXPECT_EQ(ibmf_unregister(&handle, 0), IBMF_SUCCESS);
                } else {
                    EXPECT_EQ(status, IBMF_NO_RESOURCES);
                    EXPECT_EQ(handle, nullptr);
                    short_of.insert(detail::last_fault(machine())->site);
                }
                const client_scope after(0, type);
            },
            irpverbs::dispatch::sweep::order::singles);
        for (const char* const each : {"ibmf.port", "ibmf.port_attributes", "ibmf.handle"})
            EXPECT_TRUE(short_of.contains(each)) << each;
        EXPECT_EQ(short_of.contains("ibmf.shared_agent"), type != PERF_MANAGER);
    }
}

TEST_P(IbmfStatus, TearDownWithFlags_ReturnsInvalidArg) {
    const wire joined;
    const client_scope it(0, PERF_AGENT);
    EXPECT_EQ(ibmf_tear_down_async_cb(it.handle, nullptr, 1), IBMF_INVALID_ARG);
}

// Calls on a message that is NULL, or that belongs to another client.
TEST_P(IbmfStatus, NullOrForeignMessage_ReturnsInvalidArg) {
    const wire joined;
    const client_scope it(0, PERF_MANAGER, IBMF_REG_FLAG_SINGLE_OFFLOAD);
    const client_scope other(0, PERF_AGENT);
    test_message foreign(other.handle, performance);
    std::uint8_t byte = 0;
    std::size_t length = 1;
    ibmf_transfer_result_t end{};
    const auto note = [](ibmf_handle_t, ibmf_msg_t*, void*) {};
    for (ibmf_msg_t* const bad : {foreign.ibmf_msg, static_cast<ibmf_msg_t*>(nullptr)}) {
        EXPECT_EQ(ibmf_msg_transport(it.handle, nullptr, bad, nullptr, note, nullptr, 0),
                  IBMF_INVALID_ARG);
        EXPECT_EQ(ibmf_cancel_msg(it.handle, bad), IBMF_INVALID_ARG);
        EXPECT_EQ(ibmf_query_transfer(it.handle, bad, &end), IBMF_INVALID_ARG);
        EXPECT_EQ(ibmf_stream_msg(it.handle, bad, note, nullptr), IBMF_INVALID_ARG);
        EXPECT_EQ(ibmf_read_msg(it.handle, bad, &byte, &length), IBMF_INVALID_ARG);
        EXPECT_EQ(ibmf_resume_msg(it.handle, bad), IBMF_INVALID_ARG);
    }
    EXPECT_EQ(length, 1u);
}

TEST_P(IbmfStatus, FreedMessage_IsNotRead) {
    const wire joined;
    const client_scope it(0, PERF_MANAGER);
    ibmf_msg_t* msg = nullptr;
    ASSERT_EQ(ibmf_alloc_msg(it.handle, IBMF_ALLOC_SLEEP, &msg), IBMF_SUCCESS);
    auto header = std::make_unique<ib_mad_hdr_t>();
    msg->im_msgbufs_send.im_bufs_mad_hdr = header.get();
    ibmf_msg_t* const stale = msg;
    EXPECT_EQ(ibmf_free_msg(it.handle, &msg), IBMF_SUCCESS);
    header.reset();
    const auto note = [](ibmf_handle_t, ibmf_msg_t*, void*) {};
    EXPECT_EQ(ibmf_msg_transport(it.handle, nullptr, stale, nullptr, note, nullptr, 0),
              IBMF_INVALID_ARG);
    EXPECT_EQ(ibmf_free_msg(it.handle, &msg), IBMF_INVALID_ARG); // NULL now
}

TEST_P(IbmfStatus, NullOutput_ReturnsInvalidArg) {
    const wire joined;
    const client_scope it(0, PERF_MANAGER);
    test_message msg(it.handle, performance);
    std::uint8_t byte = 0;
    EXPECT_EQ(ibmf_query_transfer(it.handle, msg.ibmf_msg, nullptr), IBMF_INVALID_ARG);
    EXPECT_EQ(ibmf_read_msg(it.handle, msg.ibmf_msg, &byte, nullptr), IBMF_INVALID_ARG);
    EXPECT_EQ(ibmf_query_stats(it.handle, B_FALSE, nullptr), IBMF_INVALID_ARG);
}

TEST_P(IbmfStatus, QueryOrStreamDuringSend_ReturnsBusy) {
    const wire joined; // no agent responds on this wire
    const client_scope it(0, PERF_MANAGER, IBMF_REG_FLAG_SINGLE_OFFLOAD);
    test_message msg(it.handle, performance);
    ASSERT_EQ(msg.send(), IBMF_SUCCESS);
    ibmf_transfer_result_t end{};
    EXPECT_EQ(ibmf_query_transfer(it.handle, msg.ibmf_msg, &end), IBMF_BUSY);
    EXPECT_EQ(ibmf_stream_msg(it.handle, msg.ibmf_msg, nullptr, nullptr), IBMF_BUSY);
    EXPECT_EQ(ibmf_cancel_msg(it.handle, msg.ibmf_msg), IBMF_SUCCESS);
    msg.wait();
    ASSERT_EQ(ibmf_query_transfer(it.handle, msg.ibmf_msg, &end), IBMF_SUCCESS);
    EXPECT_EQ(end.tr_status, 0);
    EXPECT_EQ(end.tr_segments_resent, 0u);
}

// IBMF reads nothing behind the memory's end, which a sanitizer checks.
TEST_P(IbmfStatus, Message_ThatIbmfDidNotAllocate_IsNoMessage) {
    const wire joined;
    const client_scope it(0, PERF_MANAGER, IBMF_REG_FLAG_SINGLE_OFFLOAD);
    test_message real(it.handle, performance);
    const auto of_ones_own = std::make_unique<ibmf_msg_t>();
    auto* const within = reinterpret_cast<ibmf_msg_t*>(reinterpret_cast<char*>(real.ibmf_msg) + 8);
    auto* const wild = reinterpret_cast<ibmf_msg_t*>(~std::uintptr_t{0} - 7);
    auto* const low = reinterpret_cast<ibmf_msg_t*>(std::uintptr_t{8});
    const auto note = [](ibmf_handle_t, ibmf_msg_t*, void*) {};
    for (ibmf_msg_t* const bad : {of_ones_own.get(), within, wild, low}) {
        ibmf_msg_t* copy = bad;
        std::uint8_t byte = 0;
        std::size_t length = 1;
        ibmf_transfer_result_t end{};
        EXPECT_EQ(ibmf_msg_transport(it.handle, nullptr, bad, nullptr, note, nullptr, 0),
                  IBMF_INVALID_ARG);
        EXPECT_EQ(ibmf_free_msg(it.handle, &copy), IBMF_BAD_HANDLE);
        EXPECT_EQ(ibmf_cancel_msg(it.handle, bad), IBMF_INVALID_ARG);
        EXPECT_EQ(ibmf_stream_msg(it.handle, bad, note, nullptr), IBMF_INVALID_ARG);
        EXPECT_EQ(ibmf_read_msg(it.handle, bad, &byte, &length), IBMF_INVALID_ARG);
        EXPECT_EQ(ibmf_resume_msg(it.handle, bad), IBMF_INVALID_ARG);
        EXPECT_EQ(ibmf_query_transfer(it.handle, bad, &end), IBMF_INVALID_ARG);
    }
}

// All messages are found, also when they fill many chunks.
TEST_P(IbmfStatus, Messages_OfALargeNumber_AreAllMessages) {
    const wire joined;
    const client_scope it(0, PERF_MANAGER);
    std::vector<ibmf_msg_t*> all(2000);
    for (ibmf_msg_t*& each : all)
        ASSERT_EQ(ibmf_alloc_msg(it.handle, IBMF_ALLOC_SLEEP, &each), IBMF_SUCCESS);
    for (ibmf_msg_t*& each : all)
        EXPECT_EQ(ibmf_free_msg(it.handle, &each), IBMF_SUCCESS);
}

TEST_P(IbmfStatus, SetIsSm_ReturnsDriversStatus) {
    wire joined;
    const client_scope manager(0, SUBN_MANAGER);
    EXPECT_EQ(ibmf_set_is_sm(manager.handle, B_TRUE), IBMF_TRANSPORT_FAILURE);
    joined.set_modify_port_status(STATUS_FILE_LOCK_CONFLICT);
    EXPECT_EQ(ibmf_set_is_sm(manager.handle, B_TRUE), IBMF_PORT_IN_USE);
    joined.set_modify_port_status(STATUS_SUCCESS);
    EXPECT_EQ(ibmf_set_is_sm(manager.handle, B_TRUE), IBMF_SUCCESS);
    EXPECT_EQ(ibmf_set_is_sm(manager.handle, B_TRUE), IBMF_SUCCESS); // already in effect
}

TEST_P(IbmfStatus, NoMemory_AllocAndTransportReturnNoResources) {
    wire joined;
    const client_scope it(0, PERF_MANAGER);
    test_message msg(it.handle, performance);
    {
        const no_memory short_of_it;
        ibmf_msg_t* none = msg.ibmf_msg;
        EXPECT_EQ(ibmf_alloc_msg(it.handle, IBMF_ALLOC_NOSLEEP, &none), IBMF_NO_RESOURCES);
        EXPECT_EQ(none, nullptr);
        EXPECT_EQ(msg.send(), IBMF_NO_RESOURCES);
        EXPECT_EQ(msg.send_and_wait(), IBMF_NO_RESOURCES);
    }
    EXPECT_EQ(msg.calls(), 0);
    EXPECT_EQ(joined.datagrams(), 0u);
    EXPECT_EQ(msg.send_and_wait(0), IBMF_SUCCESS); // the message is not busy
}

TEST_P(IbmfStatus, NoMemoryForResponse_TransactionEndsWithNoMemory) {
    wire joined;
    std::array<UCHAR, IB_MAD_SIZE> response{};
    joined.tap = [&](unsigned, const auto& bytes) {
        response = bytes;
        return false;
    };
    const client_scope it(0, PERF_MANAGER);
    const client_scope agent(0, PERF_AGENT);
    agent.listen([](ibmf_handle_t, ibmf_msg_t*, void*) {}, nullptr);
    test_message msg(it.handle, performance);
    ASSERT_EQ(msg.send(), IBMF_SUCCESS);
    const std::array<UCHAR, IB_MAD_SIZE> request = response;
    response[3] |= MAD_RESPONSE_BIT;
    {
        const no_memory short_of_it;
        joined.inject(0, request.data(), IB_MAD_SIZE, wire::lids[1]);
        joined.inject(0, response.data(), IB_MAD_SIZE, wire::lids[1]);
        EXPECT_EQ(msg.status(), IBMF_NO_MEMORY);
        joined.await_empty();
    }
    EXPECT_EQ(msg.ibmf_msg->im_msgbufs_recv.im_bufs_mad_hdr, nullptr);
    EXPECT_EQ(agent.stats().st_no_memory, 1u); // and an unsolicited message is dropped
}

IRPVERBS_ON_BOTH_MACHINES(IbmfStatus);

} // namespace
