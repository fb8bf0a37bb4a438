// IBMF on rxe0 and the kernel's own management on rxe1: both with RMPP, in both directions. Runs in
// the guest; a run with loss is CMakeLists.txt's.
#include "kernel_peer.hpp"

#include <hca/mad_client.hpp>
#include <ibmf/table_agent.hpp>
#include <support/verbs.hpp>

#include <dispatch/asio_machine.hpp>

#include <iostream>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

constexpr std::uint8_t get = MAD_METHOD_GET;
constexpr std::uint8_t set = MAD_METHOD_SET;
constexpr std::uint8_t get_table = 0x12;
constexpr ibmf_retrans_t patient{10, 1'500'000, 500'000, 0}; // of whole answers
constexpr ibmf_retrans_t brisk{20, 200'000, 100'000, 0};     // of segments
// One byte, all of a segment and its neighbours, and what takes a window, or many.
constexpr std::size_t sizes[] = {1, 215, 216, 217, 5000, 65'536, 1'048'576};

ib_gid_t gid_of(DEVICE_OBJECT* fdo) {
    const open_hca opened(fdo);
    const port_block port(opened, 1);
    return *IbPortGid(&*port, 0);
}

class IbmfGuest : public ::testing::Test {
protected:
    /// A message of the vendor's class for rxe1, with pattern().
    class question : public test_message {
    public:
        question(const IbmfGuest& test, ibmf_handle_t handle, std::uint8_t method,
                 std::uint32_t answer_size, std::size_t size = 64)
            : test_message(handle, {.mgmt_class = guest_class,
                                    .method = method,
                                    .tid = ++test.transactions,
                                    .to = 0,
                                    .data_size = size}) {
            set_oui(guest_oui);
            ibmf_msg_bufs_t& parts = shown->im_msgbufs_send;
            parts.im_bufs_mad_hdr->AttributeModifier = __builtin_bswap32(answer_size);
            std::ranges::copy(pattern(size), static_cast<std::uint8_t*>(parts.im_bufs_cl_data));
            shown->im_msg_flags |= IBMF_MSG_FLAGS_GLOBAL_ADDRESS;
            shown->im_global_addr = {test.here, test.there, 0, 0, 64};
        }
    };

    vendor as_vendor() const { return {{hcas.guid(), 1, VENDOR_32_MANAGER_AGENT}, guest_oui}; }

    dispatch::asio_machine machine{{.processors = 2}};
    dispatch::machine::scope inside{machine};
    attached hcas{"rdma:rxe0"};
    const ib_gid_t here = gid_of(hcas.fdo());
    kernel_port rxe1{"rxe1"};
    const ib_gid_t there = rxe1.gid();
    mutable std::uint32_t transactions = 0;
};

TEST_F(IbmfGuest, AGetIsAnsweredByTheKernelsAgent) {
    const kernel_agent agent("rxe1");
    const client_scope manager(as_vendor(), IBMF_REG_FLAG_RMPP);
    for (int i = 0; i < 50; ++i) {
        question asked(*this, manager.handle, get, 0);
        ASSERT_EQ(asked.send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, patient), IBMF_SUCCESS);
        EXPECT_EQ(asked.received_header().method, MAD_METHOD_GET_RESPONSE);
        EXPECT_TRUE(std::ranges::equal(asked.received().first(100), pattern(100)));
    }
    EXPECT_EQ(manager.stats().st_transactions, 0u);
}

TEST_F(IbmfGuest, AGetOfTheKernelIsAnswered) {
    const echo_agent agent(as_vendor());
    for (int i = 0; i < 50; ++i) {
        const auto answer =
            rxe1.ask(kernel_message::of(get, ++transactions, 7, pattern(216), false), here);
        ASSERT_TRUE(answer);
        EXPECT_EQ(answer->method(), MAD_METHOD_GET_RESPONSE);
        EXPECT_TRUE(std::ranges::equal(answer->data(), pattern(216)));
    }
}

// The kernel says so in the agent's place.
TEST_F(IbmfGuest, AnotherVendorsClassHasNoAgentThere) {
    const kernel_agent agent("rxe1");
    const client_scope manager(as_vendor(), IBMF_REG_FLAG_RMPP);
    question asked(*this, manager.handle, get, 0);
    asked.set_oui(guest_oui + 1);
    ASSERT_EQ(asked.send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, patient), IBMF_SUCCESS);
    EXPECT_EQ(asked.received_header().status, MAD_STATUS_UNSUPP_METHOD_ATTR);
}

TEST_F(IbmfGuest, TheKernelsSegmentsAreReceived) {
    const kernel_agent agent("rxe1");
    const client_scope manager(as_vendor(), IBMF_REG_FLAG_RMPP);
    for (const std::size_t size : sizes) {
        question asked(*this, manager.handle, get_table, static_cast<std::uint32_t>(size));
        ASSERT_EQ(asked.send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, patient), IBMF_SUCCESS) << size;
        EXPECT_TRUE(std::ranges::equal(asked.received(), pattern(size))) << size;
    }
    EXPECT_EQ(manager.stats().st_rmpp_errors, 0u);
}

TEST_F(IbmfGuest, TheKernelReceivesOurSegments) {
    table_agent agent(as_vendor());
    agent.times = brisk;
    for (const std::size_t size : sizes) {
        agent.resize(size);
        const auto answer =
            rxe1.ask(kernel_message::of(get_table, ++transactions, 0, {}, false), here);
        ASSERT_TRUE(answer) << size;
        EXPECT_TRUE(std::ranges::equal(answer->data(), agent.table())) << size;
        agent.await_answers();
        EXPECT_EQ(agent.last_answer_status(), IBMF_SUCCESS) << size;
    }
    std::cout << "resent " << agent.stats().st_rmpp_resent << std::endl;
}

TEST_F(IbmfGuest, TheKernelReceivesALongRequest) {
    const kernel_agent agent("rxe1");
    const client_scope manager(as_vendor(), IBMF_REG_FLAG_RMPP);
    for (const std::size_t size : sizes) {
        const unsigned before = agent.recognised();
        question asked(*this, manager.handle, set, 300, size);
        ASSERT_EQ(asked.send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ | IBMF_MSG_TRANS_FLAG_RMPP, brisk),
                  IBMF_SUCCESS)
            << size;
        EXPECT_TRUE(std::ranges::equal(asked.received(), pattern(300))) << size;
        EXPECT_EQ(agent.recognised(), before + 1) << size;
    }
}

TEST_F(IbmfGuest, ALongRequestOfTheKernelIsReceived) {
    table_agent agent(as_vendor());
    agent.times = brisk;
    agent.resize(300);
    std::atomic<unsigned> recognised{0};
    agent.heard = [&](std::span<const std::uint8_t> data) {
        if (std::ranges::equal(data, pattern(data.size()))) ++recognised;
    };
    for (const std::size_t size : sizes) {
        const unsigned before = recognised;
        const auto answer =
            rxe1.ask(kernel_message::of(set, ++transactions, 0, pattern(size), true), here);
        ASSERT_TRUE(answer) << size;
        EXPECT_TRUE(std::ranges::equal(answer->data(), agent.table())) << size;
        EXPECT_EQ(agent.last_request_size(), size);
        EXPECT_GT(recognised, before) << size;
    }
}

} // namespace
