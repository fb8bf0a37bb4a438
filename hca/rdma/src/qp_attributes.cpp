#include "qp_attributes.hpp"

#include "address_vectors.hpp"
#include "memory_verbs.hpp"

namespace irpverbs::hca_rdma {

namespace {

static_assert(IB_MOD_QP_STATE == IBV_QP_STATE && IB_MOD_QP_CURRENT_STATE == IBV_QP_CUR_STATE);
static_assert(IB_MOD_QP_SQD_EVENT == IBV_QP_EN_SQD_ASYNC_NOTIFY);
static_assert(IB_MOD_QP_ACCESS_CTRL == IBV_QP_ACCESS_FLAGS && IB_MOD_QP_PKEY == IBV_QP_PKEY_INDEX);
static_assert(IB_MOD_QP_PRIMARY_PORT == IBV_QP_PORT && IB_MOD_QP_QKEY == IBV_QP_QKEY);
static_assert(IB_MOD_QP_PRIMARY_AV == IBV_QP_AV && IB_MOD_QP_PATH_MTU == IBV_QP_PATH_MTU);
static_assert(IB_MOD_QP_LOCAL_ACK_TIMEOUT == IBV_QP_TIMEOUT);
static_assert(IB_MOD_QP_RETRY_CNT == IBV_QP_RETRY_CNT);
static_assert(IB_MOD_QP_RNR_RETRY_CNT == IBV_QP_RNR_RETRY && IB_MOD_QP_RQ_PSN == IBV_QP_RQ_PSN);
static_assert(IB_MOD_QP_INIT_DEPTH == IBV_QP_MAX_QP_RD_ATOMIC);
static_assert(IB_MOD_QP_ALTERNATE_AV == IBV_QP_ALT_PATH);
static_assert(IB_MOD_QP_RNR_NAK_TIMEOUT == IBV_QP_MIN_RNR_TIMER);
static_assert(IB_MOD_QP_SQ_PSN == IBV_QP_SQ_PSN);
static_assert(IB_MOD_QP_RESP_RES == IBV_QP_MAX_DEST_RD_ATOMIC);
static_assert(IB_MOD_QP_APM_STATE == IBV_QP_PATH_MIG_STATE && IB_MOD_QP_DEST_QP == IBV_QP_DEST_QPN);
static_assert(IB_MOD_QP_RATE_LIMIT == IBV_QP_RATE_LIMIT);
static_assert(int{IB_MTU_256} == int{IBV_MTU_256} && int{IB_MTU_4096} == int{IBV_MTU_4096});

ibv_qp_state as_libibverbs(ib_qp_state_t state) {
    switch (state) {
    case IB_QPS_INIT:
        return IBV_QPS_INIT;
    case IB_QPS_RTR:
        return IBV_QPS_RTR;
    case IB_QPS_RTS:
        return IBV_QPS_RTS;
    case IB_QPS_SQD:
    case IB_QPS_SQD_DRAINING:
    case IB_QPS_SQD_DRAINED:
        return IBV_QPS_SQD;
    case IB_QPS_SQERR:
        return IBV_QPS_SQE;
    case IB_QPS_ERROR:
        return IBV_QPS_ERR;
    default:
        return IBV_QPS_RESET;
    }
}

// IB_APM_MIGRATED is 1, IBV_MIG_MIGRATED 0.
ibv_mig_state migration_of(ib_apm_state_t state) {
    return state == IB_APM_REARM ? IBV_MIG_REARM : IBV_MIG_MIGRATED;
}
ib_apm_state_t migration_of(ibv_mig_state state) {
    return static_cast<ib_apm_state_t>(state) + IB_APM_MIGRATED;
}

} // namespace

ibv_qp_attr as_libibverbs(const ib_qp_mod_t& from) {
    ibv_qp_attr made{};
    made.qp_state = as_libibverbs(from.req_state);
    made.cur_qp_state = as_libibverbs(from.current_state);
    made.path_mtu = static_cast<ibv_mtu>(from.path_mtu);
    made.path_mig_state = migration_of(from.apm_state);
    made.qkey = from.qkey;
    made.rq_psn = from.rq_psn;
    made.sq_psn = from.sq_psn;
    made.dest_qp_num = from.dest_qp;
    made.qp_access_flags = static_cast<unsigned>(access_flags(from.access_ctrl));
    made.ah_attr = as_libibverbs(from.primary_av);
    made.alt_ah_attr = as_libibverbs(from.alternate_av);
    made.pkey_index = from.pkey_index;
    made.alt_pkey_index = from.alternate_pkey_index;
    made.en_sqd_async_notify = from.sqd_event;
    made.max_rd_atomic = from.init_depth;
    made.max_dest_rd_atomic = from.resp_res;
    made.min_rnr_timer = from.rnr_nak_timeout;
    made.port_num = from.primary_port;
    made.timeout = from.local_ack_timeout;
    made.retry_cnt = from.retry_cnt;
    made.rnr_retry = from.rnr_retry_cnt;
    made.alt_port_num = from.alternate_av.port_num;
    made.alt_timeout = from.alternate_local_ack_timeout;
    made.rate_limit = from.rate_limit;
    return made;
}

ib_qp_state_t state_of(const ibv_qp_attr& from) {
    switch (from.qp_state) {
    case IBV_QPS_INIT:
        return IB_QPS_INIT;
    case IBV_QPS_RTR:
        return IB_QPS_RTR;
    case IBV_QPS_RTS:
        return IB_QPS_RTS;
    case IBV_QPS_SQD:
        return from.sq_draining != 0 ? IB_QPS_SQD_DRAINING : IB_QPS_SQD_DRAINED;
    case IBV_QPS_SQE:
        return IB_QPS_SQERR;
    case IBV_QPS_ERR:
        return IB_QPS_ERROR;
    default:
        return IB_QPS_RESET;
    }
}

ib_qp_attr_t attributes_of(const HCA_QP& owner, const ibv_qp_attr& from) {
    ib_qp_attr_t made{};
    made.size = sizeof(made);
    made.qp_type = owner.Create.qp_type;
    made.h_pd = &owner.Pd->Pd;
    made.h_sq_cq = owner.Create.h_sq_cq;
    made.h_rq_cq = owner.Create.h_rq_cq;
    made.h_srq = owner.Create.h_srq;
    made.sq_signaled = owner.Create.sq_signaled;
    made.num = owner.Qp.Num;
    made.sq_depth = owner.Qp.SqDepth;
    made.rq_depth = owner.Qp.RqDepth;
    made.sq_sge = owner.Qp.SqSge;
    made.rq_sge = owner.Qp.RqSge;
    made.sq_max_inline = owner.Qp.SqMaxInline;

    made.state = state_of(from);
    made.apm_state = migration_of(from.path_mig_state);
    made.access_ctrl = remote_rights(from.qp_access_flags);
    made.dest_num = from.dest_qp_num;
    made.qkey = from.qkey;
    made.sq_psn = from.sq_psn;
    made.rq_psn = from.rq_psn;
    made.rate_limit = from.rate_limit;
    made.pkey_index = from.pkey_index;
    made.alternate_pkey_index = from.alt_pkey_index;
    made.primary_av = from_libibverbs(from.ah_attr);
    made.alternate_av = from_libibverbs(from.alt_ah_attr);
    made.primary_port = from.port_num;
    made.path_mtu = static_cast<UCHAR>(from.path_mtu);
    made.resp_res = from.max_dest_rd_atomic;
    made.init_depth = from.max_rd_atomic;
    made.rnr_nak_timeout = from.min_rnr_timer;
    made.local_ack_timeout = from.timeout;
    made.alternate_local_ack_timeout = from.alt_timeout;
    made.retry_cnt = from.retry_cnt;
    made.rnr_retry_cnt = from.rnr_retry;
    return made;
}

} // namespace irpverbs::hca_rdma
