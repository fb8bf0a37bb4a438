// XRC over libibverbs' interface: domains, shared receive queues with a number, and messages.
#include "ends.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

using namespace irpverbs::testing;

ibv_xrcd* open_domain(ibv_context* context, int file, int flags) {
    ibv_xrcd_init_attr attr{IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, file, flags};
    return ibv_open_xrcd(context, &attr);
}

ibv_srq_init_attr_ex srq_attributes(ibv_pd* pd, ibv_xrcd* xrcd, ibv_cq* cq) {
    ibv_srq_init_attr_ex attr{};
    attr.attr = {8, 1, 0};
    attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
                     IBV_SRQ_INIT_ATTR_CQ;
    attr.srq_type = IBV_SRQT_XRC;
    attr.pd = pd;
    attr.xrcd = xrcd;
    attr.cq = cq;
    return attr;
}

/// An initiator and a target of one device, and a shared receive queue of the target's domain.
class xrc_ends {
public:
    xrc_ends() {
        ibv_port_attr port{};
        EXPECT_EQ(ibv_query_port(device.context, 1, &port), 0);
        connect(target, initiator, port.lid);
        connect(initiator, target, port.lid);
        EXPECT_EQ(ibv_get_srq_num(srq, &srq_number), 0);
    }
    int post_receive(std::uint64_t id) {
        ibv_sge into = device.piece(2048, 64);
        ibv_recv_wr wr{id, nullptr, &into, 1};
        ibv_recv_wr* failed = nullptr;
        return ibv_post_srq_recv(srq, &wr, &failed);
    }

    end device;
    owned<ibv_xrcd> xrcd{open_domain(device.context, -1, O_CREAT), ibv_close_xrcd};
    owned<ibv_cq> receives{ibv_create_cq(device.context, 16, nullptr, nullptr, 0), ibv_destroy_cq};
    owned<ibv_srq> srq{create_srq(), ibv_destroy_srq};
    owned<ibv_qp> target{create(IBV_QPT_XRC_RECV), ibv_destroy_qp};
    owned<ibv_qp> initiator{create(IBV_QPT_XRC_SEND), ibv_destroy_qp};
    std::uint32_t srq_number = 0;

private:
    ibv_srq* create_srq() {
        ibv_srq_init_attr_ex attr = srq_attributes(device.pd, xrcd, receives);
        return ibv_create_srq_ex(device.context, &attr);
    }
    ibv_qp* create(ibv_qp_type type) {
        ibv_qp_init_attr_ex attr{};
        attr.qp_type = type;
        attr.cap = {8, 8, 2, 2, 64}; // a queue that the type does not have is ignored
        attr.send_cq = attr.recv_cq = *device.cq;
        attr.pd = device.pd;
        attr.xrcd = xrcd;
        attr.comp_mask = type == IBV_QPT_XRC_RECV
                             ? IBV_QP_INIT_ATTR_XRCD
                             : IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
        attr.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE;
        return ibv_create_qp_ex(device.context, &attr);
    }
    // Both halves name the attributes of requester and responder, as programs do.
    static void connect(ibv_qp* qp, ibv_qp* peer, std::uint16_t lid) {
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_INIT;
        attr.port_num = 1;
        attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
        const int common = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
        EXPECT_EQ(ibv_modify_qp(qp, &attr, common), 0);
        attr.qp_state = IBV_QPS_RTR;
        attr.ah_attr.dlid = lid;
        attr.ah_attr.port_num = 1;
        attr.path_mtu = IBV_MTU_1024;
        attr.dest_qp_num = peer->qp_num;
        attr.max_dest_rd_atomic = 1;
        const int path =
            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
        const int responder = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
        EXPECT_EQ(ibv_modify_qp(qp, &attr, path | responder), 0);
        attr.qp_state = IBV_QPS_RTS;
        attr.timeout = 14;
        attr.retry_cnt = attr.rnr_retry = 7;
        const int requester = IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
        const int ready = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT;
        EXPECT_EQ(ibv_modify_qp(qp, &attr, ready | requester), 0);
    }
};

