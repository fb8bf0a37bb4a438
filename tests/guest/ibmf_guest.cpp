// IBMF on rxe0 and the kernel's own management on rxe1, with RMPP on both and in both directions.
// Runs in the guest; CMakeLists.txt adds runs with loss, and with the kernel's RMPP at both ends.
#include "kernel_peer.hpp"

#include <hca/mad_client.hpp>
#include <ibmf/table_agent.hpp>
#include <support/verbs.hpp>

#include <dispatch/asio_machine.hpp>

#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

constexpr std::uint8_t get = MAD_METHOD_GET;
constexpr std::uint8_t set = MAD_METHOD_SET;
constexpr std::uint8_t get_table = 0x12;

// Tests the switch of old_kernel.cpp.
bool kernel_keeps_rmpp() { return std::getenv("IRPVERBS_OLD_KERNEL") != nullptr; }

// For a response, and for the acknowledgement of segments. The kernel's RMPP at both ends of a
// guest on a busy machine is slow, and each repeated request costs it another response.
const ibmf_retrans_t patient = kernel_keeps_rmpp() ? ibmf_retrans_t{6, 4'000'000, 2'000'000, 0}
                                                   : ibmf_retrans_t{6, 600'000, 400'000, 0};

ib_gid_t gid_of(DEVICE_OBJECT* fdo) {
    const open_hca opened(fdo);
    const port_block port(opened, 1);
    return *IbPortGid(&*port, 0);
}

/// IBMF's port on rxe0 and the kernel's on rxe1; opened once for all tests, since that takes a
/// second.
struct both_ends {
    dispatch::asio_machine machine{{.processors = 2}};
    dispatch::machine::scope inside{machine};
    attached hcas{"rdma:rxe0"};
    ib_gid_t here = gid_of(hcas.fdo());
    kernel_port rxe1{"rxe1"};
    ib_gid_t there = rxe1.gid();
    std::uint32_t transactions = 0;

    vendor as_vendor() const { return {{hcas.guid(), 1, VENDOR_32_MANAGER_AGENT}, guest_oui}; }
};

class IbmfGuest : public ::testing::Test {
protected:
    static void SetUpTestSuite() { ends = std::make_unique<both_ends>(); }
    static void TearDownTestSuite() { ends.reset(); }

    /// A request of the vendor's class to rxe1, with the data of pattern().
    class ibmf_request : public test_message {
    public:
        ibmf_request(ibmf_handle_t handle, std::uint8_t method, std::uint32_t response_size,
                     std::size_t size = 64)
            : test_message(handle, {.mgmt_class = guest_class,
                                    .method = method,
                                    .tid = ++ends->transactions,
                                    .to = 0,
                                    .data_size = size}) {
            set_oui(guest_oui);
            ibmf_msg_bufs_t& parts = ibmf_msg->im_msgbufs_send;
            parts.im_bufs_mad_hdr->AttributeModifier = __builtin_bswap32(response_size);
            std::ranges::copy(pattern(size), static_cast<std::uint8_t*>(parts.im_bufs_cl_data));
            ibmf_msg->im_msg_flags |= IBMF_MSG_FLAGS_GLOBAL_ADDRESS;
            ibmf_msg->im_global_addr = {ends->here, ends->there, 0, 0, 64};
        }
    };
    /// Sends a request from the kernel's end.
    static std::optional<kernel_message> ask(std::uint8_t method,
                                             std::span<const std::uint8_t> data, bool rmpp) {
        return ends->rxe1.ask(kernel_message::of(method, ++ends->transactions, 0, data, rmpp),
                              ends->here);
    }

    static inline std::unique_ptr<both_ends> ends;
};

TEST_F(IbmfGuest, GetToKernelAgent_ReceivesResponse) {
    const kernel_agent agent("rxe1");
    const client_scope manager(ends->as_vendor(), IBMF_REG_FLAG_RMPP);
    for (int i = 0; i < 20; ++i) {
        ibmf_request request(manager.handle, get, 0);
        ASSERT_EQ(request.send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, patient), IBMF_SUCCESS);
        EXPECT_EQ(request.received_header().method, MAD_METHOD_GET_RESPONSE);
        EXPECT_TRUE(std::ranges::equal(request.received().first(100), pattern(100)));
    }
    EXPECT_EQ(manager.stats().st_transactions, 0u);
}

