// Work requests on regions whose memory is pages: each operation reaches the bytes of the right
// pages, at both ends. And the work requests that register pages.
#include "simulated_pair.hpp"

#include <numeric>

namespace {

using namespace irpverbs::testing;

constexpr ULONG mapped_size = 3000;
constexpr ULONG page = 600;

class Pages : public ::testing::TestWithParam<std::uint32_t> {
protected:
    Pages() {
        for (ULONG i = 0; i < mapped_size; ++i) {
            local.bytes[local.place_of(i)] = static_cast<UCHAR>(i * 7);
            remote.bytes[remote.place_of(i)] = static_cast<UCHAR>(i * 11 + 3);
        }
    }
    void connect(std::uint32_t loss = 0) {
        pair.faults.straight = GetParam();
        pair.faults.loss = pair.faults.duplication = loss;
        pair.connect();
    }
    static UCHAR byte(const region& of, ULONG offset) { return of.bytes[of.place_of(offset)]; }
    /// Executes an operation on all but the first and the last 100 bytes.
    void execute(ib_wr_type_t type) {
        segment = segment_of(local, mapped_size - 200, 100);
        ib_send_wr_t what = remote_request(type, segment, remote, 100);
        EXPECT_EQ(one.send(what), STATUS_SUCCESS);
        pair.run();
        ASSERT_EQ(one.sent.size(), 1u);
        EXPECT_EQ(one.sent[0].Status, ULONG{IB_WC_SUCCESS});
    }
    void expect_equal_bytes() {
        for (ULONG i = 0; i < mapped_size; ++i) {
            const bool inside = i >= 100 && i < mapped_size - 100;
            ASSERT_EQ(byte(local, i) == byte(remote, i), inside) << i; // 7i is never 11i + 3
        }
        EXPECT_EQ(one.memory.outside + two.memory.outside, 0u);
    }
    static ib_send_wr_t registration(const ULONGLONG* pages, ULONG count) {
        ib_send_wr_t made{};
        made.wr_id = 40;
        made.wr_type = WR_FAST_REG_MR;
        made.send_opt = IB_SEND_OPT_SIGNALED;
        made.fast_reg = {0x1008, pages, count, 12, 4000, 8, 0x777, IB_AC_LOCAL_WRITE};
        return made;
    }

