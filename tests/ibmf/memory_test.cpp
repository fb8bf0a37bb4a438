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

// 512 bytes and a tenth for the allocator's headers, beside messages and the client's buffers. The
// number is past a power of two, where containers that grow by doubling are half empty.
TEST(IbmfMemory, OutstandingTransaction_MemoryIsBounded) {
    if (allocated() == 0) GTEST_SKIP() << "this allocator reports no sizes";
    constexpr unsigned outstanding = 16'500;
    dispatch::asio_machine machine({.processors = 2});
    const dispatch::machine::scope inside(machine);
    wire joined;
    joined.tap = [](unsigned, const auto&) { return false; };
    const client_scope manager(0, PERF_MANAGER);
    std::vector<std::unique_ptr<test_message>> all;
    for (unsigned i = 1; i <= outstanding; ++i)
        all.push_back(std::make_unique<test_message>(
            manager.handle, request_of{MAD_MGMT_CLASS_PERF, MAD_METHOD_GET, i}));
    const std::size_t before = allocated();
    for (const auto& each : all)
        ASSERT_EQ(each->send(IBMF_MSG_TRANS_FLAG_SEQ, {0, 60'000'000, 0, 0}), IBMF_SUCCESS);
    const double each = static_cast<double>(allocated() - before) / outstanding;
    RecordProperty("bytes", std::to_string(each));
    EXPECT_LE(each, 512 * 1.1);
    EXPECT_GE(each, 256.0); // the measurement works
    for (const auto& one : all)
        ibmf_cancel_msg(manager.handle, one->ibmf_msg);
}

} // namespace
