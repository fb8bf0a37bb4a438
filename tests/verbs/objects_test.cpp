// Creation and destruction of objects, and the errors of these.
#include "ends.hpp"

#include <cerrno>

namespace {

using namespace irpverbs::testing;

TEST(Objects, DomainInUse_IsBusy) {
    end one;
    EXPECT_EQ(ibv_dealloc_pd(one.pd), EBUSY);
    EXPECT_EQ(ibv_destroy_cq(*one.cq), EBUSY);
}

TEST(Objects, ImpossibleRegions_AreInvalid) {
    end one;
    constexpr int peer_writes = IBV_ACCESS_REMOTE_WRITE;
    EXPECT_EQ(ibv_reg_mr(one.pd, one.bytes.data(), 64, peer_writes), nullptr);
    EXPECT_EQ(errno, EINVAL) << "the HCA itself may not write";
    EXPECT_EQ(ibv_reg_mr(one.pd, nullptr, 64, all_access), nullptr);
    EXPECT_EQ(ibv_reg_mr(one.pd, one.bytes.data(), 64, 1 << 10), nullptr);
    EXPECT_EQ(errno, EINVAL);
}

TEST(Objects, RightsOfTheOptionalRange_AreIgnored) {
    end one;
    const owned<ibv_mr> region(ibv_reg_mr(one.pd, one.bytes.data(), 64,
                                          IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING),
                               ibv_dereg_mr);
    EXPECT_EQ(region->length, 64u);
    EXPECT_EQ(region->addr, one.bytes.data());
}

TEST(Objects, ReregisteredRegion_HasTheNewRange) {
    end one;
    const owned<ibv_mr> region(ibv_reg_mr(one.pd, one.bytes.data(), 64, all_access), ibv_dereg_mr);
    ASSERT_EQ(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, one.bytes.data() + 64,
                           128, 0),
              0);
    EXPECT_EQ(region->addr, one.bytes.data() + 64);
    EXPECT_EQ(region->length, 128u);
    EXPECT_EQ(ibv_rereg_mr(region, 0, nullptr, nullptr, 0, 0), IBV_REREG_MR_ERR_INPUT);
    EXPECT_EQ(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                           IBV_ACCESS_REMOTE_WRITE),
              IBV_REREG_MR_ERR_INPUT);
    EXPECT_EQ(region->length, 128u) << "a failure changes nothing";
}

TEST(Objects, CompletionQueue_HasTheSizeThatIsReported) {
    const owned<ibv_context> context(open_device(0), ibv_close_device);
    owned<ibv_cq> cq(ibv_create_cq(context, 100, &cq, nullptr, 0), ibv_destroy_cq);
    EXPECT_GE(cq->cqe, 100);
    EXPECT_EQ(cq->cq_context, &cq);
    EXPECT_EQ(ibv_resize_cq(cq, 1000), 0);
    EXPECT_GE(cq->cqe, 1000);
    EXPECT_EQ(ibv_resize_cq(cq, 0), EINVAL);
    ibv_wc wc{};
    EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
    EXPECT_EQ(ibv_poll_cq(cq, 0, &wc), 0);
}

