// IBMF over the driver and the scripted kernel: the effects on a management client of the facts
// that docs/decisions/rdma-umad.md lists.
#include "rdma_hcas.hpp"

#include <ibmf/ibmf_client.hpp>
#include <support/both_machines.hpp>

#include <cerrno>
#include <cstring>

namespace {

using namespace irpverbs::testing;
namespace ibmf = irpverbs::ibmf;

constexpr ibmf_register_info_t sa_manager{0x1000, 1, SUBN_ADM_MANAGER};
constexpr request_of table_query{MAD_MGMT_CLASS_SUBN_ADM, 0x12, 0x0123456789ABCDEF, 1};
constexpr request_of multi_query{MAD_MGMT_CLASS_SUBN_ADM, 0x14, 5, 1, 5000};
constexpr uint_t both_ways = IBMF_MSG_TRANS_FLAG_RMPP | IBMF_MSG_TRANS_FLAG_SEQ;
constexpr ibmf_retrans_t quick{0, 20'000, 1'000, 50'000}; // us

/// The response with `data`, reassembled by the kernel, in the form of old kernels.
fake_umad::message whole_response(const fake_umad::sent& request, std::span<const UCHAR> data) {
    fake_umad::message made;
    made.from.lid = htobe16(1);
    made.from.qpn = htobe32(1);
    made.datagram.assign(request.datagram.begin(), request.datagram.begin() + 56);
    made.datagram[3] |= MAD_RESPONSE_BIT;
    made.datagram[24] = 1; // RMPP version
    made.datagram[25] = 1; // data
    made.datagram[26] = 3; // active, first
    made.datagram.insert(made.datagram.end(), data.begin(), data.end());
    return made;
}

class IbmfOverUmad : public BothMachines {
protected:
    fake_umad kernel;
    rdma_hcas hcas;
};

class IbmfWithTheKernelsRmpp : public IbmfOverUmad {
protected:
    IbmfWithTheKernelsRmpp() { kernel.user_rmpp_error = ENOTTY; }
};

TEST_P(IbmfWithTheKernelsRmpp, TableResponse_ReceivedWhole) {
    const client_scope manager(sa_manager, IBMF_REG_FLAG_RMPP);
    EXPECT_EQ(kernel.registered.back().flags, 0u);
    EXPECT_EQ(kernel.registered.back().rmpp_version, 1);
    test_message msg(manager.handle, table_query);
    ASSERT_EQ(msg.send(), IBMF_SUCCESS);
    const std::vector<fake_umad::sent> all = kernel.all_sent();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].datagram.size(), IB_MAD_SIZE);
    EXPECT_EQ(all[0].datagram[26] & 1, 0); // a datagram, not an RMPP transfer
    std::vector<UCHAR> table(1000);
    for (std::size_t i = 0; i < table.size(); ++i)
        table[i] = static_cast<UCHAR>(i / 3);
    kernel.deliver(whole_response(all[0], table));
    EXPECT_EQ(msg.status(), IBMF_SUCCESS);
    EXPECT_TRUE(std::ranges::equal(msg.received(), table));
    EXPECT_EQ(msg.received_header().transaction_id, table_query.tid); // all 64 bits
}

TEST_P(IbmfWithTheKernelsRmpp, LongRequest_SentWhole) {
    const client_scope manager(sa_manager, IBMF_REG_FLAG_RMPP);
    test_message msg(manager.handle, multi_query);
    ASSERT_EQ(msg.send(both_ways), IBMF_SUCCESS);
    const std::vector<fake_umad::sent> all = kernel.all_sent();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].datagram.size(), 56u + 5000u);
    EXPECT_TRUE(std::equal(msg.data().begin(), msg.data().end(), &all[0].datagram[56]));
    EXPECT_EQ(all[0].datagram[26] & 1, 1);
    EXPECT_GT(all[0].retries, 0); // per segment
    kernel.deliver(whole_response(all[0], std::vector<UCHAR>(8, 7)));
    EXPECT_EQ(msg.status(), IBMF_SUCCESS);
    EXPECT_EQ(msg.received().size(), 8u);
}

