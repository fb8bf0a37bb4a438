// Memory windows.
#include "ends.hpp"

#include <cerrno>

namespace {

using namespace irpverbs::testing;

constexpr int bindable = all_access | IBV_ACCESS_MW_BIND;

/// Two ends, and a window over the second half of the right one's page.
struct window_ends : connected_ends {
    explicit window_ends(ibv_mw_type type, const end_options& options = {})
        : connected_ends(options),
          region(ibv_reg_mr(right.pd, right.bytes.data(), right.bytes.size(), bindable),
                 ibv_dereg_mr),
          window(ibv_alloc_mw(right.pd, type), ibv_dealloc_mw) {}

    ibv_mw_bind_info range() {
        return {region, right.address(2048), 2048,
                unsigned{IBV_ACCESS_REMOTE_WRITE} | IBV_ACCESS_LOCAL_WRITE};
    }
    /// The status of a write with the window's key.
    ibv_wc_status write() {
        ibv_sge segment = left.piece(0, 4);
        ibv_send_wr wr = left.request(IBV_WR_RDMA_WRITE, segment);
        wr.wr.rdma = {right.address(2048), window->rkey};
        EXPECT_EQ(left.post(wr), 0);
        return next_completion(*left.cq).status;
    }

    owned<ibv_mr> region;
    owned<ibv_mw> window;
};

TEST(Windows, Type1_GivesAccessFromItsBinding) {
    window_ends ends(IBV_MW_TYPE_1);
    ibv_mw_bind bind{5, IBV_SEND_SIGNALED, ends.range()};
    const std::uint32_t before = ends.window->rkey;
    ASSERT_EQ(ibv_bind_mw(*ends.right.qp, ends.window, &bind), 0);
    const ibv_wc bound = next_completion(*ends.right.cq);
    EXPECT_EQ(bound.wr_id, 5u);
    EXPECT_EQ(bound.opcode, IBV_WC_BIND_MW);
    EXPECT_NE(ends.window->rkey, before) << "each binding has a key of its own";
    EXPECT_EQ(ends.write(), IBV_WC_SUCCESS);
    bind.bind_info.length = 0;
    bind.bind_info.addr = 0;
    bind.bind_info.mr = nullptr;
    ASSERT_EQ(ibv_bind_mw(*ends.right.qp, ends.window, &bind), 0);
    next_completion(*ends.right.cq);
    EXPECT_EQ(ends.write(), IBV_WC_REM_ACCESS_ERR) << "bound to nothing";
}

TEST(Windows, Type2_IsBoundAndInvalidatedByWorkRequests) {
    window_ends ends(IBV_MW_TYPE_2);
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_BIND_MW;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.bind_mw = {ends.window, ibv_inc_rkey(ends.window->rkey), ends.range()};
    ASSERT_EQ(ends.right.post(wr), 0);
    EXPECT_EQ(next_completion(*ends.right.cq).status, IBV_WC_SUCCESS);
    EXPECT_EQ(ends.window->rkey, wr.bind_mw.rkey);
    EXPECT_EQ(ends.write(), IBV_WC_SUCCESS);
    wr.opcode = IBV_WR_LOCAL_INV;
    wr.invalidate_rkey = ends.window->rkey;
    ASSERT_EQ(ends.right.post(wr), 0);
    EXPECT_EQ(next_completion(*ends.right.cq).opcode, IBV_WC_LOCAL_INV);
    EXPECT_EQ(ends.write(), IBV_WC_REM_ACCESS_ERR);
}

TEST(Windows, Type2_KeyIsTheProgramsInItsLowestByte) {
    window_ends ends(IBV_MW_TYPE_2);
    const std::uint32_t of_the_device = ends.window->rkey & ~0xFFu;
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_BIND_MW;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.bind_mw = {ends.window, ~of_the_device ^ 0x5Au, ends.range()};
    ASSERT_EQ(ends.right.post(wr), 0);
    EXPECT_EQ(next_completion(*ends.right.cq).status, IBV_WC_SUCCESS);
    EXPECT_EQ(ends.window->rkey, of_the_device | 0xA5u);
    EXPECT_EQ(ends.write(), IBV_WC_SUCCESS);
}

TEST(Windows, BuiltBinding_IsThatOfThePost) {
    window_ends ends(IBV_MW_TYPE_2,
                     {.send_ops = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_BIND_MW});
    ibv_qp_ex* qp = ibv_qp_to_qp_ex(*ends.right.qp);
    const ibv_mw_bind_info range = ends.range();
    ibv_wr_start(qp);
    qp->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_bind_mw(qp, ends.window, ibv_inc_rkey(ends.window->rkey), &range);
    ASSERT_EQ(ibv_wr_complete(qp), 0);
    EXPECT_EQ(next_completion(*ends.right.cq).status, IBV_WC_SUCCESS);
    EXPECT_EQ(ends.write(), IBV_WC_SUCCESS);
}

TEST(Windows, ImpossibleOnes_AreRefused) {
    window_ends ends(IBV_MW_TYPE_2);
    EXPECT_EQ(ibv_alloc_mw(ends.right.pd, static_cast<ibv_mw_type>(3)), nullptr);
    EXPECT_EQ(errno, EINVAL);
    ibv_mw_bind bind{0, 0, ends.range()};
    EXPECT_EQ(ibv_bind_mw(*ends.right.qp, ends.window, &bind), EINVAL) << "not of type 1";
}

} // namespace