    simulated_pair pair;
    simulated_end& one = pair.one();
    simulated_end& two = pair.two();
    region& local = one.memory.add_paged(mapped_size, page);
    region& remote = two.memory.add_paged(mapped_size, page);
    ib_local_ds_t segment{};
    std::array<ULONGLONG, 2> list{0x1000, 0x2000};
};

TEST_P(Pages, Write_ReachesEachPage) {
    connect(10);
    execute(WR_RDMA_WRITE);
    expect_equal_bytes();
}

TEST_P(Pages, Read_ReachesEachPage) {
    connect(10);
    execute(WR_RDMA_READ);
    expect_equal_bytes();
}

TEST_P(Pages, Send_FillsTheReceive) {
    connect();
    ib_local_ds_t into = segment_of(remote, mapped_size - 200, 100);
    ib_recv_wr_t receive{nullptr, 9, &into, 1};
    ib_recv_wr_t* failed = nullptr;
    EXPECT_EQ(two.engine->post_receive(&receive, &failed), STATUS_SUCCESS);
    execute(WR_SEND);
    expect_equal_bytes();
}

TEST_P(Pages, Atomic_ReachesItsBytes) {
    connect();
    segment = segment_of(local, 8, 8);
    ib_send_wr_t what = remote_request(WR_FETCH_ADD, segment, remote, page);
    what.remote_ops.atomic1 = 5;
    ULONGLONG before = 0;
    std::memcpy(&before, &remote.bytes[remote.place_of(page)], sizeof(before));
    EXPECT_EQ(one.send(what), STATUS_SUCCESS);
    pair.run();
    ASSERT_EQ(one.sent.size(), 1u);
    EXPECT_EQ(one.sent[0].Status, ULONG{IB_WC_SUCCESS});
    ULONGLONG after = 0;
    std::memcpy(&after, &remote.bytes[remote.place_of(page)], sizeof(after));
    EXPECT_EQ(after, before + 5);
    ULONGLONG result = 0;
    std::memcpy(&result, &local.bytes[local.place_of(8)], sizeof(result));
    EXPECT_EQ(result, before);
}

TEST_P(Pages, RangeBeyondThePages_IsRefused) {
    connect();
    segment = segment_of(local, 100);
    one.send(remote_request(WR_RDMA_WRITE, segment, remote, mapped_size - 99));
    pair.run();
    ASSERT_EQ(one.sent.size(), 1u);
    EXPECT_EQ(one.sent[0].Status, ULONG{IB_WC_REMOTE_ACCESS_ERROR});
}

TEST_P(Pages, Registration_HasItsNumbersAndCompletion) {
    connect();
    EXPECT_EQ(one.send(registration(list.data(), 2)), STATUS_SUCCESS);
    pair.run();
    ASSERT_EQ(one.memory.registered.size(), 1u);
    const auto& what = one.memory.registered[0];
    EXPECT_EQ(what.first, 0x1008u);
    EXPECT_EQ(what.length, 4000u);
    EXPECT_EQ(what.pages, list.data());
    EXPECT_EQ(what.page_count, 2u);
    EXPECT_EQ(what.offset, 8u);
    EXPECT_EQ(what.rkey, 0x777u);
    EXPECT_EQ(what.page_shift, 12u);
    EXPECT_EQ(what.access, IB_AC_LOCAL_WRITE);
    ASSERT_EQ(one.sent.size(), 1u);
    EXPECT_EQ(one.sent[0].Opcode, ULONG{IB_WC_FAST_REGISTER});
}

TEST_P(Pages, RegistrationThatIsRefused_Fails) {
    connect();
    one.memory.registers = false;
    EXPECT_EQ(one.send(registration(list.data(), 2)), STATUS_SUCCESS);
    pair.run();
    ASSERT_EQ(one.sent.size(), 1u);
    EXPECT_EQ(one.sent[0].Status, ULONG{IB_WC_LOCAL_QP_OPERATION_ERROR});
    EXPECT_EQ(one.engine->state(), ULONG{IB_QPS_ERROR});
}

// A number that its member can't hold must not become one that is right.
TEST_P(Pages, NumbersThatAreTooLarge_StayWrong) {
    connect();
    ib_send_wr_t what = registration(list.data(), 2);
    what.fast_reg.page_shift = 0x100 + 12;
    what.fast_reg.access_flags = 0x100 | IB_AC_LOCAL_WRITE;
    EXPECT_EQ(one.send(what), STATUS_SUCCESS);
    pair.run();
    ASSERT_EQ(one.memory.registered.size(), 1u);
    EXPECT_EQ(one.memory.registered[0].page_shift, 0xFF);
    EXPECT_EQ(one.memory.registered[0].access, 0xFF);
}

TEST_P(Pages, RegistrationWithoutList_IsNotPosted) {
    connect();
    EXPECT_EQ(one.send(registration(nullptr, 2)), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(one.send(registration(list.data(), 0)), STATUS_INVALID_PARAMETER);
    EXPECT_TRUE(one.memory.registered.empty());
}

TEST_P(Pages, Registration_WaitsForEarlierWorkRequests) {
    connect();
    pair.drop = [&](const packet& each) { return each.row().what == operation::read_response; };
    segment = segment_of(local, 100);
    ib_send_wr_t read = remote_request(WR_RDMA_READ, segment, remote);
    ib_send_wr_t* failed = nullptr;
    EXPECT_EQ(one.engine->post_send(&read, &failed), STATUS_SUCCESS);
    EXPECT_EQ(one.send(registration(list.data(), 2)), STATUS_SUCCESS);
    pair.run(3);
    EXPECT_TRUE(one.memory.registered.empty());
    pair.drop = nullptr;
    pair.run();
    EXPECT_EQ(one.memory.registered.size(), 1u);
}

TEST(PagesOfDatagrams, Registration_IsNoOperationOfTheirs) {
    simulated_pair pair(1, IB_QPT_UNRELIABLE_DGRM);
    pair.connect();
    const ULONGLONG address = 0x1000;
    ib_send_wr_t what{};
    what.wr_type = WR_FAST_REG_MR;
    what.fast_reg = {0x1000, &address, 1, 12, 1, 0, 0x777, 0};
    EXPECT_EQ(pair.one().send(what), STATUS_INVALID_DEVICE_REQUEST);
}

INSTANTIATE_TEST_SUITE_P(Way, Pages, ::testing::Values(0u, 1u),
                         [](const auto& way) { return way.param == 0 ? "Packets" : "Straight"; });

} // namespace