// The kernel does not report a transfer that the peer aborted.
TEST_P(IbmfWithTheKernelsRmpp, TransferAbandonedByKernel_EndsAtDeadline) {
    const client_scope manager(sa_manager, IBMF_REG_FLAG_RMPP);
    test_message msg(manager.handle, multi_query);
    EXPECT_EQ(msg.send_and_wait(both_ways, quick), IBMF_TRANS_TIMEOUT);
    EXPECT_EQ(manager.stats().st_rmpp_errors, 1u);
}

TEST_P(IbmfOverUmad, KernelWithUserRmpp_OwnRmppIsUsed) {
    const client_scope manager(sa_manager, IBMF_REG_FLAG_RMPP);
    EXPECT_EQ(kernel.registered.back().flags, static_cast<unsigned>(UMAD_USER_RMPP));
    test_message msg(manager.handle, multi_query);
    ASSERT_EQ(msg.send(both_ways), IBMF_SUCCESS);
    for (const fake_umad::sent& each : kernel.all_sent()) {
        EXPECT_EQ(each.datagram.size(), IB_MAD_SIZE);
        EXPECT_EQ(each.retries, 0);
    }
    EXPECT_EQ(ibmf_cancel_msg(manager.handle, msg.ibmf_msg), IBMF_SUCCESS);
}

// The kernel keeps each request until it expires: the repeated message has another ID, and a
// response to the first is dropped.
TEST_P(IbmfOverUmad, CancelledRequest_KeepsIdUntilKernelReturnsIt) {
    const client_scope manager(sa_manager, IBMF_REG_FLAG_RMPP);
    test_message msg(manager.handle, table_query);
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(msg.send(), IBMF_SUCCESS);
        EXPECT_EQ(ibmf_cancel_msg(manager.handle, msg.ibmf_msg), IBMF_SUCCESS);
        EXPECT_EQ(msg.status(), IBMF_TRANS_FAILURE);
    }
    ASSERT_EQ(msg.send(), IBMF_SUCCESS);
    const std::vector<fake_umad::sent> all = kernel.all_sent();
    ASSERT_EQ(all.size(), 3u); // no send was refused
    fake_umad::message late = whole_response(all[0], std::vector<UCHAR>(200));
    late.datagram[26] = 0; // a single datagram
    kernel.deliver(late);
    kernel.expire(all[1].datagram);
    fake_umad::message response = whole_response(all[2], std::vector<UCHAR>(200));
    response.datagram[26] = 0;
    kernel.deliver(response);
    EXPECT_EQ(msg.status(), IBMF_SUCCESS);
    EXPECT_EQ(manager.stats(B_TRUE).st_stale, 1u);
}

TEST_P(IbmfOverUmad, PKey_MappedToTableIndexOrRefused) {
    const client_scope manager(sa_manager);
    test_message msg(manager.handle, table_query);
    msg.ibmf_msg->im_local_addr.ia_p_key = 0x8001;
    EXPECT_EQ(msg.send_and_wait(0), IBMF_SUCCESS);
    EXPECT_EQ(kernel.all_sent().back().to.pkey_index, 1);
    msg.ibmf_msg->im_local_addr.ia_p_key = 0x8002;
    EXPECT_EQ(msg.send_and_wait(0), IBMF_BAD_QP_HANDLE);
}

TEST_P(IbmfOverUmad, Response_HasPKeyIndexAndPathOfRequest) {
    const echo_agent agent(ibmf_register_info_t{0x1000, 1, PERF_AGENT});
    fake_umad::message request;
    request.from.lid = htobe16(9);
    request.from.qpn = htobe32(1);
    request.from.sl = 2;
    request.from.path_bits = 1;
    request.from.pkey_index = 1;
    request.from.grh_present = 1;
    request.from.gid_index = 1;
    request.from.gid[15] = 0x77;
    request.datagram = {1, MAD_MGMT_CLASS_PERF, 1, MAD_METHOD_GET};
    request.datagram.resize(IB_MAD_SIZE);
    request.datagram[8] = 0xA5; // whole, as the requester's kernel made it
    request.datagram[15] = 7;
    kernel.deliver(request);
    kernel.await_sent(1);
    const fake_umad::sent response = kernel.all_sent().front();
    EXPECT_EQ(response.to.pkey_index, 1);
    EXPECT_EQ(be16toh(response.to.lid), 9);
    EXPECT_EQ(response.to.sl, 2);
    EXPECT_EQ(response.to.path_bits, 1);
    EXPECT_EQ(response.to.grh_present, 1);
    EXPECT_EQ(response.to.gid_index, 1);
    EXPECT_EQ(response.to.gid[15], 0x77);
    EXPECT_EQ(response.datagram[8], 0xA5);
    EXPECT_EQ(response.timeout, 0); // no response is expected
}

