#include "queue_pair.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace irpverbs::testing {

namespace {

constexpr std::uint32_t any_key = 0x1234;

ibv_ah* own_port(ibv_pd* domain) {
    ibv_ah_attr attr{};
    attr.port_num = 1;
    attr.is_global = 1;
    attr.grh.hop_limit = 1;
    EXPECT_EQ(ibv_query_gid(domain->context, 1, 0, &attr.grh.dgid), 0);
    return ibv_create_ah(domain, &attr);
}

} // namespace

queue_pair::queue_pair(ibv_cq* completions) : domain_(ibv_alloc_pd(completions->context)) {
    own_port_ = own_port(domain_);
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = completions;
    wanted.cap.max_send_wr = depth;
    wanted.cap.max_recv_wr = 1;
    wanted.cap.max_send_sge = wanted.cap.max_recv_sge = 1;
    wanted.qp_type = IBV_QPT_UD;
    wanted.sq_sig_all = 1;
    pair_ = ibv_create_qp(domain_, &wanted);
    if (own_port_ == nullptr || pair_ == nullptr) throw std::runtime_error("no queue pair");
    make_ready();
}

queue_pair::~queue_pair() {
    EXPECT_EQ(ibv_destroy_qp(pair_), 0);
    EXPECT_EQ(ibv_destroy_ah(own_port_), 0);
    EXPECT_EQ(ibv_dealloc_pd(domain_), 0);
}

void queue_pair::make_ready() {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qkey = any_key;
    EXPECT_EQ(
        ibv_modify_qp(pair_, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
        0);
    attr.qp_state = IBV_QPS_RTR;
    EXPECT_EQ(ibv_modify_qp(pair_, &attr, IBV_QP_STATE), 0);
    attr.qp_state = IBV_QPS_RTS;
    EXPECT_EQ(ibv_modify_qp(pair_, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
}

void queue_pair::send(std::uint64_t id) {
    ibv_send_wr request{};
    request.wr_id = id;
    request.opcode = IBV_WR_SEND;
    request.wr.ud.ah = own_port_;
    request.wr.ud.remote_qpn = pair_->qp_num;
    request.wr.ud.remote_qkey = any_key;
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_send(pair_, &request, &bad), 0);
}

} // namespace irpverbs::testing