TEST(Objects, ImpossibleCompletionQueues_AreInvalid) {
    const owned<ibv_context> context(open_device(0), ibv_close_device);
    EXPECT_EQ(ibv_create_cq(context, 0, nullptr, nullptr, 0), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(ibv_create_cq(context, 1 << 30, nullptr, nullptr, 0), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(ibv_create_cq(context, 1, nullptr, nullptr, 1), nullptr);
    EXPECT_EQ(errno, EINVAL);
    ibv_cq_init_attr_ex attr{};
    attr.cqe = 1;
    attr.wc_flags = IBV_WC_EX_WITH_CVLAN;
    EXPECT_EQ(ibv_create_cq_ex(context, &attr), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST(Objects, ChannelOfAQueue_IsBusy) {
    end one({.has_channel = true});
    EXPECT_EQ(ibv_destroy_comp_channel(*one.channel), EBUSY);
}

TEST(Objects, QueuePair_ReportsItsCapacity) {
    end one;
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = *one.cq;
    attr.cap = {3, 5, 1, 2, 10};
    attr.qp_type = IBV_QPT_UC;
    attr.sq_sig_all = 1;
    owned<ibv_qp> qp(ibv_create_qp(one.pd, &attr), ibv_destroy_qp);
    EXPECT_GE(attr.cap.max_send_wr, 3u);
    EXPECT_GE(attr.cap.max_inline_data, 10u);
    EXPECT_EQ(qp->state, IBV_QPS_RESET);
    EXPECT_EQ(ibv_qp_to_qp_ex(qp), nullptr) << "it was not created with send operations";
    ibv_qp_attr seen{};
    ibv_qp_init_attr init{};
    ASSERT_EQ(ibv_query_qp(qp, &seen, IBV_QP_STATE, &init), 0);
    EXPECT_EQ(seen.qp_state, IBV_QPS_RESET);
    EXPECT_EQ(seen.cap.max_recv_wr, attr.cap.max_recv_wr);
    EXPECT_EQ(init.send_cq, static_cast<ibv_cq*>(*one.cq));
    EXPECT_EQ(init.qp_type, IBV_QPT_UC);
    EXPECT_EQ(init.sq_sig_all, 1);
}

TEST(Objects, QueuePairsThatDoNotExist_AreRefused) {
    end one;
    ibv_qp_init_attr_ex attr{};
    attr.send_cq = attr.recv_cq = *one.cq;
    attr.cap = {1, 1, 1, 1, 0};
    attr.qp_type = IBV_QPT_RAW_PACKET;
    attr.comp_mask = IBV_QP_INIT_ATTR_PD;
    attr.pd = one.pd;
    EXPECT_EQ(ibv_create_qp_ex(one.context, &attr), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    attr.qp_type = IBV_QPT_RC;
    attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attr.send_ops_flags = IBV_QP_EX_WITH_TSO;
    EXPECT_EQ(ibv_create_qp_ex(one.context, &attr), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP) << "its function would be called later";
    attr.comp_mask = IBV_QP_INIT_ATTR_PD;
    attr.cap.max_send_wr = 1u << 30;
    EXPECT_EQ(ibv_create_qp_ex(one.context, &attr), nullptr);
    EXPECT_EQ(errno, EINVAL);
}

TEST(Objects, Transitions_FollowTheTable) {
    end one;
    EXPECT_EQ(one.send(), EINVAL) << "from IBV_QPS_RESET";
    EXPECT_EQ(one.initialise(), 0);
    EXPECT_EQ((*one.qp)->state, IBV_QPS_INIT);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_UNKNOWN;
    EXPECT_EQ(one.modify(attr, IBV_QP_STATE), EINVAL);
    EXPECT_EQ(one.modify(attr, IBV_QP_CAP), EINVAL);
    EXPECT_EQ((*one.qp)->state, IBV_QPS_INIT);
}

TEST(Objects, SharedReceives_HaveTheirLimits) {
    end one({.has_shared_receives = true});
    ibv_srq_attr attr{16, 0, 0};
    EXPECT_EQ(ibv_modify_srq(*one.srq, &attr, IBV_SRQ_MAX_WR), 0);
    ASSERT_EQ(ibv_query_srq(*one.srq, &attr), 0);
    EXPECT_GE(attr.max_wr, 16u);
    EXPECT_EQ(ibv_destroy_srq(*one.srq), EBUSY);
    attr.srq_limit = 1u << 20;
    EXPECT_EQ(ibv_modify_srq(*one.srq, &attr, IBV_SRQ_LIMIT), EINVAL);
}

TEST(Objects, Unsupported_HasItsConvention) {
    end one;
    EXPECT_EQ(ibv_import_device(0), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    ibv_ece ece{};
    EXPECT_EQ(ibv_query_ece(*one.qp, &ece), EOPNOTSUPP);
    EXPECT_EQ(ibv_reg_dmabuf_mr(one.pd, 0, 1, 0, 0, 0), nullptr);
    ibv_xrcd_init_attr domain{};
    EXPECT_EQ(ibv_open_xrcd(one.context, &domain), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    EXPECT_EQ(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
    EXPECT_EQ(ibv_fork_init(), 0);
}

} // namespace