TEST_P(IbmfOverUmad, AlternateQpAllocation_IsNotSupported) {
    const client_scope manager(sa_manager);
    ibmf_qp_handle_t qp = nullptr;
    EXPECT_EQ(ibmf_alloc_qp(manager.handle, 0xFFFF, IB_QP1_QKEY, IBMF_ALT_QP_MAD_RMPP, &qp),
              IBMF_NOT_SUPPORTED);
}

// Each class has a file of its own, so no file exceeds its 32 agents.
TEST_P(IbmfOverUmad, AgentsOfAllClasses_EachHasOwnFile) {
    std::vector<std::unique_ptr<client_scope>> all;
    for (int mgmt_class = 0x07; mgmt_class <= 0x2F; ++mgmt_class)
        all.push_back(std::make_unique<client_scope>(ibmf_register_info_t{
            0x1000, 1, static_cast<ibmf_client_type_t>(0x00030000 | mgmt_class)}));
    EXPECT_EQ(kernel.open_files(), all.size());
}

// The kernel dispatches requests by OUI. A client without one sends requests and gets responses
// only.
TEST_P(IbmfOverUmad, RegistrationOfAVendorsClass_WithoutOui_SendsOnly) {
    for (int mgmt_class = 0x30; mgmt_class <= 0x4F; ++mgmt_class) {
        const auto type = static_cast<ibmf_client_type_t>(0x00030000 | mgmt_class);
        const client_scope it(ibmf_register_info_t{0x1000, 1, type}, IBMF_REG_FLAG_RMPP);
        const umad_reg_attr& made = kernel.registered.back();
        EXPECT_EQ(made.mgmt_class, mgmt_class);
        EXPECT_EQ(made.method_mask[0] | made.method_mask[1], 0u);
        EXPECT_EQ(made.flags, static_cast<unsigned>(UMAD_USER_RMPP));
        EXPECT_EQ(ibmf_setup_async_cb(
                      it.handle, IBMF_QP_HANDLE_DEFAULT, [](auto...) {}, nullptr, 0),
                  IBMF_NOT_SUPPORTED);
        EXPECT_EQ(ibmf_tear_down_async_cb(it.handle, IBMF_QP_HANDLE_DEFAULT, 0),
                  IBMF_CB_NOT_REGISTERED);
    }
    const client_scope it(ibmf_register_info_t{0x1000, 1, VENDOR_32_MANAGER_AGENT},
                          IBMF_REG_FLAG_RMPP);
    test_message msg(it.handle, {.mgmt_class = 0x32, .tid = 7, .to = 1});
    msg.set_oui(0x001405);
    ASSERT_EQ(msg.send(), IBMF_SUCCESS);
    const std::vector<fake_umad::sent> all = kernel.all_sent();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].datagram[38], 0x14);
    fake_umad::message response = whole_response(all[0], std::vector<UCHAR>(200));
    response.datagram[24] = response.datagram[25] = response.datagram[26] = 0; // a single datagram
    kernel.deliver(response);
    EXPECT_EQ(msg.status(), IBMF_SUCCESS);
}

TEST_P(IbmfOverUmad, Registration_OfAClassThatThePortCanNotHave_IsNotSupported) {
    kernel.register_errors = {EPROTONOSUPPORT};
    ibmf_register_info_t info{0x1000, 1, PERF_MANAGER};
    ibmf_handle_t handle = nullptr;
    ibmf_impl_caps_t features{};
    EXPECT_EQ(ibmf_register(&info, IBMF_VERSION, 0, nullptr, nullptr, &handle, &features),
              IBMF_NOT_SUPPORTED);
}

IRPVERBS_ON_BOTH_MACHINES(IbmfOverUmad);
IRPVERBS_ON_BOTH_MACHINES(IbmfWithTheKernelsRmpp);

} // namespace
