#include "library_subject.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sched.h>

namespace irpverbs::testing {

namespace {

ibv_context* open_device(const std::string& name) {
    int count = 0;
    ibv_device** list = ibv_get_device_list(&count);
    ibv_context* opened = nullptr;
    for (int i = 0; i < count; ++i)
        if (name == ibv_get_device_name(list[i])) opened = ibv_open_device(list[i]);
    ibv_free_device_list(list);
    EXPECT_NE(opened, nullptr) << name;
    return opened;
}

ibv_qp_type type_of(ib_qp_type_t type) {
    switch (type) {
    case IB_QPT_RELIABLE_CONN:
        return IBV_QPT_RC;
    case IB_QPT_UNRELIABLE_CONN:
        return IBV_QPT_UC;
    default:
        return IBV_QPT_UD;
    }
}

ibv_send_wr converted(const ib_send_wr_t& from) {
    const bool immediate = (from.send_opt & IB_SEND_OPT_IMMEDIATE) != 0;
    ibv_send_wr made{};
    made.wr_id = from.wr_id;
    made.sg_list = reinterpret_cast<ibv_sge*>(from.ds_array);
    made.num_sge = static_cast<int>(from.num_ds);
    made.imm_data = from.immediate_data;
    if ((from.send_opt & IB_SEND_OPT_SIGNALED) != 0) made.send_flags |= IBV_SEND_SIGNALED;
    if ((from.send_opt & IB_SEND_OPT_SOLICITED) != 0) made.send_flags |= IBV_SEND_SOLICITED;
    if ((from.send_opt & IB_SEND_OPT_FENCE) != 0) made.send_flags |= IBV_SEND_FENCE;
    if ((from.send_opt & IB_SEND_OPT_INLINE) != 0) made.send_flags |= IBV_SEND_INLINE;
    made.wr.rdma = {from.remote_ops.vaddr, from.remote_ops.rkey};
    switch (from.wr_type) {
    case WR_SEND:
        made.opcode = immediate ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
        return made;
    case WR_RDMA_WRITE:
        made.opcode = immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
        return made;
    case WR_RDMA_READ:
        made.opcode = IBV_WR_RDMA_READ;
        return made;
    default:
        made.opcode =
            from.wr_type == WR_FETCH_ADD ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
        made.wr.atomic = {from.remote_ops.vaddr, from.remote_ops.atomic1, from.remote_ops.atomic2,
                          from.remote_ops.rkey};
        return made;
    }
}

} // namespace

library_subject::library_subject(const std::string& device, ib_qp_type_t its_type)
    : transfer_subject(its_type), context_(open_device(device)), domain_(ibv_alloc_pd(context_)) {
    fcntl(context_->async_fd, F_SETFL, O_NONBLOCK);
    for (const unsigned end : {0u, 1u}) {
        queues_[end] = ibv_create_cq(context_, queue_size, nullptr, nullptr, 0);
        regions_[end] = ibv_reg_mr(domain_, memory(end).data(), memory_size,
                                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
        ibv_qp_init_attr wanted{};
        wanted.send_cq = wanted.recv_cq = queues_[end];
        wanted.cap = {depth, depth, segments, segments, max_inline};
        wanted.qp_type = type_of(type);
        pairs_[end] = ibv_create_qp(domain_, &wanted);
        EXPECT_NE(pairs_[end], nullptr);
    }
    if (type == IB_QPT_UNRELIABLE_DGRM) {
        ibv_ah_attr attr = way();
        own_port_ = ibv_create_ah(domain_, &attr);
    }
    connect(0);
    connect(1);
}

library_subject::~library_subject() {
    for (const unsigned end : {0u, 1u}) {
        EXPECT_EQ(ibv_destroy_qp(pairs_[end]), 0);
        EXPECT_EQ(ibv_dereg_mr(regions_[end]), 0);
        EXPECT_EQ(ibv_destroy_cq(queues_[end]), 0);
    }
    if (own_port_ != nullptr) {
        EXPECT_EQ(ibv_destroy_ah(own_port_), 0);
    }
    EXPECT_EQ(ibv_dealloc_pd(domain_), 0);
    EXPECT_EQ(ibv_close_device(context_), 0);
}

ibv_ah_attr library_subject::way() const {
    ibv_ah_attr made{};
    made.is_global = 1;
    made.port_num = 1;
    made.grh.hop_limit = 1;
    EXPECT_EQ(ibv_query_gid(context_, 1, 0, &made.grh.dgid), 0);
    return made;
}

void library_subject::connect(unsigned end) {
    const bool reliable = type == IB_QPT_RELIABLE_CONN;
    const bool connected = type != IB_QPT_UNRELIABLE_DGRM;
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qkey = qkey;
    attr.qp_access_flags =
        IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    EXPECT_EQ(ibv_modify_qp(pairs_[end], &attr,
                            IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                                (connected ? IBV_QP_ACCESS_FLAGS : IBV_QP_QKEY)),
              0);
    attr.qp_state = IBV_QPS_RTR;
    attr.ah_attr = way();
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = pairs_[1 - end]->qp_num;
    attr.rq_psn = first_psn;
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 1;
    int mask = IBV_QP_STATE;
    if (connected) mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (reliable) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    EXPECT_EQ(ibv_modify_qp(pairs_[end], &attr, mask), 0);
    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn = first_psn;
    attr.max_rd_atomic = 1;
    attr.timeout = ack_timeout;
    attr.retry_cnt = retries;
    attr.rnr_retry = rnr_retries;
    mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (reliable)
        mask |= IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
    EXPECT_EQ(ibv_modify_qp(pairs_[end], &attr, mask), 0);
}

int library_subject::post(unsigned end, ib_send_wr_t* list, ib_send_wr_t*& failed) {
    std::vector<ibv_send_wr> all;
    for (const ib_send_wr_t* each = list; each != nullptr; each = each->p_next) {
        all.push_back(converted(*each));
        if (own_port_ != nullptr) all.back().wr.ud = {own_port_, pairs_[1 - end]->qp_num, qkey};
    }
    for (std::size_t i = 0; i + 1 < all.size(); ++i)
        all[i].next = &all[i + 1];
    ibv_send_wr* bad = nullptr;
    const int result = ibv_post_send(pairs_[end], all.data(), &bad);
    if (result != 0) failed = list + (bad - all.data());
    return std::abs(result);
}

int library_subject::post_receive(unsigned end, ib_recv_wr_t& what) {
    ibv_recv_wr made{what.wr_id, nullptr, reinterpret_cast<ibv_sge*>(what.ds_array),
                     static_cast<int>(what.num_ds)};
    ibv_recv_wr* bad = nullptr;
    return std::abs(ibv_post_recv(pairs_[end], &made, &bad));
}

bool library_subject::poll(unsigned end, IB_WC& entry) {
    return ibv_poll_cq(queues_[end], 1, reinterpret_cast<ibv_wc*>(&entry)) == 1;
}

int library_subject::change_state(unsigned end, ibv_qp_state state) {
    ibv_qp_attr attr{};
    attr.qp_state = state;
    return ibv_modify_qp(pairs_[end], &attr, IBV_QP_STATE);
}

ibv_qp_state library_subject::state(unsigned end) {
    ibv_qp_attr attr{};
    ibv_qp_init_attr unused{};
    EXPECT_EQ(ibv_query_qp(pairs_[end], &attr, IBV_QP_STATE, &unused), 0);
    return attr.qp_state;
}

ibv_event_type library_subject::next_event(unsigned end) {
    ibv_async_event event{};
    while (ibv_get_async_event(context_, &event) != 0)
        sched_yield();
    EXPECT_EQ(event.element.qp, pairs_[end]);
    ibv_ack_async_event(&event);
    return event.event_type;
}

} // namespace irpverbs::testing