TEST(Xrc, Message_CompletesInTheSharedReceiveQueuesQueue) {
    xrc_ends ends;
    ASSERT_EQ(ends.post_receive(7), 0);
    std::strcpy(ends.device.bytes.data(), "by number");
    ibv_sge segment = ends.device.piece(0, 64);
    ibv_send_wr request = ends.device.request(IBV_WR_SEND, segment);
    request.qp_type.xrc.remote_srqn = ends.srq_number;
    ibv_send_wr* failed = nullptr;
    ASSERT_EQ(ibv_post_send(ends.initiator, &request, &failed), 0);
    EXPECT_EQ(next_completion(*ends.device.cq).status, IBV_WC_SUCCESS);
    const ibv_wc received = next_completion(ends.receives);
    EXPECT_EQ(received.wr_id, 7u);
    EXPECT_EQ(received.qp_num, ends.target->qp_num);
    EXPECT_STREQ(ends.device.bytes.data() + 2048, "by number");
}

TEST(Xrc, BuiltRequest_NamesTheSharedReceiveQueue) {
    xrc_ends ends;
    ASSERT_EQ(ends.post_receive(8), 0);
    ibv_qp_ex* qp = ibv_qp_to_qp_ex(ends.initiator);
    ASSERT_NE(qp, nullptr);
    ibv_wr_start(qp);
    qp->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_send(qp);
    ibv_wr_set_xrc_srqn(qp, ends.srq_number);
    ibv_wr_set_sge(qp, ends.device.mr->lkey, ends.device.address(0), 10);
    ASSERT_EQ(ibv_wr_complete(qp), 0);
    EXPECT_EQ(next_completion(ends.receives).byte_len, 10u);
}

TEST(Xrc, Domain_IsBusyWhileItIsUsed) {
    xrc_ends ends;
    EXPECT_EQ(ibv_close_xrcd(ends.xrcd), EBUSY);
    EXPECT_EQ(ends.target.destroy(), 0);
    EXPECT_EQ(ibv_close_xrcd(ends.xrcd), EBUSY);
}

// The errors are those of the kernel.
TEST(Xrc, FileOpenedTwice_IsOneDomain) {
    const end device;
    const int file = memfd_create("domain", MFD_CLOEXEC);
    EXPECT_EQ(open_domain(device.context, file, 0), nullptr);
    EXPECT_EQ(errno, EAGAIN);
    ibv_xrcd* const first = open_domain(device.context, file, O_CREAT);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(open_domain(device.context, file, O_CREAT | O_EXCL), nullptr);
    EXPECT_EQ(errno, EINVAL);
    const owned<ibv_xrcd> second(open_domain(device.context, file, 0), ibv_close_xrcd);
    EXPECT_EQ(ibv_close_xrcd(first), 0);
    ibv_srq_init_attr_ex attr = srq_attributes(device.pd, second, *device.cq);
    const owned<ibv_srq> srq(ibv_create_srq_ex(device.context, &attr), ibv_destroy_srq);
    close(file);
    EXPECT_EQ(open_domain(device.context, file, O_CREAT), nullptr);
    EXPECT_EQ(errno, EBADF);
}

TEST(Xrc, MissingAttributes_AreRefused) {
    const end device({.has_shared_receives = true});
    ibv_xrcd_init_attr nothing{};
    EXPECT_EQ(ibv_open_xrcd(device.context, &nothing), nullptr);
    EXPECT_EQ(errno, EINVAL);
    ibv_srq_init_attr_ex attr = srq_attributes(device.pd, nullptr, *device.cq);
    attr.comp_mask &= ~std::uint32_t{IBV_SRQ_INIT_ATTR_XRCD};
    EXPECT_EQ(ibv_create_srq_ex(device.context, &attr), nullptr);
    EXPECT_EQ(errno, EINVAL);
    attr.srq_type = IBV_SRQT_TM;
    EXPECT_EQ(ibv_create_srq_ex(device.context, &attr), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    ibv_qp_init_attr_ex target{};
    target.qp_type = IBV_QPT_XRC_RECV;
    target.pd = device.pd;
    target.comp_mask = IBV_QP_INIT_ATTR_PD;
    EXPECT_EQ(ibv_create_qp_ex(device.context, &target), nullptr);
    EXPECT_EQ(errno, EINVAL);
    std::uint32_t number = 0;
    EXPECT_EQ(ibv_get_srq_num(*device.srq, &number), EOPNOTSUPP);
}

} // namespace
