// Extended queue pairs (ibv_wr_*) and completion queues (ibv_start_poll).
#include "ends.hpp"

#include <array>
#include <cerrno>
#include <endian.h>

namespace {

using namespace irpverbs::testing;

constexpr std::uint64_t some_ops =
    IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_WRITE |
    IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_ATOMIC_WRITE;

ibv_qp_ex* extended(end& of) { return ibv_qp_to_qp_ex(*of.qp); }

TEST(Extended, BuiltList_IsPostedInOrder) {
    connected_ends ends({.send_ops = some_ops});
    ASSERT_EQ(ends.right.post_receive(1, 0, 64), 0);
    ibv_qp_ex* qp = extended(ends.left);
    ASSERT_NE(qp, nullptr);
    char text[] = "first";
    ibv_wr_start(qp);
    qp->wr_id = 1;
    qp->wr_flags = 0;
    ibv_wr_rdma_write(qp, ends.right.mr->rkey, ends.right.address(256));
    ibv_wr_set_inline_data(qp, text, sizeof(text));
    text[0] = 'X'; // the setter has copied it
    qp->wr_id = 2;
    qp->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_send_imm(qp, htobe32(77));
    const ibv_data_buf pieces[] = {{const_cast<char*>("se"), 2}, {const_cast<char*>("cond"), 5}};
    ibv_wr_set_inline_data_list(qp, 2, pieces);
    ASSERT_EQ(ibv_wr_complete(qp), 0);
    EXPECT_EQ(next_completion(*ends.left.cq).wr_id, 2u);
    const ibv_wc received = next_completion(*ends.right.cq);
    EXPECT_EQ(received.imm_data, htobe32(77));
    EXPECT_STREQ(ends.right.bytes.data() + 256, "first");
    EXPECT_STREQ(ends.right.bytes.data(), "second");
}

TEST(Extended, SegmentsAndAtomics_AreThoseOfThePost) {
    connected_ends ends({.send_ops = some_ops});
    ibv_qp_ex* qp = extended(ends.left);
    std::memcpy(ends.left.bytes.data(), "abcdef", 7);
    const ibv_sge two[] = {ends.left.piece(0, 3), ends.left.piece(3, 4)};
    ibv_wr_start(qp);
    qp->wr_flags = 0;
    ibv_wr_rdma_write(qp, ends.right.mr->rkey, ends.right.address(512));
    ibv_wr_set_sge_list(qp, 2, two);
    qp->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_atomic_fetch_add(qp, ends.right.mr->rkey, ends.right.address(0), 4);
    ibv_wr_set_sge(qp, ends.left.mr->lkey, ends.left.address(64), 8);
    ASSERT_EQ(ibv_wr_complete(qp), 0);
    EXPECT_EQ(next_completion(*ends.left.cq).opcode, IBV_WC_FETCH_ADD);
    EXPECT_STREQ(ends.right.bytes.data() + 512, "abcdef");
    EXPECT_EQ(ends.right.bytes[0], 4);
}

TEST(Extended, AtomicWrite_ReadsItsValueAtOnce) {
    connected_ends ends({.send_ops = some_ops});
    ibv_qp_ex* qp = extended(ends.left);
    std::array<char, 8> value{"1234567"};
    ibv_wr_start(qp);
    qp->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_atomic_write(qp, ends.right.mr->rkey, ends.right.address(0), value.data());
    value[0] = 'x';
    ASSERT_EQ(ibv_wr_complete(qp), 0);
    EXPECT_EQ(next_completion(*ends.left.cq).opcode, IBV_WC_ATOMIC_WRITE);
    EXPECT_STREQ(ends.right.bytes.data(), "1234567");
}

TEST(Extended, Datagram_HasItsAddress) {
    connected_ends ends(
        {.type = IBV_QPT_UD, .send_ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM});
    ibv_ah_attr way{};
    way.dlid = ends.right.lid;
    way.port_num = 1;
    const owned<ibv_ah> to(ibv_create_ah(ends.left.pd, &way), ibv_destroy_ah);
    ASSERT_EQ(ends.right.post_receive(1, 0, 128), 0);
    ibv_qp_ex* qp = extended(ends.left);
    ibv_wr_start(qp);
    qp->wr_flags = 0;
    ibv_wr_send(qp);
    ibv_wr_set_ud_addr(qp, to, (*ends.right.qp)->qp_num, end::qkey);
    ibv_wr_set_sge(qp, ends.left.mr->lkey, ends.left.address(0), 5);
    ASSERT_EQ(ibv_wr_complete(qp), 0);
    EXPECT_EQ(next_completion(*ends.right.cq).byte_len, 45u);
}

TEST(Extended, FailedSetterOrAbort_PostsNothing) {
    connected_ends ends({.send_ops = some_ops});
    ibv_qp_ex* qp = extended(ends.left);
    std::array<char, 2000> bytes{};
    ibv_wr_start(qp);
    qp->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_rdma_write(qp, ends.right.mr->rkey, ends.right.address(0));
    ibv_wr_set_inline_data(qp, bytes.data(), bytes.size());
    EXPECT_EQ(ibv_wr_complete(qp), EINVAL) << "too many bytes";
    ibv_wr_start(qp);
    ibv_wr_rdma_write(qp, ends.right.mr->rkey, ends.right.address(0));
    ibv_wr_set_sge(qp, ends.left.mr->lkey, ends.left.address(0), 4);
    ibv_wr_abort(qp);
    ibv_wr_start(qp);
    for (int i = 0; i < 1000; ++i)
        ibv_wr_send(qp);
    EXPECT_EQ(ibv_wr_complete(qp), ENOMEM) << "more than the queue holds";
    ibv_wr_start(qp);
    EXPECT_EQ(ibv_wr_complete(qp), 0) << "an empty list";
    ibv_wc wc{};
    EXPECT_EQ(ibv_poll_cq(*ends.left.cq, 1, &wc), 0);
}

TEST(Extended, Polls_ReadTheMembersOfACompletion) {
    const owned<ibv_context> context(open_device(0), ibv_close_device);
    ibv_cq_init_attr_ex attr{};
    attr.cqe = 8;
    attr.wc_flags = IBV_WC_STANDARD_FLAGS;
    const owned<ibv_cq> cq(ibv_cq_ex_to_cq(ibv_create_cq_ex(context, &attr)), ibv_destroy_cq);
    ibv_cq_ex* polled = reinterpret_cast<ibv_cq_ex*>(static_cast<ibv_cq*>(cq));
    const owned<ibv_pd> pd(ibv_alloc_pd(context), ibv_dealloc_pd);
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq;
    init.cap = {2, 2, 1, 1, 0};
    init.qp_type = IBV_QPT_RC;
    const owned<ibv_qp> qp(ibv_create_qp(pd, &init), ibv_destroy_qp);
    ibv_qp_attr state{};
    state.qp_state = IBV_QPS_INIT;
    state.port_num = 1;
    ASSERT_EQ(ibv_modify_qp(qp, &state,
                            IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
              0);
    state.qp_state = IBV_QPS_ERR;
    ASSERT_EQ(ibv_modify_qp(qp, &state, IBV_QP_STATE), 0);
    std::array<ibv_recv_wr, 2> receives{};
    ibv_recv_wr* failed = nullptr;
    receives[0] = {11, &receives[1], nullptr, 0};
    receives[1] = {12, nullptr, nullptr, 0};
    ASSERT_EQ(ibv_post_recv(qp, receives.data(), &failed), 0);
    ibv_poll_cq_attr none{};
    int result = 0;
    while ((result = ibv_start_poll(polled, &none)) == ENOENT) {
    }
    ASSERT_EQ(result, 0);
    EXPECT_EQ(polled->wr_id, 11u);
    EXPECT_EQ(polled->status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(ibv_wc_read_qp_num(polled), qp->qp_num);
    ASSERT_EQ(ibv_next_poll(polled), 0);
    EXPECT_EQ(polled->wr_id, 12u);
    EXPECT_EQ(ibv_next_poll(polled), ENOENT);
    ibv_end_poll(polled);
    none.comp_mask = 1;
    EXPECT_EQ(ibv_start_poll(polled, &none), EINVAL);
}

} // namespace
