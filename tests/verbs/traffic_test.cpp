// Work requests and their completions.
#include "ends.hpp"

#include <cerrno>
#include <endian.h>

namespace {

using namespace irpverbs::testing;

TEST(Traffic, Send_ArrivesWithItsImmediateData) {
    connected_ends ends;
    ASSERT_EQ(ends.right.post_receive(7, 1024, 64), 0);
    std::memcpy(ends.left.bytes.data(), "hello", 6);
    ibv_sge segment = ends.left.piece(0, 6);
    ibv_send_wr wr = ends.left.request(IBV_WR_SEND_WITH_IMM, segment);
    wr.imm_data = htobe32(0x12345678);
    ASSERT_EQ(ends.left.post(wr), 0);
    const ibv_wc sent = next_completion(*ends.left.cq);
    EXPECT_EQ(sent.status, IBV_WC_SUCCESS);
    EXPECT_EQ(sent.wr_id, wr.wr_id);
    EXPECT_EQ(sent.opcode, IBV_WC_SEND);
    const ibv_wc received = next_completion(*ends.right.cq);
    EXPECT_EQ(received.wr_id, 7u);
    EXPECT_EQ(received.opcode, IBV_WC_RECV);
    EXPECT_EQ(received.byte_len, 6u);
    EXPECT_EQ(received.wc_flags, unsigned{IBV_WC_WITH_IMM});
    EXPECT_EQ(received.imm_data, htobe32(0x12345678));
    EXPECT_STREQ(ends.right.bytes.data() + 1024, "hello");
}

TEST(Traffic, WriteReadAndAtomics_ReachThePeersMemory) {
    connected_ends ends;
    end& left = ends.left;
    end& right = ends.right;
    std::memcpy(left.bytes.data(), "written", 8);
    ibv_sge segment = left.piece(0, 8);
    ibv_send_wr wr = left.request(IBV_WR_RDMA_WRITE, segment);
    wr.wr.rdma = {right.address(512), right.mr->rkey};
    ASSERT_EQ(left.post(wr), 0);
    EXPECT_EQ(next_completion(*left.cq).opcode, IBV_WC_RDMA_WRITE);
    EXPECT_STREQ(right.bytes.data() + 512, "written");

    segment = left.piece(64, 8);
    wr = left.request(IBV_WR_RDMA_READ, segment);
    wr.wr.rdma = {right.address(512), right.mr->rkey};
    ASSERT_EQ(left.post(wr), 0);
    EXPECT_EQ(next_completion(*left.cq).opcode, IBV_WC_RDMA_READ);
    EXPECT_STREQ(left.bytes.data() + 64, "written");

    auto* counter = reinterpret_cast<std::uint64_t*>(right.bytes.data());
    auto* before = reinterpret_cast<std::uint64_t*>(left.bytes.data() + 128);
    *counter = 5;
    segment = left.piece(128, 8);
    wr = left.request(IBV_WR_ATOMIC_FETCH_AND_ADD, segment);
    wr.wr.atomic = {right.address(0), 3, 0, right.mr->rkey};
    ASSERT_EQ(left.post(wr), 0);
    EXPECT_EQ(next_completion(*left.cq).opcode, IBV_WC_FETCH_ADD);
    EXPECT_EQ(*before, 5u);
    EXPECT_EQ(*counter, 8u);
    wr = left.request(IBV_WR_ATOMIC_CMP_AND_SWP, segment);
    wr.wr.atomic = {right.address(0), 8, 21, right.mr->rkey};
    ASSERT_EQ(left.post(wr), 0);
    EXPECT_EQ(next_completion(*left.cq).opcode, IBV_WC_COMP_SWAP);
    EXPECT_EQ(*counter, 21u);
    *before = 34;
    wr = left.request(IBV_WR_ATOMIC_WRITE, segment);
    wr.wr.rdma = {right.address(0), right.mr->rkey};
    ASSERT_EQ(left.post(wr), 0);
    EXPECT_EQ(next_completion(*left.cq).opcode, IBV_WC_ATOMIC_WRITE);
    EXPECT_EQ(*counter, 34u);
    segment.length = 4;
    EXPECT_EQ(left.post(wr), EINVAL);
}

TEST(Traffic, WrongKey_EndsBothQueuePairsAndIsReported) {
    connected_ends ends;
    ibv_sge segment = ends.left.piece(0, 8);
    ibv_send_wr wr = ends.left.request(IBV_WR_RDMA_WRITE, segment);
    wr.wr.rdma = {ends.right.address(0), 0xBAD};
    ASSERT_EQ(ends.left.post(wr), 0);
    EXPECT_EQ(next_completion(*ends.left.cq).status, IBV_WC_REM_ACCESS_ERR);
    ibv_async_event event{};
    ASSERT_TRUE(is_readable(ends.right.context->async_fd, -1));
    ASSERT_EQ(ibv_get_async_event(ends.right.context, &event), 0);
    EXPECT_EQ(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
    EXPECT_EQ(event.element.qp, static_cast<ibv_qp*>(*ends.right.qp));
    ibv_ack_async_event(&event);
}

TEST(Traffic, List_IsPostedUpToTheFirstThatFails) {
    connected_ends ends;
    std::array<ibv_send_wr, 12> list{};
    ibv_sge segment = ends.left.piece(0, 4);
    for (std::size_t i = 0; i < list.size(); ++i) {
        list[i] = ends.left.request(IBV_WR_RDMA_WRITE, segment);
        list[i].wr_id = i;
        list[i].send_flags = 0;
        list[i].wr.rdma = {ends.right.address(0), ends.right.mr->rkey};
        list[i].next = i + 1 < list.size() ? &list[i + 1] : nullptr;
    }
    list[10].num_sge = 100;
    list[9].send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* failed = nullptr;
    EXPECT_EQ(ibv_post_send(*ends.left.qp, list.data(), &failed), EINVAL);
    EXPECT_EQ(failed, &list[10]);
    EXPECT_EQ(next_completion(*ends.left.cq).wr_id, 9u) << "those before it were posted";
    list[0].opcode = IBV_WR_TSO;
    EXPECT_EQ(ibv_post_send(*ends.left.qp, list.data(), &failed), EINVAL);
    EXPECT_EQ(failed, &list[0]);
}

TEST(Traffic, FullReceiveQueue_IsOutOfMemory) {
    connected_ends ends;
    int error = 0;
    for (int i = 0; error == 0 && i < 1000; ++i)
        error = ends.right.post_receive(1, 0, 4);
    EXPECT_EQ(error, ENOMEM);
}

TEST(Traffic, InlineBytes_AreCopiedByThePost) {
    connected_ends ends;
    ASSERT_EQ(ends.right.post_receive(1, 0, 64), 0);
    char text[] = "inline";
    ibv_sge segment{reinterpret_cast<std::uintptr_t>(text), sizeof(text), 0};
    ibv_send_wr wr = ends.left.request(IBV_WR_SEND, segment);
    wr.send_flags |= IBV_SEND_INLINE;
    ASSERT_EQ(ends.left.post(wr), 0);
    text[0] = 'X';
    next_completion(*ends.right.cq);
    EXPECT_STREQ(ends.right.bytes.data(), "inline");
    segment.length = 1 << 20;
    EXPECT_EQ(ends.left.post(wr), EINVAL);
}

TEST(Traffic, Datagram_ArrivesBehindTheRouteHeader) {
    connected_ends ends({.type = IBV_QPT_UD});
    ibv_ah_attr way{};
    way.dlid = ends.right.lid;
    way.port_num = 1;
    way.is_global = 1;
    ASSERT_EQ(ibv_query_gid(ends.right.context, 1, 0, &way.grh.dgid), 0);
    const owned<ibv_ah> to(ibv_create_ah(ends.left.pd, &way), ibv_destroy_ah);
    ASSERT_EQ(ends.right.post_receive(1, 0, 128), 0);
    std::memcpy(ends.left.bytes.data(), "datagram", 9);
    ibv_sge segment = ends.left.piece(0, 9);
    ibv_send_wr wr = ends.left.request(IBV_WR_SEND, segment);
    wr.wr.ud = {to, (*ends.right.qp)->qp_num, end::qkey};
    ASSERT_EQ(ends.left.post(wr), 0);
    ibv_wc received = next_completion(*ends.right.cq);
    EXPECT_EQ(received.byte_len, 40u + 9u);
    EXPECT_EQ(received.src_qp, (*ends.left.qp)->qp_num);
    EXPECT_EQ(received.slid, ends.left.lid);
    EXPECT_STREQ(ends.right.bytes.data() + 40, "datagram");

    auto* route = reinterpret_cast<ibv_grh*>(ends.right.bytes.data());
    ibv_ah_attr back{};
    ASSERT_EQ(ibv_init_ah_from_wc(ends.right.context, 1, &received, route, &back), 0);
    EXPECT_EQ(back.dlid, ends.left.lid);
    EXPECT_EQ(back.is_global, 1);
    const owned<ibv_ah> reply(ibv_create_ah_from_wc(ends.right.pd, &received, route, 1),
                              ibv_destroy_ah);
    wr.wr.ud.ah = nullptr;
    EXPECT_EQ(ends.left.post(wr), EINVAL);
}

TEST(Traffic, Multicast_ReachesTheAttachedOnce) {
    connected_ends ends({.type = IBV_QPT_UD});
    ibv_gid group{};
    group.raw[0] = 0xFF;
    group.raw[1] = 0x12;
    group.raw[15] = 1;
    const std::uint16_t lid = 0xC005;
    ASSERT_EQ(ibv_attach_mcast(*ends.left.qp, &group, lid), 0);
    EXPECT_EQ(ibv_attach_mcast(*ends.left.qp, &group, lid), 0);
    EXPECT_EQ(ibv_attach_mcast(*ends.left.qp, &group, 1), EINVAL);
    ibv_ah_attr way{};
    way.dlid = lid;
    way.port_num = 1;
    way.is_global = 1;
    way.grh.dgid = group;
    const owned<ibv_ah> to(ibv_create_ah(ends.left.pd, &way), ibv_destroy_ah);
    ASSERT_EQ(ends.left.post_receive(3, 0, 128), 0);
    ibv_sge segment = ends.left.piece(1024, 4);
    ibv_send_wr wr = ends.left.request(IBV_WR_SEND, segment);
    wr.send_flags = 0;
    wr.wr.ud = {to, 0xFFFFFF, end::qkey};
    ASSERT_EQ(ends.left.post(wr), 0);
    EXPECT_EQ(next_completion(*ends.left.cq).wr_id, 3u);
    EXPECT_EQ(ibv_destroy_qp(*ends.left.qp), EBUSY) << "attached";
    EXPECT_EQ(ibv_detach_mcast(*ends.left.qp, &group, lid), 0);
    EXPECT_EQ(ibv_detach_mcast(*ends.left.qp, &group, lid), EINVAL);
}

TEST(Traffic, SharedReceives_ServeTheQueuePairAndReportTheLimit) {
    connected_ends ends({.has_shared_receives = true});
    ASSERT_EQ(ends.right.post_receive(1, 0, 64), 0);
    ASSERT_EQ(ends.right.post_receive(2, 64, 64), 0);
    ibv_srq_attr limit{0, 0, 2};
    ASSERT_EQ(ibv_modify_srq(*ends.right.srq, &limit, IBV_SRQ_LIMIT), 0);
    ibv_sge segment = ends.left.piece(0, 4);
    ASSERT_EQ(ends.left.post(ends.left.request(IBV_WR_SEND, segment)), 0);
    EXPECT_EQ(next_completion(*ends.right.cq).wr_id, 1u);
    ibv_async_event event{};
    ASSERT_EQ(ibv_get_async_event(ends.right.context, &event), 0);
    EXPECT_EQ(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
    EXPECT_EQ(event.element.srq, static_cast<ibv_srq*>(*ends.right.srq));
    ibv_ack_async_event(&event);
    ibv_recv_wr wr{};
    ibv_recv_wr* failed = nullptr;
    EXPECT_EQ(ibv_post_recv(*ends.right.qp, &wr, &failed), EINVAL) << "it has no queue of its own";
    EXPECT_EQ(failed, &wr);
}

// libibverbs does not return completions of a queue pair that was reset or destroyed.
TEST(Traffic, Reset_RemovesTheCompletionsOfTheQueuePairOnly) {
    connected_ends ends;
    end& right = ends.right;
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = *right.cq;
    init.cap = {1, 1, 1, 1, 0};
    init.qp_type = IBV_QPT_RC;
    const owned<ibv_qp> other(ibv_create_qp(right.pd, &init), ibv_destroy_qp);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    const int initial = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    ASSERT_EQ(ibv_modify_qp(other, &attr, initial), 0);
    ibv_recv_wr receive{77, nullptr, nullptr, 0};
    ibv_recv_wr* failed = nullptr;
    ASSERT_EQ(ibv_post_recv(other, &receive, &failed), 0);

    ASSERT_EQ(right.post_receive(1, 0, 64), 0);
    ibv_sge segment = ends.left.piece(0, 4);
    ASSERT_EQ(ends.left.post(ends.left.request(IBV_WR_SEND, segment)), 0);
    next_completion(*ends.left.cq); // both ends have completed
    attr.qp_state = IBV_QPS_ERR;
    ASSERT_EQ(ibv_modify_qp(other, &attr, IBV_QP_STATE), 0);
    attr.qp_state = IBV_QPS_RESET;
    ASSERT_EQ(right.modify(attr, IBV_QP_STATE), 0);
    EXPECT_EQ(next_completion(*right.cq).wr_id, 77u);
    ibv_wc wc{};
    EXPECT_EQ(ibv_poll_cq(*right.cq, 1, &wc), 0);
}

TEST(Traffic, Flush_CompletesReceivesInError) {
    connected_ends ends;
    ASSERT_EQ(ends.right.post_receive(9, 0, 64), 0);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_ERR;
    ASSERT_EQ(ends.right.modify(attr, IBV_QP_STATE), 0);
    const ibv_wc flushed = next_completion(*ends.right.cq);
    EXPECT_EQ(flushed.wr_id, 9u);
    EXPECT_EQ(flushed.status, IBV_WC_WR_FLUSH_ERR);
}

} // namespace
