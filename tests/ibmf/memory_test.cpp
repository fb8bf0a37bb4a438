// The memory of an outstanding transaction, measured by the allocator.
#include "ibmf_client.hpp"

#include <malloc.h>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

std::size_t allocated() {
    const struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

/// Transactions that get no response. Their number is past a power of two, where containers that
/// grow by doubling are half empty.
struct IbmfMemory : ::testing::Test {
    static constexpr unsigned outstanding = 16'500;

    void SetUp() override {
        if (allocated() == 0) GTEST_SKIP() << "this allocator reports no sizes";
        joined.tap = [](unsigned, const auto&) { return false; };
        all.reserve(outstanding);
    }
    void TearDown() override {
        for (const auto& one : all)
            ibmf_cancel_msg(manager.handle, one->ibmf_msg);
    }
    void make_messages() {
        while (all.size() < outstanding)
            all.push_back(std::make_unique<test_message>(
                manager.handle, request_of{MAD_MGMT_CLASS_PERF, MAD_METHOD_GET, all.size() + 1}));
    }
    void send_all() {
        for (const auto& each : all)
            ASSERT_EQ(each->send(IBMF_MSG_TRANS_FLAG_SEQ, {0, 60'000'000, 0, 0}), IBMF_SUCCESS);
    }
    double each_since(std::size_t before) {
        const double each = static_cast<double>(allocated() - before) / outstanding;
        RecordProperty("bytes", std::to_string(each));
        return each;
    }

    dispatch::asio_machine machine{{.processors = 2}};
    const dispatch::machine::scope inside{machine};
    wire joined;
    const client_scope manager{0, PERF_MANAGER};
    std::vector<std::unique_ptr<test_message>> all;
};

// All that the transport allocates, down to the driver: the IRP, the transaction with its id and
// time, its entry in the index of ids, the datagram, and the allocator's headers.
TEST_F(IbmfMemory, OutstandingTransaction_BesideItsMessage_Has512BytesAtMost) {
    make_messages();
    const std::size_t before = allocated();
    send_all();
    const double each = each_since(before);
    EXPECT_LE(each, 512);
    EXPECT_GE(each, 256); // the measurement works
}

// The public part alone has 160 bytes, as the seed defines it.
TEST_F(IbmfMemory, Message_ThatIsAllocated_Has416BytesAtMost) {
    std::vector<ibmf_msg_t*> messages(outstanding);
    const std::size_t before = allocated();
    for (ibmf_msg_t*& each : messages)
        ASSERT_EQ(ibmf_alloc_msg(manager.handle, IBMF_ALLOC_SLEEP, &each), IBMF_SUCCESS);
    const double each = each_since(before);
    EXPECT_LE(each, 416);
    EXPECT_GE(each, sizeof(ibmf_msg_t)); // the measurement works
    for (ibmf_msg_t*& each_message : messages)
        EXPECT_EQ(ibmf_free_msg(manager.handle, &each_message), IBMF_SUCCESS);
}

} // namespace