TEST_F(IbmfGuest, GetFromKernel_ReceivesResponse) {
    const echo_agent agent(ends->as_vendor());
    for (int i = 0; i < 20; ++i) {
        const auto response = ask(get, pattern(216), false);
        ASSERT_TRUE(response);
        EXPECT_EQ(response->method(), MAD_METHOD_GET_RESPONSE);
        EXPECT_TRUE(std::ranges::equal(response->data(), pattern(216)));
    }
}

// The kernel answers in the agent's place.
TEST_F(IbmfGuest, GetWithOtherOui_ReturnsUnsupportedMethod) {
    const kernel_agent agent("rxe1");
    const client_scope manager(ends->as_vendor(), IBMF_REG_FLAG_RMPP);
    ibmf_request request(manager.handle, get, 0);
    request.set_oui(guest_oui + 1);
    ASSERT_EQ(request.send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, patient), IBMF_SUCCESS);
    EXPECT_EQ(request.received_header().status, MAD_STATUS_UNSUPP_METHOD_ATTR);
}

/// The parameter is a list of data sizes in bytes.
class KernelRmppTransfers : public IbmfGuest,
                            public ::testing::WithParamInterface<std::vector<std::size_t>> {};

TEST_P(KernelRmppTransfers, SegmentsFromKernel_ReceivedWhole) {
    const kernel_agent agent("rxe1");
    const client_scope manager(ends->as_vendor(), IBMF_REG_FLAG_RMPP);
    for (const std::size_t size : GetParam()) {
        ibmf_request request(manager.handle, get_table, static_cast<std::uint32_t>(size));
        ASSERT_EQ(request.send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, patient), IBMF_SUCCESS) << size;
        EXPECT_TRUE(std::ranges::equal(request.received(), pattern(size))) << size;
    }
    EXPECT_EQ(manager.stats().st_rmpp_errors, 0u);
}

TEST_P(KernelRmppTransfers, SegmentsToKernel_ReceivedWhole) {
    table_agent agent(ends->as_vendor());
    agent.times = patient;
    for (const std::size_t size : GetParam()) {
        agent.await_responses();
        agent.resize(size);
        const auto response = ask(get_table, {}, false);
        ASSERT_TRUE(response) << size;
        EXPECT_TRUE(std::ranges::equal(response->data(), agent.table())) << size;
    }
}

TEST_P(KernelRmppTransfers, LongRequestToKernel_ReceivesResponse) {
    const kernel_agent agent("rxe1");
    const client_scope manager(ends->as_vendor(), IBMF_REG_FLAG_RMPP);
    unsigned requests = 0;
    for (const std::size_t size : GetParam()) {
        ibmf_request request(manager.handle, set, 300, size);
        ASSERT_EQ(
            request.send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ | IBMF_MSG_TRANS_FLAG_RMPP, patient),
            IBMF_SUCCESS)
            << size;
        EXPECT_TRUE(std::ranges::equal(request.received(), pattern(300))) << size;
        EXPECT_EQ(agent.recognised(), ++requests) << size;
    }
    if (kernel_keeps_rmpp()) {
        EXPECT_EQ(manager.stats().st_datagrams_sent, requests);
    }
}

TEST_P(KernelRmppTransfers, LongRequestFromKernel_ReceivedWhole) {
    table_agent agent(ends->as_vendor());
    agent.times = patient;
    agent.resize(300);
    std::atomic<unsigned> recognised{0};
    agent.on_request = [&](std::span<const std::uint8_t> data) {
        if (std::ranges::equal(data, pattern(data.size()))) ++recognised;
    };
    unsigned requests = 0;
    for (const std::size_t size : GetParam()) {
        const auto response = ask(set, pattern(size), true);
        ASSERT_TRUE(response) << size;
        EXPECT_TRUE(std::ranges::equal(response->data(), agent.table())) << size;
        EXPECT_EQ(agent.last_request_size(), size);
        EXPECT_EQ(recognised, ++requests) << size;
    }
}

using sizes = std::vector<std::size_t>;
// One byte, a whole segment and its neighbours, part of a window.
INSTANTIATE_TEST_SUITE_P(Short, KernelRmppTransfers,
                         ::testing::Values(sizes{1, 215, 216, 217, 5000}));
// A few windows, and many.
INSTANTIATE_TEST_SUITE_P(Long, KernelRmppTransfers, ::testing::Values(sizes{65'536, 1'048'576}));

} // namespace
