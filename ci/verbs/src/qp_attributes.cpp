#include "qp_attributes.hpp"

#include "address.hpp"
#include "memory.hpp"

#include <array>

namespace irpverbs::verbs {

namespace {

// Index: ibv_qp_state.
constexpr std::array<ib_qp_state_t, 7> states{IB_QPS_RESET, IB_QPS_INIT,  IB_QPS_RTR,  IB_QPS_RTS,
                                              IB_QPS_SQD,   IB_QPS_SQERR, IB_QPS_ERROR};

bool state_from_libibverbs(ibv_qp_state from, ib_qp_state_t& to) {
    const auto index = static_cast<std::size_t>(from);
    if (index >= states.size()) return false;
    to = states[index];
    return true;
}

// The bits of ib_qp_mod_t.opts are those of ibv_qp_attr_mask.
static_assert(IB_MOD_QP_STATE == IBV_QP_STATE && IB_MOD_QP_SQD_EVENT == IBV_QP_EN_SQD_ASYNC_NOTIFY);
static_assert(IB_MOD_QP_PRIMARY_AV == IBV_QP_AV && IB_MOD_QP_ALTERNATE_AV == IBV_QP_ALT_PATH);
static_assert(IB_MOD_QP_DEST_QP == IBV_QP_DEST_QPN && IB_MOD_QP_RATE_LIMIT == IBV_QP_RATE_LIMIT);
constexpr int known_mask = 0x17FFFF | IBV_QP_RATE_LIMIT; // not IBV_QP_CAP

} // namespace

bool type_from_libibverbs(ibv_qp_type from, ib_qp_type_t& to) {
    switch (from) {
    case IBV_QPT_RC:
        to = IB_QPT_RELIABLE_CONN;
        return true;
    case IBV_QPT_UC:
        to = IB_QPT_UNRELIABLE_CONN;
        return true;
    case IBV_QPT_UD:
        to = IB_QPT_UNRELIABLE_DGRM;
        return true;
    case IBV_QPT_RAW_PACKET:
        to = IB_QPT_RAW_ETHER;
        return true;
    case IBV_QPT_XRC_SEND:
        to = IB_QPT_XRC_INI;
        return true;
    case IBV_QPT_XRC_RECV:
        to = IB_QPT_XRC_TGT;
        return true;
    default:
        return false;
    }
}

bool change_from_libibverbs(const ibv_qp_attr& from, int mask, ib_qp_mod_t& to) {
    if ((mask & ~known_mask) != 0) return false;
    if ((mask & IBV_QP_STATE) != 0 && !state_from_libibverbs(from.qp_state, to.req_state))
        return false;
    if ((mask & IBV_QP_CUR_STATE) != 0 &&
        !state_from_libibverbs(from.cur_qp_state, to.current_state))
        return false;
    to.opts = static_cast<ULONG>(mask);
    to.apm_state = static_cast<ib_apm_state_t>(from.path_mig_state) + IB_APM_MIGRATED;
    to.access_ctrl = from_libibverbs_access(from.qp_access_flags) & IB_AC_REMOTE;
    to.qkey = from.qkey;
    to.dest_qp = from.dest_qp_num;
    to.sq_psn = from.sq_psn;
    to.rq_psn = from.rq_psn;
    to.rate_limit = from.rate_limit;
    to.pkey_index = from.pkey_index;
    to.alternate_pkey_index = from.alt_pkey_index;
    to.primary_av = from_libibverbs(from.ah_attr);
    to.alternate_av = from_libibverbs(from.alt_ah_attr);
    to.alternate_av.port_num = from.alt_port_num;
    to.primary_port = from.port_num;
    to.path_mtu = static_cast<UCHAR>(from.path_mtu);
    to.resp_res = from.max_dest_rd_atomic;
    to.init_depth = from.max_rd_atomic;
    to.rnr_nak_timeout = from.min_rnr_timer;
    to.local_ack_timeout = from.timeout;
    to.alternate_local_ack_timeout = from.alt_timeout;
    to.retry_cnt = from.retry_cnt;
    to.rnr_retry_cnt = from.rnr_retry;
    to.sqd_event = from.en_sqd_async_notify != 0;
    return true;
}

ibv_qp_attr as_libibverbs(const ib_qp_mod_t& from) noexcept {
    ibv_qp_attr made{};
    made.qp_state = as_libibverbs_state(from.req_state);
    made.qp_access_flags = as_libibverbs_access(from.access_ctrl);
    made.qkey = from.qkey;
    made.dest_qp_num = from.dest_qp;
    made.sq_psn = from.sq_psn;
    made.rq_psn = from.rq_psn;
    made.pkey_index = from.pkey_index;
    made.ah_attr = as_libibverbs(from.primary_av);
    made.port_num = from.primary_port;
    made.path_mtu = static_cast<ibv_mtu>(from.path_mtu);
    made.max_dest_rd_atomic = from.resp_res;
    made.max_rd_atomic = from.init_depth;
    made.min_rnr_timer = from.rnr_nak_timeout;
    made.timeout = from.local_ack_timeout;
    made.retry_cnt = from.retry_cnt;
    made.rnr_retry = from.rnr_retry_cnt;
    return made;
}

ibv_qp_state as_libibverbs_state(ib_qp_state_t state) {
    if (state == IB_QPS_SQD_DRAINING || state == IB_QPS_SQD_DRAINED) return IBV_QPS_SQD;
    for (std::size_t i = 0; i < states.size(); ++i)
        if (states[i] == state) return static_cast<ibv_qp_state>(i);
    return IBV_QPS_UNKNOWN;
}

ibv_qp_attr as_libibverbs(const ib_qp_attr_t& from) {
    ibv_qp_attr made{};
    made.qp_state = made.cur_qp_state = as_libibverbs_state(from.state);
    made.sq_draining = from.state == IB_QPS_SQD_DRAINING;
    made.path_mtu = static_cast<ibv_mtu>(from.path_mtu);
    made.path_mig_state = static_cast<ibv_mig_state>(from.apm_state - IB_APM_MIGRATED);
    made.qkey = from.qkey;
    made.rq_psn = from.rq_psn;
    made.sq_psn = from.sq_psn;
    made.dest_qp_num = from.dest_num;
    made.qp_access_flags = as_libibverbs_access(from.access_ctrl);
    made.cap = {from.sq_depth, from.rq_depth, from.sq_sge, from.rq_sge, from.sq_max_inline};
    made.ah_attr = as_libibverbs(from.primary_av);
    made.alt_ah_attr = as_libibverbs(from.alternate_av);
    made.pkey_index = from.pkey_index;
    made.alt_pkey_index = from.alternate_pkey_index;
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

} // namespace irpverbs::verbs
