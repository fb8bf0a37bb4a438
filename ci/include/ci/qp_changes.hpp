/// Changes of a queue pair for modify_qp, with the attributes that a transition requires.
#pragma once

#include <ci/qp.h>

namespace irpverbs::ci {

/// True of a type whose queue pair has a responder that acknowledges.
inline bool acknowledges(ib_qp_type_t type) noexcept {
    return type == IB_QPT_RELIABLE_CONN || type == IB_QPT_XRC_TGT;
}

/// True of a type whose queue pair has a requester that waits for acknowledgements.
inline bool requests_reliably(ib_qp_type_t type) noexcept {
    return type == IB_QPT_RELIABLE_CONN || type == IB_QPT_XRC_INI;
}

/// A change to a state without attributes: IB_QPS_RESET, IB_QPS_ERROR, IB_QPS_SQD, and IB_QPS_RTS
/// from IB_QPS_SQD or IB_QPS_SQERR.
inline ib_qp_mod_t to_state(ib_qp_state_t state) noexcept {
    ib_qp_mod_t change{};
    change.opts = IB_MOD_QP_STATE;
    change.req_state = state;
    return change;
}

/// The attributes of the transition to IB_QPS_INIT.
struct init_attributes {
    UCHAR port = 1;
    USHORT pkey_index = 0;
    ib_access_t access = 0; ///< of a connected type: IB_AC_REMOTE that the peer has
    ib_qkey_t qkey = 0;     ///< of IB_QPT_UNRELIABLE_DGRM
};

/// From IB_QPS_RESET to IB_QPS_INIT.
inline ib_qp_mod_t to_init(ib_qp_type_t type, const init_attributes& with) noexcept {
    ib_qp_mod_t change = to_state(IB_QPS_INIT);
    change.opts |= IB_MOD_QP_PKEY | IB_MOD_QP_PRIMARY_PORT;
    change.opts |= type == IB_QPT_UNRELIABLE_DGRM ? IB_MOD_QP_QKEY : IB_MOD_QP_ACCESS_CTRL;
    change.primary_port = with.port;
    change.pkey_index = with.pkey_index;
    change.access_ctrl = with.access;
    change.qkey = with.qkey;
    return change;
}

/// The attributes of the transition to IB_QPS_RTR of a connected type.
struct rtr_attributes {
    ib_av_attr_t av{};
    ib_qpn_t dest_qp = 0;
    ULONG rq_psn = 0;
    IB_MTU path_mtu = IB_MTU_1024;
    UCHAR resp_res = 1;         ///< RC and XRC targets, like the next
    UCHAR rnr_nak_timeout = 12; ///< 0.64 ms
};

/// From IB_QPS_INIT to IB_QPS_RTR. A type without connection needs no attributes.
inline ib_qp_mod_t to_rtr(ib_qp_type_t type, const rtr_attributes& with = {}) noexcept {
    ib_qp_mod_t change = to_state(IB_QPS_RTR);
    if (type == IB_QPT_UNRELIABLE_DGRM) return change;
    change.opts |= IB_MOD_QP_PRIMARY_AV | IB_MOD_QP_PATH_MTU | IB_MOD_QP_DEST_QP | IB_MOD_QP_RQ_PSN;
    if (acknowledges(type)) change.opts |= IB_MOD_QP_RESP_RES | IB_MOD_QP_RNR_NAK_TIMEOUT;
    change.primary_av = with.av;
    change.path_mtu = static_cast<UCHAR>(with.path_mtu);
    change.dest_qp = with.dest_qp;
    change.rq_psn = with.rq_psn;
    change.resp_res = with.resp_res;
    change.rnr_nak_timeout = with.rnr_nak_timeout;
    return change;
}

/// The attributes of the transition to IB_QPS_RTS.
struct rts_attributes {
    ULONG sq_psn = 0;
    UCHAR init_depth = 1;         ///< RC and XRC initiators, like the last two
    UCHAR local_ack_timeout = 14; ///< RC and XRC; 67 ms
    UCHAR retry_cnt = 7;
    UCHAR rnr_retry_cnt = 7;
};

/// From IB_QPS_RTR to IB_QPS_RTS.
inline ib_qp_mod_t to_rts(ib_qp_type_t type, const rts_attributes& with = {}) noexcept {
    ib_qp_mod_t change = to_state(IB_QPS_RTS);
    change.opts |= IB_MOD_QP_SQ_PSN;
    if (acknowledges(type) || requests_reliably(type)) change.opts |= IB_MOD_QP_LOCAL_ACK_TIMEOUT;
    if (requests_reliably(type))
        change.opts |= IB_MOD_QP_INIT_DEPTH | IB_MOD_QP_RETRY_CNT | IB_MOD_QP_RNR_RETRY_CNT;
    change.sq_psn = with.sq_psn;
    change.init_depth = with.init_depth;
    change.local_ack_timeout = with.local_ack_timeout;
    change.retry_cnt = with.retry_cnt;
    change.rnr_retry_cnt = with.rnr_retry_cnt;
    return change;
}

} // namespace irpverbs::ci
