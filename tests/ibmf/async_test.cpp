// The C++ wrappers: statuses, deadlines, cancellation slots.
#include "ibmf_client.hpp"

#include <engine/client_table.hpp>
#include <ibmf/async.hpp>

#include <support/both_machines.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <optional>

namespace {

using namespace irpverbs::testing;
namespace ibmf = irpverbs::ibmf;
namespace irp = irpverbs::irp;
using boost::system::error_code;
using irpverbs::dispatch::make_error_code;

class IbmfWrappers : public BothMachines {};

/// A handler's result, which a test can wait for.
template <class Result>
struct async_outcome {
    async_outcome() { KeInitializeEvent(&arrived, NotificationEvent, FALSE); }
    auto handler() {
        return [this](error_code failed, Result what) {
            error = failed;
            result = std::move(what);
            KeSetEvent(&arrived, IO_NO_INCREMENT, FALSE);
        };
    }
    const Result& get() {
        KeWaitForSingleObject(&arrived, Executive, KernelMode, FALSE, nullptr);
        return *result;
    }
    KEVENT arrived;
    error_code error;
    std::optional<Result> result;
};

TEST_P(IbmfWrappers, RegisterSendAndUnregister_Complete) {
    const wire joined;
    const echo_agent agent(1);
    async_outcome<ibmf::registered> made;
    ibmf::register_({wire::guids[0], 1, PERF_MANAGER}, 0, nullptr, nullptr, made.handler());
    ASSERT_EQ(made.get().status, IBMF_SUCCESS);
    const ibmf_handle_t handle = made.get().handle;
    {
        test_message msg(handle, {MAD_MGMT_CLASS_PERF});
        async_outcome<int> sent;
        ibmf::msg_transport(handle, nullptr, msg.ibmf_msg, {}, IBMF_MSG_TRANS_FLAG_SEQ,
                            sent.handler());
        EXPECT_EQ(sent.get(), IBMF_SUCCESS);
        EXPECT_FALSE(sent.error);
        EXPECT_EQ(msg.received_header().method, MAD_METHOD_GET_RESPONSE);
    }
    async_outcome<int> gone;
    ibmf::unregister(handle, gone.handler());
    EXPECT_EQ(gone.get(), IBMF_SUCCESS);
    async_outcome<int> again;
    ibmf::unregister(handle, again.handler());
    EXPECT_EQ(again.get(), IBMF_BAD_HANDLE);
    EXPECT_EQ(again.error, make_error_code(STATUS_INVALID_HANDLE));
}

TEST_P(IbmfWrappers, VendorRegistration_Completes) {
    const wire joined;
    async_outcome<ibmf::registered> made;
    ibmf::register_oui({wire::guids[0], 1, VENDOR_30_MANAGER_AGENT}, 0x1405, 0, nullptr, nullptr,
                       made.handler());
    ASSERT_EQ(made.get().status, IBMF_SUCCESS);
    async_outcome<int> gone;
    ibmf::unregister(made.get().handle, gone.handler());
    EXPECT_EQ(gone.get(), IBMF_SUCCESS);
}

TEST_P(IbmfWrappers, InvalidCall_CompletesWithError) {
    const wire joined;
    const client_scope manager(0, PERF_MANAGER);
    test_message msg(manager.handle, {MAD_MGMT_CLASS_PERF});
    const auto status = [&](ibmf_handle_t handle, ibmf_msg_t* which, uint_t flags) {
        async_outcome<int> result;
        ibmf::msg_transport(handle, nullptr, which, {}, flags, result.handler());
        return result.get();
    };
    EXPECT_EQ(status(manager.handle, nullptr, 0), IBMF_INVALID_ARG);
    EXPECT_EQ(status(manager.handle, msg.ibmf_msg, 4), IBMF_INVALID_ARG);
    EXPECT_EQ(status(nullptr, msg.ibmf_msg, 0), IBMF_BAD_HANDLE);
    EXPECT_EQ(status(manager.handle, msg.ibmf_msg, IBMF_MSG_TRANS_FLAG_RMPP), IBMF_BAD_RMPP_OPT);
    async_outcome<ibmf::allocated_qp> qp;
    ibmf::alloc_qp(manager.handle, 0xFFFF, 0, IBMF_ALT_QP_RAW_ONLY, qp.handler());
    EXPECT_EQ(qp.get().status, IBMF_NOT_SUPPORTED);
}

TEST_P(IbmfWrappers, DeadlineOrCancellationSlot_EndsTransaction) {
    const wire joined;
    echo_agent agent(1);
    agent.silent = true;
    const client_scope manager(0, PERF_MANAGER);
    test_message msg(manager.handle, {MAD_MGMT_CLASS_PERF});
    async_outcome<int> late;
    ibmf::msg_transport(manager.handle, nullptr, msg.ibmf_msg, {}, IBMF_MSG_TRANS_FLAG_SEQ,
                        irp::within(std::chrono::milliseconds(5), late.handler()));
    EXPECT_EQ(late.get(), IBMF_TRANS_FAILURE);
    EXPECT_EQ(late.error, make_error_code(STATUS_IO_TIMEOUT));
    boost::asio::cancellation_signal signal;
    async_outcome<int> cancelled;
    ibmf::msg_transport(manager.handle, nullptr, msg.ibmf_msg, {}, IBMF_MSG_TRANS_FLAG_SEQ,
                        boost::asio::bind_cancellation_slot(signal.slot(), cancelled.handler()));
    signal.emit(boost::asio::cancellation_type::all);
    EXPECT_EQ(cancelled.get(), IBMF_TRANS_FAILURE);
    EXPECT_EQ(cancelled.error, make_error_code(STATUS_CANCELLED));
    EXPECT_EQ(manager.stats().st_cancelled, 2u);
}

// The first call is in progress and waits for the client table's lock, which the test holds;
// the other calls wait behind it.
TEST_P(IbmfWrappers, DeadlineOrCancellationSlot_EndsQueuedCall) {
    const wire joined;
    const ibmf_register_info_t info{wire::guids[0], 1, PERF_MANAGER};
    async_outcome<ibmf::registered> first, late, cancelled;
    boost::asio::cancellation_signal signal;
    {
        const ibmf::client_table::lifecycle_lock taken(ibmf::client_table::current());
        ibmf::register_(info, 0, nullptr, nullptr, first.handler());
        ibmf::register_(info, 0, nullptr, nullptr,
                        irp::within(std::chrono::milliseconds(5), late.handler()));
        EXPECT_EQ(late.get().status, IBMF_TRANS_FAILURE);
        EXPECT_EQ(late.error, make_error_code(STATUS_IO_TIMEOUT));
        ibmf::register_(info, 0, nullptr, nullptr,
                        boost::asio::bind_cancellation_slot(signal.slot(), cancelled.handler()));
        signal.emit(boost::asio::cancellation_type::all);
        EXPECT_EQ(cancelled.get().status, IBMF_TRANS_FAILURE);
        EXPECT_EQ(cancelled.get().handle, nullptr);
        EXPECT_EQ(cancelled.error, make_error_code(STATUS_CANCELLED));
    }
    EXPECT_EQ(first.get().status, IBMF_SUCCESS);
    async_outcome<int> ended;
    ibmf::unregister(first.get().handle, ended.handler());
    EXPECT_EQ(ended.get(), IBMF_SUCCESS);
}

IRPVERBS_ON_BOTH_MACHINES(IbmfWrappers);

} // namespace
